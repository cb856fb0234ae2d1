#if !canImport(Security)
    import Foundation
    import HTTPExchange

    /// The trust of a session. Here `URLSession` supports only the trust in the system's authorities.
    struct SessionIdentity: Sendable {
        init(_ trust: ServerTrust, _ clientCertificate: ClientCertificate?, for url: URL) throws {
            guard trust == .system, clientCertificate == nil else {
                throw HTTPTransportError(
                    .tls, host: url.host() ?? "",
                    reason: "On this system, URLSessionTransport does not support pinned keys, CA files and client"
                        + " certificates. Use CurlTransport.")
            }
        }

        /// Returns the reason why the session cancelled a connection itself.
        func refusal(_ url: URL) -> HTTPTransportError? { nil }
    }
#endif
