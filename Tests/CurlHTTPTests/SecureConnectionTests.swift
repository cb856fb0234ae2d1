import Foundation
import Testing

@testable import CurlHTTP
@testable import HTTPExchange

@Suite(.serialized) struct `Secure connections` {
    private let certificates: CertificateFolder
    private let trusting: CurlTransport

    init() throws {
        certificates = try CertificateFolder.shared.get()
        trusting = CurlTransport(caFile: certificates.path("ca.pem"))
    }

    @Test func `the CA file makes a private authority trusted`() async throws {
        let server = try SecureServer(certificates, "good")
        let response = try await trusting.send(HTTPRequest(.get, server.url()))
        #expect(response.status == 200)
        #expect(try await trusting.send(HTTPRequest(.get, server.url("localhost"))).status == 200)
        let error = await failure(CurlTransport(), HTTPRequest(.get, server.url()))
        #expect(error?.kind == .tls)
        #expect(error?.reason.contains("not trusted") == true)
    }

    @Test(arguments: [("other", "another host"), ("expired", "expired"), ("self", "not trusted")])
    func `an invalid certificate is rejected`(name: String, words: String) async throws {
        let server = try SecureServer(certificates, name)
        var request = HTTPRequest(.get, server.url())
        request.url = url(server.url().absoluteString + "?code=secret")
        let error = await failure(trusting, request)
        #expect(error?.kind == .tls)
        #expect(error?.reason.contains(words) == true, "\(error as Any)")
        #expect(error.map { !"\($0)".contains("secret") } == true)
    }

    @Test(arguments: ["-tls1", "-tls1_1"])
    func `TLS older than 1.2 is rejected`(version: String) async throws {
        let server = try SecureServer(certificates, "good", options: [version, "-cipher", "ALL:@SECLEVEL=0"])
        #expect(await failure(trusting, HTTPRequest(.get, server.url()))?.kind == .tls)
    }

    @Test(arguments: ["-tls1_2", "-tls1_3"])
    func `TLS 1.2 and 1.3 are accepted`(version: String) async throws {
        let server = try SecureServer(certificates, "good", options: [version])
        #expect(try await trusting.send(HTTPRequest(.get, server.url())).status == 200)
    }

    @Test func `a server can require a client certificate, and an unusable one is an error`() async throws {
        let server = try SecureServer(
            certificates, "good", options: ["-Verify", "1", "-CAfile", "ca.pem", "-verify_return_error"])
        func transport(_ certificate: String, _ key: String) -> CurlTransport {
            CurlTransport(
                caFile: certificates.path("ca.pem"),
                clientCertificate: ClientCertificate(
                    certificateFile: certificates.path(certificate), keyFile: certificates.path(key)))
        }
        let request = HTTPRequest(.get, server.url())
        #expect(try await transport("other.pem", "other.key").send(request).status == 200)
        // No certificate, or one that the server's authority did not sign: the server closes the connection.
        #expect(await failure(trusting, request) != nil)
        #expect(await failure(transport("self.pem", "self.key"), request) != nil)
        for (certificate, key) in [("none.pem", "other.key"), ("other.pem", "none.key"), ("other.pem", "good.key")] {
            let error = await failure(transport(certificate, key), request)
            #expect(error?.kind == .invalidRequest, "\(String(describing: error))")
        }
    }

    @Test func `plain HTTP in response to TLS is a TLS error`() async throws {
        let server = try ScriptedServer { connection, _ in connection.send("HTTP/1.1 200 OK\r\n\r\n") }
        let kind = await failure(trusting, HTTPRequest(.get, url("https://127.0.0.1:\(server.port)/")))?.kind
        #expect(kind == .tls)
    }

    @Test func `a connection that ends during the handshake is lost, not a TLS error`() async throws {
        let server = try ScriptedServer { connection, _ in
            connection.readSomething()
            connection.reset()
        }
        let kind = await failure(trusting, HTTPRequest(.get, url("https://127.0.0.1:\(server.port)/")))?.kind
        #expect(kind == .connectionLost)
    }

    @Test func `the connect timeout ends an unfinished handshake`() async throws {
        let server = try ScriptedServer { connection, _ in connection.waitForClose() }
        var request = HTTPRequest(.get, url("https://127.0.0.1:\(server.port)/"))
        request.connectTimeout = .milliseconds(50)
        #expect(await failure(trusting, request)?.kind == .timedOut)
    }

    @Test func `an unusable CA file is an error with its path`() async throws {
        let server = try SecureServer(certificates, "good")
        let pem = try Data(contentsOf: url("file://" + certificates.path("ca.pem")))
        let paths = [
            certificates.path("missing.pem"), certificates.path(""), try certificates.write("empty.pem", Data()),
            try certificates.write("text.pem", Data("not a certificate".utf8)),
            try certificates.write("cut.pem", pem.prefix(pem.count / 2)),
            try certificates.write(
                "broken.pem", Data(String(decoding: pem, as: UTF8.self).replacing("M", with: "!").utf8)),
            certificates.path("ca.key"),
        ]
        for path in paths {
            let error = await failure(CurlTransport(caFile: path), HTTPRequest(.get, server.url()))
            #expect(error?.kind == .invalidRequest, "\(path)")
            #expect(error?.reason.contains(path) == true)
        }
    }

    /// Creates a transport whose system certificates are in this folder and file, with an additional CA file.
    private func transport(folder: String?, file: String?, adding caFile: String? = nil) throws -> CurlTransport {
        var system = SystemCertificates(file: file.map(certificates.path), folder: nil)
        if let folder { system.folder = try certificates.hashedFolder(of: folder) }
        return CurlTransport(userAgent: "test", caFile: caFile.map(certificates.path), system: system)
    }

    @Test(
        arguments: [
            ("ca", nil, nil), ("ca", "self", nil), (nil, "ca", nil), ("self", "ca", nil), ("self", "self", "ca"),
            ("self", "ca", "self"),
            ("ca", "self", "self"), (nil, "ca", "self"), (nil, "self", "ca"), (nil, nil, "ca"),
        ] as [(String?, String?, String?)])
    func `the system's folder, its file and the additional file are all trusted`(
        folder: String?, file: String?, added: String?
    ) async throws {
        let server = try SecureServer(certificates, "good")
        let transport = try transport(
            folder: folder, file: file.map { "\($0).pem" }, adding: added.map { "\($0).pem" })
        #expect(try await transport.send(HTTPRequest(.get, server.url())).status == 200)
    }

    @Test func `a certificate that no store trusts is rejected`() async throws {
        let server = try SecureServer(certificates, "good")
        let transport = try transport(folder: "self", file: "self.pem", adding: "self.pem")
        #expect(await failure(transport, HTTPRequest(.get, server.url()))?.kind == .tls)
    }

    @Test func `SystemCertificates finds the certificates that libcurl was built to use`() throws {
        let system = SystemCertificates()
        #expect(system.file != nil || system.folder != nil)
    }
}
