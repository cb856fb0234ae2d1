// The only file that selects the transport of the system. Re-exports its module for clients.

import HTTPExchange
import LodgePlatform

#if canImport(Darwin)
    @_exported import URLSessionHTTP

    /// `URLSession` uses the network settings and the trust settings of an Apple platform.
    private typealias Transport = URLSessionTransport
#else
    @_exported import CurlHTTP

    private typealias Transport = CurlTransport
#endif

/// The transport of the system: `URLSession` on Apple platforms, libcurl on other systems.
package enum SystemTransport {
    /// Creates a transport.
    package static func make(
        caFile: String? = nil, clientCertificate: ClientCertificate? = nil
    ) -> any HTTPTransport {
        Transport(caFile: caFile, clientCertificate: clientCertificate)
    }

    /// Returns the scheme, host and port of a URL as the transport parses them.
    package static func origin(of url: URL) throws(HTTPTransportError) -> String { try Transport.origin(of: url) }

    /// Returns the certificates that a server presents, trusted or not. Returns none on Apple platforms: `URLSession`
    /// does not report untrusted certificates without a request.
    package static func peerCertificates(of url: URL) async throws -> [PeerCertificate] {
        #if canImport(Darwin)
            []
        #else
            try await PeerCertificate.chain(of: url)
        #endif
    }
}
