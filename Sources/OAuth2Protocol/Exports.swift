// Secrets are part of this module's API; the rest of Platform is not.
@_exported import struct Platform.Secret
