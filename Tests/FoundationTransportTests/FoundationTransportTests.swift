import Foundation
import HTTPExchange
import LocalProvider
import LoopbackHTTP
import OAuth2AccountStore
import OAuth2AccountStoreTesting
import TestSupport
import Testing

@testable import FoundationTransport

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite struct FoundationTransportTests {
    @Test func `sign(_:in:) adds Authorization to a URLRequest and keeps the rest`() async throws {
        let scene = try await SignedInFixture()
        var request = URLRequest(url: scene.provider.graphBase.appending(path: "v1.0/me"))
        request.httpMethod = "PATCH"
        request.httpBody = Data("{}".utf8)
        request.setValue("image/*", forHTTPHeaderField: "Accept")
        let signed = try await scene.account.sign(request, in: scene.store)
        let token = try await scene.store.accessToken(for: scene.account.id)
        #expect(signed.value(forHTTPHeaderField: "Authorization") == token.authorization)
        #expect(signed.value(forHTTPHeaderField: "Accept") == "image/*")
        #expect(signed.httpBody == request.httpBody && signed.httpMethod == "PATCH" && signed.url == request.url)
        request.url = URL(string: "https://elsewhere.example/me")
        await #expect(throws: AccountStoreError.self) { try await scene.account.sign(request, in: scene.store) }
    }

    @Test func `URLSessionTransport can serve a store, from the sign-in to the retry after a 401`() async throws {
        let scene = try await SignedInFixture(transport: URLSessionTransport())
        scene.provider.expireAccessTokens()
        let request = URLRequest(url: scene.provider.graphBase.appending(path: "v1.0/me"))
        let (data, response) = try await scene.account.send(request, in: scene.store)
        #expect(response.statusCode == 200)
        #expect(String(decoding: data, as: UTF8.self).contains("ada@contoso.example"))
        #expect(scene.provider.tokenRequestCount(grantType: "refresh_token") == 1)
    }

    @Test func `redirects follow the request's policy and drop Authorization for another origin`() async throws {
        let far = try LoopbackListener { request in
            LoopbackResponse(status: 200, body: Data((request.fields["Authorization"] ?? "none").utf8))
        }
        defer { far.close() }
        let address = "http://127.0.0.1:\(far.port)/far"
        let near = try LoopbackListener { request in
            request.path == "/here"
                ? LoopbackResponse(status: 200, body: Data((request.fields["Authorization"] ?? "none").utf8))
                : LoopbackResponse(status: 302, fields: ["Location": request.path == "/away" ? address : "/here"])
        }
        defer { near.close() }
        let transport = URLSessionTransport()
        func ask(_ path: String, _ policy: RedirectPolicy) async throws -> HTTPResponse {
            let url = try #require(URL(string: "http://127.0.0.1:\(near.port)\(path)"))
            var request = HTTPRequest(.get, url, fields: ["Authorization": "Bearer x"])
            request.redirects = policy
            return try await transport.send(request)
        }
        #expect(try await ask("/away", .none).status == 302)
        #expect(try await ask("/near", .follow(limit: 1)).body == Data("Bearer x".utf8))
        #expect(try await ask("/away", .follow(limit: 1)).body == Data("none".utf8))
        await #expect(throws: HTTPTransportError.self) { try await ask("/away", .follow(limit: 0)) }
    }

    @Test func `plain HTTP to other hosts and large responses are rejected`() async throws {
        let transport = URLSessionTransport()
        let plain = HTTPRequest(.get, try #require(URL(string: "http://plain.example/")))
        await #expect(throws: HTTPTransportError.self) { try await transport.send(plain) }
        let server = try LoopbackListener { _ in LoopbackResponse(status: 200, body: Data(repeating: 7, count: 5000)) }
        defer { server.close() }
        var request = HTTPRequest(.get, try #require(URL(string: "http://127.0.0.1:\(server.port)/?secret=hidden")))
        #expect(try await transport.send(request).body.count == 5000)
        request.maximumResponseSize = 4999
        let error = await #expect(throws: HTTPTransportError.self) { try await transport.send(request) }
        #expect(error?.kind == .responseTooLarge)
        server.close()
        let gone = await #expect(throws: HTTPTransportError.self) { try await transport.send(request) }
        #expect(gone?.kind == .cannotConnect && gone.map { !"\($0)".contains("hidden") } == true)
    }

    @Test func `the timeout includes all redirects`() async throws {
        let server = try LoopbackListener { _ in
            try? await Task.sleep(for: .milliseconds(300))
            return LoopbackResponse(status: 302, fields: ["Location": "/again"])
        }
        defer { server.close() }
        var request = HTTPRequest(.get, try #require(URL(string: "http://127.0.0.1:\(server.port)/")))
        request.redirects = .follow(limit: 40)
        request.timeout = .seconds(2)
        let error = await #expect(throws: HTTPTransportError.self) { try await URLSessionTransport().send(request) }
        #expect(error?.kind == .timedOut)
    }

    @Test(arguments: [0, -1, .infinity, .nan, .greatestFiniteMagnitude, 1e300] as [TimeInterval])
    func `an invalid timeout interval becomes a valid one`(interval: TimeInterval) throws {
        var request = URLRequest(url: try #require(URL(string: "https://api.example/")))
        request.timeoutInterval = interval
        #expect(try HTTPRequest(request).timeout >= .seconds(1))
    }

    @Test func `a request survives the conversion to URLRequest and back`() throws {
        let url = try #require(URL(string: "https://api.example/a?b=c"))
        var request = HTTPRequest(.put, url, fields: ["A": "1", "B": "2"], body: Data("x".utf8))
        request.timeout = .seconds(7)
        let there = try URLRequest(request)
        #expect(try URLRequest(HTTPRequest(.get, url)).timeoutInterval == 30)
        #expect(there.timeoutInterval == 7 && there.allHTTPHeaderFields == ["A": "1", "B": "2"])
        let back = try HTTPRequest(there)
        #expect(back.method == .put && back.url == url && back.body == request.body && back.timeout == .seconds(7))
        request.content = .file(at: URL(filePath: "/none"))
        #expect(throws: HTTPTransportError.self) { try URLRequest(request) }
    }
}
