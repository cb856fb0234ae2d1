import Foundation
import HTTPExchange
import OAuth2Protocol
import OAuth2AccountStore
import OAuth2AccountStoreTesting
import Testing

@Suite struct SceneTests {
    @Test func `a signed-in fixture has an account with a valid token, and the test sets its time`() async throws {
        let person = try await SignedInFixture().provider.users[20].userPrincipalName
        let scene = try await SignedInFixture(as: person)
        let me = HTTPRequest(.get, scene.provider.graphBase.appending(path: "v1.0/me"))
        let answer = try await scene.account.send(me, in: scene.store)
        #expect(answer.status == 200)
        #expect(String(decoding: answer.body, as: UTF8.self).contains(person))
        let first = try await scene.store.accessToken(for: scene.account.id)
        scene.clock.advance(by: .seconds(7200))
        #expect(try await scene.store.accessToken(for: scene.account.id).secret != first.secret)
        #expect(try await scene.account.send(me, in: scene.store).status == 200)
        #expect(scene.provider.tokenRequestCount(grantType: "refresh_token") == 1)
    }

    @Test func `two stores in memory share no accounts`() async throws {
        let scene = try await SignedInFixture()
        let other = try await InMemoryStore.open(
            settings: scene.store.settings, dependencies: .testing(transport: ScriptedTransport()))
        #expect(try await other.accounts().isEmpty)
        #expect(try await scene.store.accounts().count == 1)
    }
}

@Suite struct TestClockTests {
    @Test func `a sleep advances the test clock`() async throws {
        let clock = TestClock()
        let start = clock.now
        try await clock.sleep(for: .seconds(90))
        #expect(
            clock.now.timeIntervalSince(start) == 90 && clock.uptime == .seconds(90) && clock.waits == [.seconds(90)])
    }

    @Test func `with waitsForTheTest a sleep ends when the test advances the clock`() async throws {
        let clock = TestClock(waiting: .waitsForTheTest)
        let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
        let tasks = [3, 1, 2].map { seconds in
            Task {
                try await clock.sleep(for: .seconds(seconds))
                continuation.yield(seconds)
            }
        }
        await clock.waitForSleepers(3)
        var ended = stream.makeAsyncIterator()
        clock.advance(by: .seconds(1))
        #expect(await ended.next() == 1)
        #expect(clock.sleeperCount == 2)
        tasks[0].cancel()
        await #expect(throws: CancellationError.self) { try await tasks[0].value }
        clock.advance(by: .seconds(1))
        #expect(await ended.next() == 2)
        try await clock.sleep(for: .zero)
        #expect(clock.sleeperCount == 0)
    }
}

@Suite struct NetworkTests {
    private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

    @Test func `a scripted transport responds by path and URL in turn, and names requests without a response`()
        async throws
    {
        let network = ScriptedTransport()
        network.respond(to: .get, at: "/me", with: HTTPResponse(status: 503), HTTPResponse(status: 200))
        network.respond(to: .get, at: "https://other.example/me", with: HTTPResponse(status: 204))
        let request = HTTPRequest(.get, try url("https://api.example/me?x=secret"))
        #expect(try await network.send(request).status == 503)
        #expect(try await network.send(request).status == 200)
        #expect(try await network.send(request).status == 200)
        #expect(try await network.send(HTTPRequest(.get, try url("https://other.example/me"))).status == 204)
        #expect(network.requests(.get, "/me").count == 4)
        let other = HTTPRequest(.post, request.url)
        let error = await #expect(throws: HTTPTransportError.self) { try await network.send(other) }
        #expect(error?.reason.contains("POST https://api.example/me") == true)
        #expect(error?.reason.contains("secret") == false)
        network.respondToOtherRequests { _ in HTTPResponse(status: 418) }
        #expect(try await network.send(other).status == 418)
    }

    @Test func `a recording contains no secret and replays without a network`()
        async throws
    {
        let file = FileManager.default.temporaryDirectory.appending(path: "recording-\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: file) }
        let network = RecordingTransport(CurlTransport())
        let scene = try await SignedInFixture(transport: network)
        let first = try await scene.store.accessToken(for: scene.account.id).secret.value
        scene.provider.expireAccessTokens()
        let me = HTTPRequest(.get, scene.provider.graphBase.appending(path: "v1.0/me"))
        let answer = try await scene.account.send(me, in: scene.store)
        let second = try await scene.store.accessToken(for: scene.account.id).secret.value
        try network.recording.write(to: file)

        let text = try String(contentsOf: file, encoding: .utf8)
        #expect(first != second && text.contains("\"masked\""))
        for secret in [first, second] { #expect(!text.contains(secret)) }
        for name in ["refresh_token=masked", "code=masked", "code_verifier=masked"] { #expect(text.contains(name)) }

        // Replay the program with the recorded token: the first request is rejected, the second one succeeds.
        let replay = ReplayingTransport(try Recording(contentsOf: file))
        #expect(replay.unused == network.recording.exchanges)
        #expect(try await replay.send(me).status == 401)
        #expect(try await replay.send(me).body == answer.body)
        let error = await #expect(throws: HTTPTransportError.self) { try await replay.send(me) }
        #expect(error?.reason.contains("the next one is") == true)
    }

    @Test func `only secrets are masked, and a secret that the response repeats too`() throws {
        let request = HTTPRequest(
            .get, try url("https://api.example/x?state=open&city=Paris&access_token=a#token=b"),
            fields: ["Authorization": "Bearer abcdefgh12345", "Cookie": "c", "Accept": "text/plain"])
        let body =
            #"{"code":"Request_NotFound","state":"NY","client_secret":"s","echo":"abcdefgh12345","n":[{"token":1}]}"#
        let exchange = Recording.Exchange(request, HTTPResponse(status: 404, body: Data(body.utf8)))
        #expect(exchange.address == "https://api.example/x?state=masked&city=Paris&access_token=masked")
        #expect(exchange.requestFields == ["Authorization": "masked", "Cookie": "masked", "Accept": "text/plain"])
        #expect(
            String(decoding: exchange.body, as: UTF8.self)
                == #"{"code":"Request_NotFound","state":"NY","client_secret":"masked","echo":"masked","n":[{"token":"masked"}]}"#
        )
    }

    @Test func `binary content is restored unchanged, and an invalid recording is an error`() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "recording-\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: file) }
        let request = HTTPRequest(.put, try url("https://api.example/x"), body: Data([0xFF, 0]))
        let recording = Recording([.init(request, HTTPResponse(status: 201, body: Data([0xFE, 1])))])
        try recording.write(to: file)
        #expect(try Recording(contentsOf: file) == recording)
        for text in ["", "[]", #"{"exchanges": [1]}"#, #"{"exchanges": [{"method": "GET"}]}"#] {
            try text.write(to: file, atomically: true, encoding: .utf8)
            #expect(throws: RecordingError.self) { try Recording(contentsOf: file) }
        }
    }
}
