// The modules whose types are in this module's API, so that a program imports only DirectorySearch and OAuth2AccountStore.
@_exported public import HTTPExchange
@_exported public import StrictJSON
