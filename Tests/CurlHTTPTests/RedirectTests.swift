import Foundation
import Testing

@testable import CurlHTTP
@testable import HTTPExchange

@Suite struct `Redirects` {
    let transport = CurlTransport()

    @Test(arguments: [301, 302, 303, 307, 308])
    func `the transport returns a redirect unless the request follows redirects`(status: Int) async throws {
        let server = try ScriptedServer { _ in answer("\(status) Moved", "Location: /other\r\n") }
        let response = try await transport.send(HTTPRequest(.post, server.url("/token"), body: Data([1])))
        #expect(response.status == status)
        #expect(server.requests.count == 1)
    }

    @Test(arguments: [
        (301, HTTPMethod.get, "GET"), (301, .post, "GET"), (301, .put, "PUT"), (302, .post, "GET"),
        (302, .delete, "DELETE"),
        (303, .post, "GET"), (303, .put, "GET"), (303, .head, "HEAD"), (307, .post, "POST"), (308, .post, "POST"),
        (308, .patch, "PATCH"), (307, .head, "HEAD"),
    ])
    func `the status determines the method and content after a redirect`(
        status: Int, method: HTTPMethod, expected: String
    ) async throws {
        let server = try ScriptedServer { request in
            request.line.contains(" /from ") ? answer("\(status) Moved", "Location: /to?x='1'\r\n") : answer()
        }
        let hasContent = method != .get && method != .head
        var request = HTTPRequest(method, server.url("/from"), fields: ["Authorization": "Bearer t"])
        if hasContent {
            request.fields["Content-Type"] = "text/plain"
            request.body = Data("abc".utf8)
        }
        request.redirects = .follow(limit: 3)
        let response = try await transport.send(request)
        #expect(response.status == 200)
        #expect(response.url == server.url("/to?x='1'"))
        let second = try #require(server.requests.last)
        #expect(second.line == "\(expected) /to?x='1' HTTP/1.1")
        #expect(second.values("Authorization") == ["Bearer t"])
        let keepsContent = hasContent && expected != "GET"
        #expect(second.body == (keepsContent ? Array("abc".utf8) : []))
        #expect(second.values("Content-Type") == (keepsContent ? ["text/plain"] : []))
    }

    @Test func `a redirect to another origin drops credentials`() async throws {
        let other = try ScriptedServer { _ in answer() }
        let target = other.url("/r").absoluteString
        let server = try ScriptedServer { _ in answer("302 Found", "Location: \(target)\r\n") }
        var request = HTTPRequest(
            .get, server.url(),
            fields: ["authorization": "Bearer t", "Cookie": "a=b", "DPoP": "p", "Accept": "application/json"])
        request.redirects = .follow(limit: 1)
        #expect(try await transport.send(request).status == 200)
        let received = try #require(other.requests.first)
        for name in ["Authorization", "Cookie", "DPoP", "Referer"] { #expect(received.values(name).isEmpty) }
        #expect(received.values("Accept") == ["application/json"])
    }

    @Test func `another name for the same host is another origin`() async throws {
        let server = try ScriptedServer { request in
            let port = request.values("Host").first?.split(separator: ":").last ?? ""
            return request.line.contains("/a")
                ? answer("302 Found", "Location: http://localhost:\(port)/b\r\n") : answer()
        }
        var request = HTTPRequest(.get, server.url("/a"), fields: ["Authorization": "Bearer t"])
        request.redirects = .follow(limit: 1)
        _ = try await transport.send(request)
        #expect(server.requests.map { $0.values("Authorization") } == [["Bearer t"], []])
    }

    @Test func `redirects are limited`() async throws {
        let server = try ScriptedServer { _ in answer("302 Found", "Location: /again\r\n") }
        for limit in [0, 3] {
            var request = HTTPRequest(.get, server.url())
            request.redirects = .follow(limit: limit)
            #expect(await failure(transport, request)?.kind == .redirectRefused)
        }
        #expect(server.requests.count == 1 + 4)
    }

    @Test func `the transport returns a 3xx without Location`() async throws {
        let server = try ScriptedServer { _ in answer("302 Found") }
        var request = HTTPRequest(.get, server.url())
        request.redirects = .follow(limit: 3)
        #expect(try await transport.send(request).status == 302)
    }

    @Test(arguments: [
        ("https://rs.example.com/r", "http://rs.example.com/r"), ("https://rs.example.com/r", "http://127.0.0.1/r"),
        ("http://127.0.0.1/r", "http://rs.example.com/r"), ("https://rs.example.com/r", "ftp://rs.example.com/r"),
        ("https://rs.example.com/r", "file:///etc/passwd"),
        ("https://rs.example.com/r", "https://a:secret@rs.example.com/"),
        ("https://rs.example.com/r", ""), ("https://rs.example.com/r", "https://bücher.example/"),
    ])
    func `a redirect to a forbidden URL is an error`(from: String, to: String) {
        let error = #expect(throws: HTTPTransportError.self) {
            try HTTPRequest(.get, url(from)).redirected(
                by: HTTPResponse(status: 302, fields: ["Location": to]), origin: CurlTransport.origin(of:))
        }
        #expect(error?.kind == .redirectRefused)
        #expect(error.map { !"\($0)".contains("secret") } == true)
    }

    @Test(arguments: [
        ("https://a.example/x/y?z", "w", "https://a.example/x/w", true),
        ("https://a.example/x", "?q", "https://a.example/x?q", true),
        ("https://a.example/x", "//b.example/y", "https://b.example/y", false),
        ("https://a.example/x", "https://A.example:443/y", "https://A.example:443/y", true),
        ("https://a.example/x", "https://a.example:8443/y", "https://a.example:8443/y", false),
        ("http://localhost/x", "https://localhost/x", "https://localhost/x", false),
        ("https://a.example/x", "/echo?sig=a%2Bb|c", "https://a.example/echo?sig=a%2Bb%7Cc", true),
        ("https://a.example/x", "/é%20x", "https://a.example/%C3%A9%20x", true),
        (
            "https://a.example/x", "/x[1]/y%20z?a[b]=50%&c=%2f",
            "https://a.example/x%5B1%5D/y%20z?a%5Bb%5D=50%25&c=%2f", true
        ),
        ("https://a.example/x", "https://[::1]:8/y z#a%20b#c", "https://[::1]:8/y%20z#a%20b%23c", false),
    ])
    func `redirected(by:origin:) resolves the URL and drops the token for another origin`(
        from: String, location: String, target: String, keeps: Bool
    ) throws {
        let request = HTTPRequest(.get, url(from), fields: ["Authorization": "Bearer t"])
        let next = try #require(
            try request.redirected(
                by: HTTPResponse(status: 307, fields: ["Location": location]), origin: CurlTransport.origin(of:)))
        #expect(next.url.absoluteString == target)
        #expect((next.fields["Authorization"] != nil) == keeps)
    }
}
