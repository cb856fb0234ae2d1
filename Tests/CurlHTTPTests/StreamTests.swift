import Foundation
import Synchronization
import TestSupport
import Testing

@testable import CurlHTTP
@testable import HTTPExchange

@Suite struct `Streamed responses` {
    let transport = CurlTransport()

    /// Reads the body to its end.
    func read(_ body: HTTPResponseBody) async throws -> Data {
        var content = Data()
        for try await chunk in body {
            #expect(!chunk.isEmpty)
            content.append(chunk)
        }
        return content
    }

    @Test func `a chunk arrives before the next one is sent`() async throws {
        let go = DispatchSemaphore(value: 0)
        let server = try ScriptedServer { connection, _ in
            _ = connection.readRequest()
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\nX-A: b\r\n\r\n")
            for text in ["one", "two"] {
                go.waitLimited()
                connection.send(text)
            }
        }
        let response = try await transport.stream(HTTPRequest(.get, server.url("/x")))
        #expect(response.status == 200 && response.fields["x-a"] == "b" && response.url == server.url("/x"))
        var iterator = response.body.makeAsyncIterator()
        for text in ["one", "two"] {
            go.signal()
            #expect(try await iterator.next() == Data(text.utf8))
        }
        #expect(try await iterator.next() == nil)
        #expect(try await iterator.next() == nil)
    }

    @Test(arguments: [0, 1, 16_384, 5_000_000])
    func `a stream delivers the whole content to fast and slow readers`(size: Int) async throws {
        let content = pattern(size)
        let server = try ScriptedServer { connection, _ in
            while connection.readRequest() != nil {
                connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n")
                connection.send(Array(content))
            }
        }
        let request = HTTPRequest(.get, server.url())
        #expect(try await read(transport.stream(request).body) == content)
        var slow = Data()
        for try await chunk in try await transport.stream(request).body {
            await Task.yield()
            slow.append(chunk)
        }
        #expect(slow == content)
        #expect(server.connectionCount == 1)
    }

    @Test func `an error response can be streamed too`() async throws {
        let server = try ScriptedServer { _ in answer("404 Not Found", body: "nobody") }
        let response = try await transport.stream(HTTPRequest(.get, server.url()))
        #expect(response.status == 404)
        #expect(try await response.whole().body == Data("nobody".utf8))
    }

    @Test func `whole(limit:) limits the size of the content`() async throws {
        let server = try ScriptedServer { _ in answer(body: "12345") }
        #expect(try await transport.stream(HTTPRequest(.get, server.url())).whole(limit: 5).body.count == 5)
        let response = try await transport.stream(HTTPRequest(.get, server.url()))
        let error = await #expect(throws: HTTPTransportError.self) { try await response.whole(limit: 4) }
        #expect(error?.kind == .responseTooLarge)
    }

    @Test func `a slow reader slows the server down`() async throws {
        let sent = Mutex(0)
        let server = try ScriptedServer { connection, _ in
            _ = connection.readRequest()
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 300000000\r\n\r\n")
            let piece = [UInt8](repeating: 1, count: 100_000)
            while sent.withLock({ $0 }) < 300_000_000, connection.send(piece) { sent.withLock { $0 += piece.count } }
        }
        let response = try await transport.stream(HTTPRequest(.get, server.url()))
        var last = -1
        while sent.withLock({ $0 }) != last {
            last = sent.withLock { $0 }
            try await Task.sleep(for: .milliseconds(100))
        }
        // The capacity of the socket buffers, and half a megabyte.
        #expect(last < 30_000_000)
        var count = 0
        for try await chunk in response.body {
            #expect(chunk.count <= BodyChannel.capacity + 65_536)
            count += chunk.count
        }
        #expect(count == 300_000_000)
    }

