import Foundation
import CurlHTTP
import HTTPExchange
import Testing

/// Sends a request and returns its transport error, or `nil` if it throws no such error.
func failure(_ transport: CurlTransport, _ request: HTTPRequest) async -> HTTPTransportError? {
    do {
        _ = try await transport.send(request)
        return nil
    } catch {
        return error as? HTTPTransportError
    }
}

@Suite struct `Sent requests` {
    let transport = CurlTransport()

    @Test func `a response has the status, the fields in order and the content`() async throws {
        let server = try ScriptedServer { _ in
            answer("201 Created", "X-One: a\r\nx-two:  b c \r\nX-One: d\r\nX-Empty:\r\n", body: "hello")
        }
        let response = try await transport.send(HTTPRequest(.get, server.url("/a?b=c")))
        #expect(response.status == 201)
        #expect(response.fields.values(for: "x-one") == ["a", "d"])
        #expect(response.fields["X-Two"] == "b c")
        #expect(response.fields["x-empty"] == "")
        #expect(response.body == Data("hello".utf8))
        #expect(response.url == server.url("/a?b=c"))
        let request = try #require(server.requests.first)
        #expect(request.line == "GET /a?b=c HTTP/1.1")
        #expect(request.values("Host") == ["127.0.0.1:\(server.port)"])
        #expect(request.values("User-Agent") == ["CurlTransport/1.0"])
    }

    @Test(arguments: [
        "/users?$filter=startswith(givenName,'Ada')", "/a/../b/./c", "/%2e%2E/%2f%2F?q=%27%e9&x=a+b%20c",
        "/~!$&'()*+,;=:@-._", "//double//slash", "/?", "/path?a=1?b=/../", "/%7Bid%7D",
    ])
    func `the path and query are sent byte for byte`(target: String) async throws {
        let server = try ScriptedServer { _ in answer() }
        let url = server.url(target)
        #expect(url.absoluteString.hasSuffix(target))
        _ = try await transport.send(HTTPRequest(.get, url))
        #expect(server.requests.map(\.line) == ["GET \(target) HTTP/1.1"])
    }

    @Test func `the fragment is not sent, and an empty path becomes the root`() async throws {
        let server = try ScriptedServer { _ in answer() }
        _ = try await transport.send(HTTPRequest(.get, server.url("/a?b#secret?x")))
        _ = try await transport.send(HTTPRequest(.get, server.url("")))
        _ = try await transport.send(HTTPRequest(.get, server.url("?q=/x")))
        #expect(server.requests.map(\.line) == ["GET /a?b HTTP/1.1", "GET / HTTP/1.1", "GET /?q=/x HTTP/1.1"])
    }

