import Foundation
import HTTPExchange
import LoopbackHTTP
import OAuth2Protocol
import StrictJSON
import Synchronization
import TestSupport
import Testing

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import LodgePlatform

@Suite struct RequestContentTests {
    private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

    private func text(_ request: HTTPRequest) throws -> String {
        String(decoding: try #require(request.body), as: UTF8.self)
    }

    @Test func `a file is streamed, and the retry after a 401 has the same content and boundary`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let file = URL(filePath: directory.path + "/photo.jpg")
        try Data(repeating: 9, count: 300_000).write(to: file)
        let received = Log<LoopbackRequest>()
        let listener = try LoopbackListener(limits: .server) { request in
            received.append(request)
            return LoopbackResponse(status: request.fields["Authorization"] == "Bearer at-2" ? 200 : 401)
        }
        defer { listener.close() }
        let provider = try GrantProvider()
        let curl = CurlTransport()
        let network = RoutedTransport { request in
            request.url.isLoopback ? try await curl.send(request) : try await provider.send(request)
        }
        var dependencies = provider.dependencies()
        dependencies.transport = { _ in network }
        let settings = """
            {"types": {"t": {"issuer": "https://id.example", "clientId": "client", "scopes": ["read"],
            "redirectUri": "http://127.0.0.1/callback", "resourceHosts": ["127.0.0.1"]}}}
            """
        let store = try await AccountStore(
            settings: try Settings(bytes: Array(settings.utf8), source: "test"), storage: MemoryStorage(),
            custody: try MemoryKey(), dependencies: dependencies, watchesOtherProcesses: false)
        let account = try await provider.signIn(store, answer: ["id_token": .null])
        provider.answer("/token", inTurn: .grant(["access_token": "at-2", "token_type": "Bearer"]))
        var form = MultipartForm()
        form.append("Ada", named: "name")
        form.append(file: file, named: "photo", contentType: "image/jpeg")
        let request = try HTTPRequest(.post, try url("http://127.0.0.1:\(listener.port)/up"), multipart: form)
        #expect(request.body == nil)
        #expect(try await store.send(request, for: account.id).status == 200)
        let sent = received.all
        try #require(sent.count == 2)
        #expect(sent[0].body == sent[1].body && sent[0].body.count > 300_000)
        #expect(sent[0].fields["Content-Type"] == sent[1].fields["Content-Type"])
        #expect(sent[0].fields["Content-Length"] == "\(sent[0].body.count)")
    }
}

/// A transport that calls a function.
private struct RoutedTransport: HTTPTransport {
    let route: @Sendable (HTTPRequest) async throws -> HTTPResponse
    func send(_ request: HTTPRequest) async throws -> HTTPResponse { try await route(request) }
}

@Suite struct AccountTransportTests {
    private func signedIn(_ keys: JSONObject = [:]) async throws -> (GrantProvider, AccountStore, Account) {
        let provider = try GrantProvider()
        var all: JSONObject = ["scopes": ["read"], "resourceHosts": ["api.example"]]
        for member in keys.members { all[member.name] = member.value }
        let store = try await provider.store(all)
        let account = try await provider.signIn(store, answer: ["id_token": .null])
        provider.answer("/token", inTurn: .grant(["access_token": "at-2", "token_type": "Bearer"]))
        provider.answer("/me") { received in
            let isNew = received.request.fields["Authorization"] == "Bearer at-2"
            return HTTPResponse(status: isNew ? 200 : 401, body: Data((isNew ? "content" : "refused").utf8))
        }
        return (provider, store, account)
    }

    @Test func `a stream has the response after the refresh, and progress ends once`() async throws {
        let (provider, store, account) = try await signedIn()
        let url = try #require(URL(string: "https://api.example/me"))
        let reports = Log<HTTPProgress>()
        let answer = try await account.transport(in: store).stream(HTTPRequest(.get, url)) { reports.append($0) }
        #expect(answer.status == 200)
        #expect(try await answer.whole().body == Data("content".utf8))
        #expect(provider.requests(to: "/me").count == 2)
        #expect(reports.all.filter(\.hasEnded).count == 1 && reports.all.last?.hasEnded == true)
        #expect(reports.all.last?.received == 7)
    }

    @Test func `a download has the response after the refresh`() async throws {
        let (_, store, account) = try await signedIn()
        let directory = try TemporaryDirectory()
        let file = URL(filePath: directory.path + "/file")
        let url = try #require(URL(string: "https://api.example/me"))
        let saved = try await store.transport(for: account.id).download(HTTPRequest(.get, url), to: file)
        #expect(saved.response.status == 200 && saved.size == 7)
        #expect(try Data(contentsOf: file) == Data("content".utf8))
    }

    @Test func `content that can be read only once is not sent again`() async throws {
        let (provider, store, account) = try await signedIn()
        let url = try #require(URL(string: "https://api.example/me"))
        let once = HTTPBody.chunks(isReplayable: false) {
            AsyncStream<Data> {
                $0.yield(Data("x".utf8))
                $0.finish()
            }
        }
        let answer = try await store.send(HTTPRequest(.post, url, content: once), for: account.id)
        #expect(answer.status == 401 && provider.requests(to: "/me").count == 1)
    }

    @Test func `pinned keys apply to the provider and to the resource`() async throws {
        let pin = "sha256/" + Data(repeating: 7, count: 32).base64EncodedString()
        let (provider, store, account) = try await signedIn(["pinnedKeys": [.string(pin)]])
        let url = try #require(URL(string: "https://api.example/me"))
        #expect(try await store.send(HTTPRequest(.get, url), for: account.id).status == 200)
        for path in ["/.well-known/openid-configuration", "/token", "/me"] {
            let requests = provider.requests(to: path)
            #expect(!requests.isEmpty)
            #expect(requests.allSatisfy { $0.request.trust.pinnedKeys.map(\.description) == [pin] }, "\(path)")
        }
    }
}
