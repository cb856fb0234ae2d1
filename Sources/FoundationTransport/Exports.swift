// Re-exported, so that a client that imports FoundationTransport can name the transport.

@_exported import URLSessionHTTP