    @Test(arguments: [HTTPMethod.post, .put, .patch, .delete, HTTPMethod(rawValue: "PROPFIND")])
    func `a request has its content length and only the given fields`(method: HTTPMethod) async throws {
        let server = try ScriptedServer { _ in answer() }
        let body = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0) })
        _ = try await transport.send(
            HTTPRequest(method, server.url(), fields: ["X-A": "1", "X-Empty": ""], body: body))
        let request = try #require(server.requests.first)
        #expect(request.line.hasPrefix("\(method) "))
        #expect(Data(request.body) == body)
        #expect(request.values("Content-Length") == ["100000"])
        #expect(request.values("X-A") == ["1"])
        #expect(request.values("X-Empty") == [""])
        for name in ["Expect", "Content-Type", "Transfer-Encoding", "Cookie", "Referer", "Authorization"] {
            #expect(request.values(name).isEmpty)
        }
    }

    @Test func `a POST without content has Content-Length 0, and a GET has no Content-Length`() async throws {
        let server = try ScriptedServer { _ in answer() }
        _ = try await transport.send(HTTPRequest(.post, server.url()))
        _ = try await transport.send(HTTPRequest(.put, server.url(), body: Data()))
        _ = try await transport.send(HTTPRequest(.get, server.url()))
        _ = try await transport.send(HTTPRequest(.delete, server.url()))
        #expect(server.requests.map { $0.values("Content-Length") } == [["0"], ["0"], [], []])
    }

    @Test func `a field of the request replaces the transport's default`() async throws {
        let server = try ScriptedServer { _ in answer() }
        let transport = CurlTransport(userAgent: "directory/1.2")
        _ = try await transport.send(HTTPRequest(.get, server.url()))
        _ = try await transport.send(
            HTTPRequest(.post, server.url(), fields: ["user-agent": "mine", "content-type": "text/x"], body: Data([1])))
        #expect(server.requests.map { $0.values("User-Agent") } == [["directory/1.2"], ["mine"]])
        #expect(server.requests.map { $0.values("Content-Type") } == [[], ["text/x"]])
    }

    @Test(arguments: [
        ("X-A", "b\r\nInjected: 1"), ("X-A", "b\nInjected: 1"), ("X-A", "b\u{0}c"), ("X-A", "b\rc"), ("X-A", "\u{7F}"),
        ("X-A: b\r\nInjected", "1"), ("X A", "1"), ("", "1"), ("X-Ä", "1"), ("X:", "1"),
        ("Host", "other.example"), ("Transfer-Encoding", "chunked"), ("Content-Length", "5"),
        ("Expect", "100-continue"),
    ])
    func `a field that could break the request is rejected before it is sent`(name: String, value: String) async throws
    {
        let server = try ScriptedServer { _ in answer() }
        var request = HTTPRequest(.post, server.url(), body: Data("ab".utf8))
        request.fields.append(name: name, value: value)
        #expect(await failure(transport, request)?.kind == .invalidRequest)
        #expect(server.connectionCount == 0)
    }

    @Test func `a user agent or method with a line break is rejected`() async throws {
        let server = try ScriptedServer { _ in answer() }
        let broken = CurlTransport(userAgent: "a\r\nInjected: 1")
        #expect(await failure(broken, HTTPRequest(.get, server.url()))?.kind == .invalidRequest)
        for method in ["GET / HTTP/1.1\r\nX: ", "", "CONNECT", "G T"] {
            let request = HTTPRequest(HTTPMethod(rawValue: method), server.url())
            #expect(await failure(transport, request)?.kind == .invalidRequest)
        }
        #expect(server.connectionCount == 0)
    }

    @Test(arguments: [
        "ftp://127.0.0.1/", "file:///etc/passwd", "http://user:pw@127.0.0.1/", "https://user@host.example/",
        "mailto:a@b",
        "/relative", "https:///path", "http://127.0.0.1:99999/",
    ])
    func `a URL that is not plain http or https is rejected`(address: String) async {
        let error = await failure(transport, HTTPRequest(.get, url(address)))
        #expect(error?.kind == .invalidRequest)
        #expect(error.map { !"\($0)".contains("pw") } == true)
    }

    @Test(arguments: [
        "http://example.com/", "http://192.0.2.1/", "http://localhost.evil.example/", "http://127.1/",
        "http://127.0.0.1.evil.example/", "http://0.0.0.0/", "http://[::ffff:127.0.0.1]/", "http://2130706433/",
        "http://0177.0.0.1/", "http://localhost./",
    ])
    func `plain HTTP is allowed only to loopback`(address: String) async {
        #expect(await failure(transport, HTTPRequest(.get, url(address)))?.kind == .plainHTTPRefused)
    }

    @Test func `the transport stores no cookies and does not respond to challenges`() async throws {
        let server = try ScriptedServer { _ in
            answer("401 Unauthorized", "Set-Cookie: sid=1\r\nWWW-Authenticate: Basic realm=\"x\"\r\n")
        }
        for _ in 0..<2 { #expect(try await transport.send(HTTPRequest(.get, server.url())).status == 401) }
        #expect(server.requests.count == 2)
        for request in server.requests {
            #expect(request.values("Cookie").isEmpty && request.values("Authorization").isEmpty)
        }
    }
}
