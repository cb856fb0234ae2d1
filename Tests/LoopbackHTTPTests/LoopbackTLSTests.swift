import Testing

@testable import LoopbackHTTP

@Test func `TLS without libssl is an error that names the library`() {
    #expect {
        _ = try LibSSL(fileNames: ["libssl-that-does-not-exist.so"])
    } throws: { error in
        guard case .tlsUnavailable(let reason)? = error as? LoopbackError else { return false }
        return reason.contains("libssl")
    }
}

@Test func `a listener with TLS accepts https in the request target`() throws {
    let secure = LoopbackAuthority(host: "localhost", port: 443, isSecure: true)
    #expect(secure.contains("localhost") && secure.contains("127.0.0.1:443"))
    func path(_ target: String) throws -> String? {
        var reader = LoopbackRequestReader(limits: .init(), authority: secure)
        guard
            case .request(let request, _, _) = try reader.read(
                Array("GET \(target) HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8))
        else { return nil }
        return request.path
    }
    #expect(try path("https://localhost/a") == "/a")
    #expect(throws: LoopbackRequestReader.Rejection.self) { try path("http://localhost/a") }
}