    @Test func `a truncated response throws an error after its last chunk`() async throws {
        let server = try ScriptedServer { connection, _ in
            _ = connection.readRequest()
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
        }
        var iterator = try await transport.stream(HTTPRequest(.get, server.url())).body.makeAsyncIterator()
        #expect(try await iterator.next() == Data("abc".utf8))
        for _ in 0..<2 {
            let error = await #expect(throws: HTTPTransportError.self) { try await iterator.next() }
            #expect(error?.kind == .connectionLost)
        }
    }

    /// Creates a server whose responses never end, and a signal for each closed connection.
    private func endless() throws -> (ScriptedServer, Signal<Void>) {
        let closed = Signal<Void>()
        let server = try ScriptedServer { connection, _ in
            _ = connection.readRequest()
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\nbegin")
            connection.waitForClose()
            closed.send(())
        }
        return (server, closed)
    }

    @Test func `an abandoned body closes its connection`() async throws {
        let (server, closed) = try endless()
        for try await chunk in try await transport.stream(HTTPRequest(.get, server.url())).body {
            #expect(chunk == Data("begin".utf8))
            break
        }
        await closed.next()
        _ = try await transport.stream(HTTPRequest(.get, server.url()))
        await closed.next()
    }

    @Test func `cancelling the reader closes its connection`() async throws {
        let (server, closed) = try endless()
        let reading = Signal<Void>()
        let task = Task {
            for try await _ in try await transport.stream(HTTPRequest(.get, server.url())).body { reading.send(()) }
        }
        await reading.next()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        await closed.next()
    }

    @Test func `cancellation resumes every reader`() async throws {
        let server = try ScriptedServer { _ in answer(body: String(repeating: "x", count: 200_000)) }
        let tasks = (0..<100).map { number in
            Task {
                if number % 4 == 0 { withUnsafeCurrentTask { $0?.cancel() } }
                return try await read(transport.stream(HTTPRequest(.get, server.url())).body).count
            }
        }
        for (number, task) in tasks.enumerated() where number % 4 == 1 { task.cancel() }
        for (number, task) in tasks.enumerated() {
            do {
                #expect(try await task.value == 200_000)
                #expect(number % 4 != 0)
            } catch is CancellationError {
                #expect(number % 4 < 2)
            }
        }
    }

    @Test func `a stream outlives its transport`() async throws {
        let server = try ScriptedServer { _ in answer(body: String(repeating: "x", count: 3_000_000)) }
        let body = try await CurlTransport().stream(HTTPRequest(.get, server.url())).body
        #expect(try await read(body).count == 3_000_000)
    }

    @Test func `unread streams do not block other requests`() async throws {
        let server = try ScriptedServer { connection, _ in
            while let request = connection.readRequest() {
                if request.line.contains("/big") {
                    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
                    while connection.send([UInt8](repeating: 0, count: 1_000_000)) {}
                } else {
                    connection.send(answer(body: "small"))
                }
            }
        }
        var held: [HTTPStreamedResponse] = []
        for _ in 0..<20 { held.append(try await transport.stream(HTTPRequest(.get, server.url("/big")))) }
        for _ in 0..<20 {
            #expect(try await transport.send(HTTPRequest(.get, server.url())).body == Data("small".utf8))
        }
        #expect(held.count == 20)
    }

    @Test func `a stream follows redirects before it returns`() async throws {
        let server = try ScriptedServer { request in
            request.line.contains(" /from")
                ? answer("302 Found", "Location: /to\r\n", body: "moved") : answer(body: "here")
        }
        var request = HTTPRequest(.get, server.url("/from"), fields: ["Authorization": "Bearer t"])
        #expect(try await transport.stream(request).whole().body == Data("moved".utf8))
        request.redirects = .follow(limit: 1)
        let response = try await transport.stream(request)
        #expect(response.url == server.url("/to"))
        #expect(try await response.whole().body == Data("here".utf8))
        #expect(server.connectionCount == 1)
    }

