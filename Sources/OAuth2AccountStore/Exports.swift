// A client imports OAuth2AccountStore and can name every type that its API shows.

@_exported import AccountKeys
@_exported import CurlHTTP
@_exported import HTTPExchange
@_exported import OAuth2Protocol
@_exported import ProviderSettings
@_exported import SealedStorage
@_exported import StrictJSON
@_exported import struct JOSE.SealingKey
@_exported import struct Platform.Hint
@_exported import protocol Platform.Redacted
@_exported import protocol Platform.SuggestedAction
