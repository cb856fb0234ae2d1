// Re-exported, so that a client that imports OAuth2AccountStore can name every type of its API.

@_exported import AccountKeys
@_exported import HTTPExchange
@_exported import OAuth2Protocol
@_exported import ProviderSettings
@_exported import SealedStorage
@_exported import StrictJSON
@_exported import struct JOSE.SealingKey
@_exported import struct LodgePlatform.Hint
@_exported import protocol LodgePlatform.Redacted
@_exported import protocol LodgePlatform.SuggestedAction