    @Test func `a timeout error names the timeout`() async throws {
        let server = try ScriptedServer { connection, _ in
            guard let request = connection.readRequest() else { return }
            if request.line.contains("/begun") { connection.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc") }
            connection.waitForClose()
        }
        var request = HTTPRequest(.get, server.url("/begun"))
        request.idleTimeout = .milliseconds(60)
        let idle = await #expect(throws: HTTPTransportError.self) {
            try await read(transport.stream(request).body)
        }
        #expect(idle?.kind == .timedOut && idle?.reason.contains("No byte") == true)
        request.url = server.url("/silent")
        request.idleTimeout = nil
        request.firstByteTimeout = .milliseconds(60)
        for isStreamed in [true, false] {
            let first = await #expect(throws: HTTPTransportError.self) {
                _ = isStreamed ? try await transport.stream(request).status : try await transport.send(request).status
            }
            #expect(first?.kind == .timedOut && first?.reason.contains("No response within") == true)
        }
        request.firstByteTimeout = nil
        request.timeout = .milliseconds(60)
        let whole = await #expect(throws: HTTPTransportError.self) { try await transport.stream(request) }
        #expect(whole?.kind == .timedOut && whole?.reason.contains("not complete within 60 ms") == true)
        request.timeout = .seconds(1) - .nanoseconds(4_153_078)
        let words = await #expect(throws: HTTPTransportError.self) { try await transport.stream(request) }
        #expect(words?.reason.contains("within 1 second.") == true)
    }

    @Test func `a slow reader does not cause a timeout`() async throws {
        let server = try ScriptedServer { connection, _ in
            _ = connection.readRequest()
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 20000000\r\n\r\n")
            connection.send([UInt8](repeating: 1, count: 20_000_000))
        }
        var request = HTTPRequest(.get, server.url())
        request.idleTimeout = .seconds(1)
        let response = try await transport.stream(request)
        try await Task.sleep(for: .milliseconds(1500))
        #expect(try await read(response.body).count == 20_000_000)
    }

    @Test func `progress reports both directions and ends once`() async throws {
        let server = try ScriptedServer { _ in answer(body: String(repeating: "x", count: 700_000)) }
        let steps = Mutex<[HTTPProgress]>([])
        let request = HTTPRequest(.post, server.url(), body: Data(count: 2_000_000))
        let response = try await transport.send(request) { step in steps.withLock { $0.append(step) } }
        #expect(response.body.count == 700_000)
        let all = steps.withLock { $0 }
        #expect(
            all.last
                == HTTPProgress(
                    sent: 2_000_000, totalToSend: 2_000_000, received: 700_000, totalToReceive: 700_000, hasEnded: true)
        )
        #expect(all.filter(\.hasEnded).count == 1)
        #expect(zip(all, all.dropFirst()).allSatisfy { $0.sent <= $1.sent && $0.received <= $1.received })
    }

    @Test func `progress updates end after a successful or failed transfer`() async throws {
        let server = try ScriptedServer { request in
            request.line.contains("/cut") ? "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nbody" : answer(body: "abc")
        }
        let port = try ScriptedServer { _, _ in }.port
        for (target, isGood) in [(server.url(), true), (url("http://127.0.0.1:\(port)/"), false)] {
            let updates = HTTPProgressUpdates()
            async let response = transport.send(HTTPRequest(.get, target), progress: updates.report)
            var last: HTTPProgress?
            for await step in updates { last = step }
            #expect(last?.hasEnded == true && (last?.received == 3) == isGood)
            if isGood { #expect(try await response.status == 200) } else { _ = try? await response }
        }
    }

    @Test func `a transport with only send(_:) supports streams too`() async throws {
        struct Fixed: HTTPTransport {
            func send(_ request: HTTPRequest) async throws -> HTTPResponse {
                HTTPResponse(status: 201, body: Data("abc".utf8))
            }
        }
        let response = try await Fixed().stream(HTTPRequest(.get, url("https://a.example/")))
        #expect(response.status == 201)
        #expect(try await read(response.body) == Data("abc".utf8))
        #expect("\(response)" == "HTTP 201, streamed")
    }
}
