import Foundation
import StrictJSON
import TestSupport
import Testing

@testable import CurlHTTP
@testable import HTTPExchange

/// The published cases about the transport. Other modules test the cases of higher layers.
@Suite struct `Transport vectors` {
    struct Case: Sendable, CustomTestStringConvertible {
        var id: String
        var title: String
        var input: JSONObject
        var expect: JSONObject
        var testDescription: String { "\(id) \(title)" }
    }

    static let cases: [Case] = {
        guard let file = try? VectorFile.object("transport.json") else { return [] }
        return (file["cases"]?.array ?? []).compactMap { element in
            guard let object = element.object, let id = object["id"]?.string, let title = object["title"]?.string,
                let input = object["input"]?.object, let expect = object["expect"]?.object
            else { return nil }
            return Case(id: id, title: title, input: input, expect: expect)
        }
    }()

    static func cases(with members: String...) -> [Case] {
        cases.filter { one in members.allSatisfy { one.input[$0] != nil } }
    }

    let transport = CurlTransport()

    @Test func `the tests cover each published case of the transport`() throws {
        let tested = Self.moved + Self.followed + Self.addressed + Self.headed + Self.secured
        try VectorCoverage.check("transport", run: tested.map(\.id))
    }

    static let moved = cases(with: "status", "location").filter { $0.input["follow"] == nil }
    static let followed = cases(with: "follow").filter { $0.expect["forwarded_headers_absent"] != nil }
    static let addressed = cases(with: "url")
    static let headed = cases(with: "response_header_lines") + cases(with: "response_header_list")
    static let secured = cases(with: "tls")

