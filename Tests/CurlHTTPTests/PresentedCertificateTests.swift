import Foundation
import TestSupport
import Testing

@testable import CurlHTTP
@testable import HTTPExchange

@Suite struct PresentedCertificateTests {
    @Test func `PeerCertificate returns the issuer of trusted and untrusted certificates`() async throws {
        let certificates = try CertificateFolder.shared.get()
        for (name, issuer) in [("good", "Test CA"), ("expired", "Test CA"), ("self", "self")] {
            let server = try SecureServer(certificates, name)
            let chain = try await PeerCertificate.chain(of: server.url())
            #expect(chain.first?.issuer.contains(issuer) == true, "\(chain)")
            #expect(chain.first?.subject.contains(name) == true, "\(chain)")
        }
    }

    @Test func `PeerCertificate rejects other URLs and reports unreachable servers`() async throws {
        for text in ["http://127.0.0.1/", "file:///etc/passwd"] {
            let error = await #expect(throws: HTTPTransportError.self) {
                try await PeerCertificate.chain(of: url(text))
            }
            #expect(error?.kind == .invalidRequest)
        }
        let error = await #expect(throws: HTTPTransportError.self) {
            try await PeerCertificate.chain(of: url("https://127.0.0.1:1/"))
        }
        #expect(error?.kind == .cannotConnect)
    }

    @Test func `cancellation and timeout end the wait for a silent server`() async throws {
        #if canImport(Darwin)
            let stream = SOCK_STREAM
        #else
            let stream = Int32(SOCK_STREAM.rawValue)
        #endif
        let listener = socket(AF_INET, stream, 0)
        defer { close(listener) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let port = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer -> UInt16 in
                guard bind(listener, pointer, length) == 0, listen(listener, 1) == 0,
                    getsockname(listener, pointer, &length) == 0
                else { return 0 }
                return pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                    UInt16(bigEndian: $0.pointee.sin_port)
                }
            }
        }
        try #require(port != 0)
        let asking = Task {
            try await PeerCertificate.chain(of: url("https://127.0.0.1:\(port)/"), timeout: .seconds(60))
        }
        // The connection is established, and the server is silent.
        try #require(fcntl(listener, F_SETFL, O_NONBLOCK) == 0)
        var connection: Int32 = -1
        try await until {
            connection = accept(listener, nil, nil)
            return connection >= 0
        }
        defer { close(connection) }
        asking.cancel()
        await #expect(throws: CancellationError.self) { try await asking.value }
        let late = await #expect(throws: HTTPTransportError.self) {
            try await PeerCertificate.chain(of: url("https://127.0.0.1:\(port)/"), timeout: .milliseconds(50))
        }
        #expect(late?.kind == .timedOut)
    }
}
