// The only file that selects the transport of the system. Re-exports its module for clients.

import HTTPExchange
import LodgePlatform

#if canImport(Darwin)
    @_exported import URLSessionHTTP

    /// `URLSession`, which uses the network settings and the trust settings of an Apple platform.
    package enum SystemTransport {
        /// Creates a transport.
        package static func make(
            caFile: String? = nil, clientCertificate: ClientCertificate? = nil
        ) -> any HTTPTransport {
            URLSessionTransport(caFile: caFile, clientCertificate: clientCertificate)
        }

        /// Returns the scheme, host and port of a URL as the transport parses them.
        package static func origin(of url: URL) throws(HTTPTransportError) -> String {
            try URLSessionTransport.origin(of: url)
        }

        /// Returns no certificates: `URLSession` does not report untrusted ones without a request.
        package static func peerCertificates(of url: URL) async throws -> [PeerCertificate] { [] }
    }
#else
    @_exported import CurlHTTP

    /// libcurl.
    package enum SystemTransport {
        /// Creates a transport.
        package static func make(
            caFile: String? = nil, clientCertificate: ClientCertificate? = nil
        ) -> any HTTPTransport {
            CurlTransport(caFile: caFile, clientCertificate: clientCertificate)
        }

        /// Returns the scheme, host and port of a URL as the transport parses them.
        package static func origin(of url: URL) throws(HTTPTransportError) -> String {
            try CurlTransport.origin(of: url)
        }

        /// Returns the certificates that a server presents, trusted or not.
        package static func peerCertificates(of url: URL) async throws -> [PeerCertificate] {
            try await PeerCertificate.chain(of: url)
        }
    }
#endif
