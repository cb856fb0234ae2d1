import Foundation
import CurlHTTP
import HTTPExchange
import Testing

@Suite(.serialized) struct `Pinned keys` {
    private let certificates: CertificateFolder
    private let other = "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

    init() throws { certificates = try CertificateFolder.shared.get() }

    /// Returns the digest of the certificate's public key, as computed by `openssl`.
    private func pin(_ name: String) throws -> PublicKeyPin {
        try certificates.openssl(["x509", "-in", "\(name).pem", "-noout", "-pubkey", "-out", "\(name).pub"])
        try certificates.openssl(
            ["pkey", "-pubin", "-in", "\(name).pub", "-outform", "der", "-out", "\(name).der"])
        try certificates.openssl(["dgst", "-sha256", "-binary", "-out", "\(name).sha256", "\(name).der"])
        let digest = try Data(contentsOf: URL(filePath: certificates.path("\(name).sha256")))
        return try #require(PublicKeyPin(digest.base64EncodedString()))
    }

    @Test func `a request requires a pinned key, even on a reused connection`() async throws {
        let server = try SecureServer(certificates, "good")
        let transport = CurlTransport()
        var request = HTTPRequest(.get, server.url())
        let ca = certificates.path("ca.pem")
        let wrong = try #require(PublicKeyPin(other))
        for _ in 0..<2 {
            request.trust = ServerTrust(caFile: ca, pinnedKeys: [try pin("good"), wrong])
            #expect(try await transport.send(request).status == 200)
            request.trust = ServerTrust(caFile: ca)
            #expect(try await transport.send(request).status == 200)
            request.trust = ServerTrust(caFile: ca, pinnedKeys: [wrong])
            let error = await failure(transport, request)
            #expect(error?.kind == .tls)
            #expect(error?.reason.contains("pinned") == true, "\(String(describing: error))")
        }
    }

    @Test func `a pin does not replace certificate validation`() async throws {
        let server = try SecureServer(certificates, "good")
        var request = HTTPRequest(.get, server.url())
        request.trust = ServerTrust(pinnedKeys: [try pin("good")])
        #expect(await failure(CurlTransport(), request)?.kind == .tls)
    }

    @Test func `a request's CA file replaces the transport's CA file`() async throws {
        let server = try SecureServer(certificates, "good")
        let transport = CurlTransport(caFile: certificates.path("self.pem"))
        var request = HTTPRequest(.get, server.url())
        #expect(await failure(transport, request)?.kind == .tls)
        request.trust.caFile = certificates.path("ca.pem")
        #expect(try await transport.send(request).status == 200)
        request.trust.caFile = certificates.path("missing.pem")
        #expect(await failure(transport, request)?.kind == .invalidRequest)
        request.trust = .system
        #expect(await failure(transport, request)?.kind == .tls)
    }

    @Test func `plain HTTP fails if a key is pinned`() async throws {
        let server = try ScriptedServer { _ in answer() }
        var request = HTTPRequest(.get, server.url())
        request.trust.pinnedKeys = [try #require(PublicKeyPin(other))]
        #expect(await failure(CurlTransport(), request)?.kind == .tls)
        #expect(server.connectionCount == 0)
    }

    @Test func `PublicKeyPin accepts each spelling of a pin`() {
        let digest = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
        for digest in [digest, "/" + digest.dropFirst()] {
            for text in [digest, "sha256/\(digest)", "sha256//\(digest)", "pin-sha256=\"\(digest)\""] {
                #expect(PublicKeyPin(text)?.base64 == digest)
            }
        }
        for text in [
            "", "sha256/", "sha1/\(digest)", String(digest.dropLast()), digest + "=", "sha256//\(digest);",
            "x" + digest,
        ] {
            #expect(PublicKeyPin(text) == nil, "\(text)")
        }
    }
}
