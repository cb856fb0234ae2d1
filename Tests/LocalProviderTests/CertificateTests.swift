import CurlHTTP
import Foundation
import HTTPExchange
import JOSE
import LoopbackHTTP
import StrictJSON
import Testing

@testable import LocalProvider

@Test func `DER encodes values as X.690 requires`() {
    #expect(DER.integer([0x7F]) == [2, 1, 0x7F])
    #expect(DER.integer([0x80]) == [2, 2, 0, 0x80])
    #expect(DER.integer([0, 0, 1, 2]) == [2, 2, 1, 2])
    #expect(DER.integer([0, 0]) == [2, 1, 0])
    #expect(DER.identifier(1, 2, 840, 10_045, 2, 1) == [6, 7, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 2, 1])
    #expect(DER.octets([UInt8](repeating: 7, count: 200)).prefix(3) == [4, 0x81, 200])
    #expect(DER.octets([UInt8](repeating: 7, count: 300)).prefix(4) == [4, 0x82, 1, 44])
    #expect(DER.bits([0x80], unused: 7) == [3, 2, 7, 0x80])
    #expect(DER.time("20491231235959") == [0x17, 13] + Array("491231235959Z".utf8))
    #expect(DER.time("20500101000000") == [0x18, 15] + Array("20500101000000Z".utf8))
    #expect(DER.tagged(3, DER.boolean(true)) == [0xA3, 3, 1, 1, 0xFF])
    #expect(DER.sequence() == [0x30, 0])
}

/// A provider with TLS, and a transport that trusts it.
private struct Secure {
    let provider: LoopbackProvider
    let transport: CurlTransport
    private let file: URL

    init(users: Int = 60) async throws {
        provider = try await LocalProviderTests.provider {
            $0.usesTLS = true
            $0.userCount = users
            $0.approvesRequests = true
        }
        file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).pem")
        try Data(try #require(provider.certificateAuthority).utf8).write(to: file)
        transport = CurlTransport(caFile: file.path)
    }

    func get(_ host: String, _ path: String) async throws -> HTTPResponse {
        let url = try #require(URL(string: "https://\(host):\(provider.port)\(path)"))
        return try await transport.send(HTTPRequest(.get, url))
    }

    func end() { try? FileManager.default.removeItem(at: file) }
}

@Test func `a provider with TLS has a certificate for each of its names`() async throws {
    let secure = try await Secure()
    defer { secure.end() }
    #expect(secure.provider.issuer.absoluteString == "https://localhost:\(secure.provider.port)")
    for host in ["localhost", "127.0.0.1"] {
        let metadata = try await secure.get(host, "/.well-known/openid-configuration")
        #expect(metadata.json["issuer"]?.string == "https://\(host):\(secure.provider.port)")
        #expect(metadata.json["token_endpoint"]?.string == "https://\(host):\(secure.provider.port)/token")
    }
    // Without the CA, a client trusts no other certificate.
    let url = try #require(URL(string: "https://localhost:\(secure.provider.port)/jwks"))
    await #expect(throws: (any Error).self) { try await CurlTransport().send(HTTPRequest(.get, url)) }
    // The failed handshake ends only its own connection.
    #expect(try await secure.get("localhost", "/jwks").status == 200)
}

@Test func `a plain HTTP request to a TLS port receives an error that names the scheme`() async throws {
    let secure = try await Secure()
    defer { secure.end() }
    let url = try #require(URL(string: "http://localhost:\(secure.provider.port)/"))
    let response = try await transport.send(HTTPRequest(.get, url))
    #expect(response.status == 400)
    #expect(response.text.contains("https://"))
}

@Test func `large concurrent responses arrive complete over TLS`() async throws {
    let secure = try await Secure(users: 3_000)
    defer { secure.end() }
    let form = "grant_type=client_credentials&client_id=lodge-confidential&client_secret=not-a-secret"
    let token = try await secure.transport.send(
        HTTPRequest(
            .post, try #require(URL(string: secure.provider.issuer.absoluteString + "/token")),
            fields: ["Content-Type": "application/x-www-form-urlencoded"], body: Data(form.utf8)))
    let bearer = "Bearer \(token.json["access_token"]?.string ?? "")"
    let url = try #require(URL(string: secure.provider.issuer.absoluteString + "/v1.0/users?$top=999"))
    try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<20 {
            group.addTask {
                let response = try await secure.transport.send(
                    HTTPRequest(.get, url, fields: ["Authorization": bearer]))
                #expect(response.body.count > 300_000)
                return response.value.count
            }
        }
        for try await count in group { #expect(count == 999) }
    }
}

@Test func `an invalid handshake ends only its connection`() async throws {
    let secure = try await Secure()
    defer { secure.end() }
    // A handshake record with garbage, one shorter than its length, and bytes that are not a record.
    let inputs: [[UInt8]] = [
        [22, 3, 1, 0, 5, 1, 2, 3, 4, 5], [22, 3, 1, 0xFF, 0xFF, 1], [22], [0x80, 0x2E, 1, 0, 2],
        [22, 3, 1] + [UInt8](repeating: 0xFF, count: 60_000),
    ]
    for input in inputs {
        let connection = try RawConnection(port: secure.provider.port)
        connection.send(input)
        #expect(try await secure.get("localhost", "/jwks").status == 200)
    }
}

@Test func `a certificate that does not match its key is an error`() throws {
    let (one, other) = (try LoopbackCertificate.test(), try LoopbackCertificate.test())
    _ = try LoopbackTLS(certificate: one.certificate, privateKey: one.privateKey)
    for (certificate, key) in [
        (one.certificate, other.privateKey), ([0x30, 0], one.privateKey), (one.certificate, []),
    ] {
        #expect {
            _ = try LoopbackTLS(certificate: certificate, privateKey: key)
        } throws: { error in
            guard case .tlsUnavailable? = error as? LoopbackError else { return false }
            return true
        }
    }
}

extension LoopbackCertificate {
    fileprivate static func test() throws -> LoopbackCertificate {
        try LoopbackCertificate(now: Date(), randomBytes: { try SecureRandom.bytes($0) })
    }
}