    private func vector(_ id: String) throws -> Case { try #require(Self.cases.first { $0.id == id }) }

    @Test(arguments: moved)
    func `the transport returns a redirect as the response`(one: Case) async throws {
        let status = try #require(one.input["status"]?.number?.int64)
        let location = try #require(one.input["location"]?.string)
        let server = try ScriptedServer { _ in answer("\(status) Moved", "Location: \(location)\r\n") }
        let response = try await transport.send(HTTPRequest(.post, server.url("/token"), body: Data("code=x".utf8)))
        #expect(one.expect["outcome"] == "http_error")
        #expect(Int64(response.status) == one.expect["status"]?.number?.int64)
        // Only one request, with the host of the test server.
        let sent = server.requests.map { $0.line.split(separator: " ").prefix(2).joined(separator: " ") }
        if let wanted = one.expect["requests"]?.array?.compactMap(\.string) {
            #expect(sent == wanted.map { $0.replacing("https://as.example.com", with: "") })
        } else {
            #expect((sent.count > 1) == one.expect["redirect_followed"]?.bool)
        }
    }

    @Test(arguments: followed)
    func `a followed redirect drops credentials`(one: Case) throws {
        var request = HTTPRequest(.get, url("https://rs.example.com/r"))
        let names = try #require(one.expect["forwarded_headers_absent"]?.array).compactMap(\.string)
        for name in names { request.fields[name] = "secret" }
        #expect(!names.isEmpty)
        let location = try #require(one.input["location"]?.string)
        do {
            let next = try request.redirected(
                by: HTTPResponse(status: 302, fields: ["Location": location]), origin: CurlTransport.origin(of:))
            for name in names { #expect(next?.fields[name] == nil) }
        } catch {
            #expect(error.kind == .redirectRefused)
        }
    }

    @Test(arguments: addressed)
    func `plain HTTP is allowed as the case expects`(one: Case) throws {
        let address = url(try #require(one.input["url"]?.string))
        let outcome = try #require(one.expect["outcome"]?.string)
        switch outcome {
        case "sent": #expect(try RequestAddress(address).isLocal)
        case "refused":
            // Without an address, there is no request.
            #expect(one.expect["requests"]?.array?.isEmpty ?? true)
            let error = #expect(throws: HTTPTransportError.self) { try RequestAddress(address) }
            #expect(error?.kind == .plainHTTPRefused)
        default: Issue.record("unknown outcome \(outcome)")
        }
    }

    @Test(arguments: headed)
    func `the transport reads unusual header fields`(one: Case) async throws {
        var lines = ""
        for number in 0..<Int(one.input["response_header_lines"]?.number?.int64 ?? 0) { lines += "X-\(number): v\r\n" }
        for pair in one.input["response_header_list"]?.array ?? [] {
            let parts = pair.array?.compactMap(\.string) ?? []
            lines += parts.joined(separator: ": ") + "\r\n"
        }
        let status = one.input["status"]?.number?.int64 ?? 200
        let head = lines
        let server = try ScriptedServer { _ in answer("\(status) X", head) }
        let response = try await transport.send(HTTPRequest(.post, server.url()))
        #expect(response.status == Int(status))
        if let nonce = one.expect["nonce_seen"]?.string { #expect(response.fields["DPoP-Nonce"] == nonce) }
        for line in lines.split(separator: "\r\n") {
            let parts = line.split(separator: ":", maxSplits: 1)
            let value = parts[1].trimmingCharacters(in: .whitespaces)
            #expect(response.fields.values(for: String(parts[0])).contains(value))
        }
    }

    /// The certificate, the server options and whether the client trusts the authority, by the description of the case.
    private static let servers: [String: (name: String, options: [String], isTrusted: Bool)] = [
        "self-signed certificate": ("self", [], true), "expired certificate": ("expired", [], true),
        "revoked intermediate / unknown CA": ("good", [], false),
        "TLS 1.0 only": ("good", ["-tls1", "-cipher", "ALL:@SECLEVEL=0"], true),
    ]

    @Test(arguments: secured)
    func `a TLS error sends no request content`(one: Case) async throws {
        #expect(one.expect["outcome"] == "transport_error" && one.expect["request_body_sent"] == false)
        // The store keeps its tokens after each transport error: RS-011 tests this.
        #expect(one.expect["stored_unchanged"] == true)
        let certificates = try CertificateFolder.shared.get()
        let server = try #require(Self.servers[one.input["tls"]?.string ?? ""])
        let secure = try SecureServer(certificates, server.name, options: server.options)
        let transport = server.isTrusted ? CurlTransport(caFile: certificates.path("ca.pem")) : CurlTransport()
        // An error of the handshake: libcurl sends a request only after it.
        let request = HTTPRequest(.post, secure.url(), body: Data("code=secret".utf8))
        #expect(await failure(transport, request)?.kind == .tls)
    }

    @Test func `TP-037: the transport neither stores nor sends cookies`() async throws {
        let one = try vector("TP-037")
        let cookie = try #require(one.input["response_headers"]?.object?["Set-Cookie"]?.string)
        let server = try ScriptedServer { _ in answer("200 OK", "Set-Cookie: \(cookie)\r\n") }
        for _ in 0..<2 { _ = try await transport.send(HTTPRequest(.post, server.url("/token"))) }
        let absent = try #require(one.expect["second_request_headers_absent"]?.array).compactMap(\.string)
        #expect(absent == ["Cookie"])
        #expect(server.requests.count == 2)
        for name in absent { #expect(server.requests.allSatisfy { $0.values(name).isEmpty }) }
    }

    @Test func `TP-039: the transport does not respond to a password challenge`() async throws {
        let one = try vector("TP-039")
        let status = try #require(one.input["status"]?.number?.int64)
        let challenge = try #require(one.input["headers"]?.object?["WWW-Authenticate"]?.string)
        let server = try ScriptedServer { _ in answer("\(status) No", "WWW-Authenticate: \(challenge)\r\n") }
        let response = try await transport.send(HTTPRequest(.post, server.url("/token")))
        #expect(response.status == Int(status))
        #expect(Int64(server.requests.count) == one.expect["requests"]?.number?.int64)
        #expect(one.expect["keychain_prompt"] == false)
        #expect(server.requests.allSatisfy { $0.values("Authorization").isEmpty })
    }

    @Test func `TP-040, TP-041: a request has no Referer, and a User-Agent with name and version`() async throws {
        let server = try ScriptedServer { _ in answer() }
        let pattern = try Regex(try #require(try vector("TP-041").expect["user_agent_matches"]?.string))
        let absent = try #require(try vector("TP-040").expect["request_headers_absent"]?.array).compactMap(\.string)
        #expect(absent == ["Referer"])
        for method in [HTTPMethod.get, .post] {
            _ = try await transport.send(HTTPRequest(method, server.url("/there")))
        }
        #expect(server.requests.count == 2)
        for request in server.requests {
            for name in absent { #expect(request.values(name).isEmpty) }
            #expect(request.values("User-Agent").count == 1)
            #expect(request.values("User-Agent").first?.wholeMatch(of: pattern) != nil)
        }
    }

    @Test func `TP-046: the transport does not repeat a request after a connection error`() async throws {
        let one = try vector("TP-046")
        #expect(one.expect["outcome"] == "transport_error")
        let server = try ScriptedServer { connection, number in
            _ = connection.readRequest()
            // The first response leaves a connection for the next request.
            if number == 1 {
                connection.send(answer())
                _ = connection.readRequest()
            }
            connection.reset()
        }
        _ = try await transport.send(HTTPRequest(.get, server.url("/warm")))
        let request = HTTPRequest(.post, server.url("/token"), body: Data("code=x".utf8))
        #expect(await failure(transport, request)?.kind == .connectionLost)
        let sent = server.requests.count { $0.line.contains("/token") }
        #expect(Int64(sent) == one.expect["requests"]?.number?.int64)
    }
}
