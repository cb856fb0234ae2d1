// A test imports OAuth2AccountStoreTesting and can name every type that its API shows.
@_exported public import LocalProvider
