// Secrets are part of this module's API; the rest of LodgePlatform is not.
@_exported import struct LodgePlatform.Secret
