import Foundation
import HTTPExchange
import Synchronization
import TestSupport
import Testing

@testable import CurlHTTP

@Suite struct `Connections` {
    let transport = CurlTransport()

    @Test func `one connection serves many requests`() async throws {
        let server = try ScriptedServer { answer(body: $0.line) }
        for number in 0..<50 {
            let response = try await transport.send(
                HTTPRequest(
                    number % 2 == 0 ? .get : .post, server.url("/\(number)"), body: number % 2 == 0 ? nil : Data([1])))
            #expect(String(decoding: response.body, as: UTF8.self).contains("/\(number) "))
        }
        #expect(server.connectionCount == 1)
    }

    @Test func `many concurrent requests share eight connections`() async throws {
        let running = Mutex((now: 0, most: 0))
        let server = try ScriptedServer { connection, _ in
            while let request = connection.readRequest() {
                running.withLock {
                    $0.now += 1
                    $0.most = max($0.most, $0.now)
                }
                Thread.sleep(forTimeInterval: 0.001)
                running.withLock { $0.now -= 1 }
                connection.send(answer(body: request.line))
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<300 {
                group.addTask {
                    let response = try await transport.send(HTTPRequest(.get, server.url("/\(number)")))
                    #expect(String(decoding: response.body, as: UTF8.self) == "GET /\(number) HTTP/1.1")
                }
            }
            try await group.waitForAll()
        }
        #expect(server.requests.count == 300)
        #expect(server.connectionCount <= 8)
        #expect(running.withLock { (2...8).contains($0.most) })
    }

    @Test(arguments: [true, false])
    func `the transport, or a request itself, limits the concurrent requests to an origin`(
        isOfRequest: Bool
    ) async throws {
        // The server responds to the first requests when it has 70 of them: more than the default limits.
        let limit = 70
        let running = Mutex((now: 0, most: 0))
        let isFull = DispatchSemaphore(value: 0)
        let server = try ScriptedServer { connection, _ in
            while let request = connection.readRequest() {
                let now = running.withLock {
                    $0.now += 1
                    $0.most = max($0.most, $0.now)
                    return $0.now
                }
                if now == limit { (0..<limit).forEach { _ in isFull.signal() } }
                if running.withLock({ $0.most < limit }) || now <= limit {
                    _ = isFull.wait(timeout: .now() + TestTime.seconds(60))
                    isFull.signal()
                }
                running.withLock { $0.now -= 1 }
                connection.send(answer(body: request.line))
            }
        }
        let transport = isOfRequest ? CurlTransport() : CurlTransport(requestsPerOrigin: limit)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<(2 * limit) {
                group.addTask {
                    var request = HTTPRequest(.get, server.url("/\(number)"))
                    if isOfRequest { request.requestsPerOrigin = limit }
                    request.timeout = .seconds(120)
                    let response = try await transport.send(request)
                    #expect(response.status == 200)
                }
            }
            try await group.waitForAll()
        }
        #expect(running.withLock { $0.most } == limit)
    }

    @Test func `a refused connection is "cannot connect" and names the host`() async throws {
        let port = try ScriptedServer { _, _ in }.port
        let error = await failure(transport, HTTPRequest(.get, url("http://127.0.0.1:\(port)/?q=secret")))
        #expect(error?.kind == .cannotConnect)
        #expect(error?.host == "127.0.0.1:\(port)")
        #expect(error.map { !"\($0)".contains("secret") } == true)
    }

    @Test func `an unknown host name is "cannot resolve host"`() async {
        var request = HTTPRequest(.get, url("https://no-such-host.invalid/"))
        request.timeout = .seconds(20)
        let error = await failure(transport, request)
        #expect(error?.kind == .cannotResolveHost || error?.kind == .timedOut)
    }

    @Test func `a reset after a POST is an error, and the transport does not repeat the request`() async throws {
        let server = try ScriptedServer { connection, _ in
            _ = connection.readRequest()
            connection.reset()
        }
        #expect(await failure(transport, HTTPRequest(.post, server.url(), body: Data([1])))?.kind == .connectionLost)
        #expect(server.requests.count == 1)
    }

    @Test(arguments: [Data("grant_type=refresh_token".utf8), nil])
    func `the transport does not repeat a POST on a reused connection that is lost`(body: Data?) async throws {
        let server = try ScriptedServer { connection, _ in
            _ = connection.readRequest()
            connection.send(answer())
            _ = connection.readRequest()
        }
        _ = try await transport.send(HTTPRequest(.get, server.url("/warm")))
        let error = await failure(transport, HTTPRequest(.post, server.url("/token"), body: body))
        #expect(error?.kind == .connectionLost)
        #expect(server.requests.filter { $0.line.hasPrefix("POST") }.count == 1)
    }

    @Test func `the transport repeats a GET on a reused connection that is lost`() async throws {
        let server = try ScriptedServer { connection, number in
            _ = connection.readRequest()
            connection.send(answer())
            if connection.readRequest() != nil, number > 1 { connection.send(answer()) }
        }
        _ = try await transport.send(HTTPRequest(.get, server.url()))
        // The first request on the second connection is the repeated one.
        #expect(try await transport.send(HTTPRequest(.get, server.url())).status == 200)
        #expect(server.connectionCount == 2)
    }

    @Test func `the transport replaces an idle connection that the server closed`() async throws {
        let closed = Signal<Void>()
        let server = try ScriptedServer { connection, _ in
            _ = connection.readRequest()
            connection.send(answer())
            connection.close()
            closed.send(())
        }
        for _ in 0..<3 {
            #expect(try await transport.send(HTTPRequest(.post, server.url(), body: Data([1]))).status == 200)
            await closed.next()
        }
        #expect(server.connectionCount == 3)
    }

    @Test func `a response that never arrives ends with the timeout`() async throws {
        let closed = Signal<Void>()
        let server = try ScriptedServer { connection, _ in
            _ = connection.readRequest()
            connection.waitForClose()
            closed.send(())
        }
        var request = HTTPRequest(.get, server.url("/?q=secret"))
        request.timeout = .milliseconds(50)
        let error = await failure(transport, request)
        #expect(error?.kind == .timedOut)
        #expect(error.map { !"\($0)".contains("secret") } == true)
        await closed.next()
    }

    @Test func `a response that arrives byte by byte ends with the timeout`() async throws {
        let server = try ScriptedServer { connection, _ in
            _ = connection.readRequest()
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
            while connection.send("x") { Thread.sleep(forTimeInterval: 0.005) }
        }
        var request = HTTPRequest(.get, server.url())
        request.timeout = .milliseconds(60)
        #expect(await failure(transport, request)?.kind == .timedOut)
    }

    @Test func `a response whose bytes keep arriving does not reach the idle timeout`() async throws {
        let server = try ScriptedServer { connection, _ in
            _ = connection.readRequest()
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n")
            for _ in 0..<40 {
                Thread.sleep(forTimeInterval: 0.02)
                connection.send("x")
            }
        }
        var request = HTTPRequest(.get, server.url())
        request.idleTimeout = .milliseconds(400 * Int(TestTime.factor))
        #expect(try await transport.send(request).body.count == 40)
    }

    @Test func `the idle timeout ends a request to a server that never responds`() async throws {
        let server = try ScriptedServer { connection, _ in
            _ = connection.readRequest()
            connection.waitForClose()
        }
        var request = HTTPRequest(.get, server.url())
        request.idleTimeout = .milliseconds(60)
        let error = await failure(transport, request)
        #expect(error?.kind == .timedOut && error?.reason.contains("60 ms") == true)
    }

    @Test func `queued requests end after the idle timeout`() async throws {
        let server = try ScriptedServer { connection, _ in
            _ = connection.readRequest()
            connection.waitForClose()
        }
        let kinds = await withTaskGroup(of: HTTPTransportError.Kind?.self) { group in
            for _ in 0..<200 {
                group.addTask {
                    var request = HTTPRequest(.get, server.url())
                    request.idleTimeout = .milliseconds(200)
                    return await failure(transport, request)?.kind
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(kinds == Array(repeating: .timedOut, count: 200))
        // The time in the queue counts. Otherwise each of them would reach the server, eight at a time.
        #expect(server.requests.count < 100)
    }

    @Test func `without a timeout of the request, an exchange ends after five minutes`() throws {
        func plan(_ change: (inout HTTPRequest) -> Void = { _ in }) throws -> (idle: Duration?, total: Duration) {
            var request = HTTPRequest(.get, URL(string: "https://api.example/") ?? URL(filePath: "/"))
            change(&request)
            let plan = try CurlRequest(request, userAgent: "")
            let pending = TimeLimit(request, isStreamed: false)
                .submission(plan, CancellationFlag(), nil, .streamed(BodyChannel()))
            return (plan.idleTimeout, pending.timeout)
        }
        #expect(try plan() == (.seconds(30), .seconds(300)))
        #expect(try plan { $0.idleTimeout = .seconds(60) } == (.seconds(60), .seconds(300)))
        #expect(try plan { $0.timeout = .seconds(7) } == (nil, .seconds(7)))
        #expect(try plan { $0.timeout = .seconds(700) } == (nil, .seconds(700)))
    }

    @Test func `the timeout includes the time in the queue`() async throws {
        let server = try ScriptedServer { connection, _ in
            _ = connection.readRequest()
            connection.waitForClose()
        }
        let kinds = await withTaskGroup(of: HTTPTransportError.Kind?.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    var request = HTTPRequest(.get, server.url())
                    request.timeout = .milliseconds(50)
                    return await failure(transport, request)?.kind
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(kinds == Array(repeating: .timedOut, count: 20))
    }

    @Test(arguments: [Duration.zero, .seconds(-5)])
    func `a timeout of zero ends a request, and the longest duration is valid`(timeout: Duration) async throws {
        let server = try ScriptedServer { connection, _ in
            _ = connection.readRequest()
            connection.waitForClose()
        }
        var request = HTTPRequest(.get, server.url())
        request.timeout = timeout
        #expect(await failure(transport, request)?.kind == .timedOut)
        let friendly = try ScriptedServer { _ in answer() }
        request = HTTPRequest(.get, friendly.url())
        request.timeout = .seconds(Int64.max)
        request.connectTimeout = .seconds(Int64.max)
        #expect(try await transport.send(request).status == 200)
    }

    @Test func `cancelling the task closes the connection`() async throws {
        let arrived = Signal<Void>()
        let closed = Signal<Void>()
        let server = try ScriptedServer { connection, _ in
            _ = connection.readRequest()
            arrived.send(())
            connection.waitForClose()
            closed.send(())
        }
        let task = Task { try await transport.send(HTTPRequest(.get, server.url())) }
        await arrived.next()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        await closed.next()
    }

    @Test func `cancelling many tasks resumes each of them`() async throws {
        let server = try ScriptedServer { _ in answer(body: "x") }
        let tasks = (0..<200).map { number in
            Task {
                if number % 3 == 0 { withUnsafeCurrentTask { $0?.cancel() } }
                return try await transport.send(HTTPRequest(.get, server.url()))
            }
        }
        for (number, task) in tasks.enumerated() where number % 3 == 1 { task.cancel() }
        var answered = 0
        for (number, task) in tasks.enumerated() {
            do {
                #expect(try await task.value.status == 200)
                answered += 1
                #expect(number % 3 != 0)
            } catch is CancellationError {
                #expect(number % 3 != 2)
            }
        }
        #expect(answered >= 66)
    }

    @Test func `the connections close when the transport is deinitialized`() async throws {
        let closed = Signal<Void>()
        let server = try ScriptedServer { connection, _ in
            while connection.readRequest() != nil { connection.send(answer()) }
            closed.send(())
        }
        do {
            let short = CurlTransport()
            _ = try await short.send(HTTPRequest(.get, server.url()))
        }
        await closed.next()
        #expect(server.connectionCount == 1)
    }

    @Test func `a retry policy sends the request again after a 503`() async throws {
        let server = try ScriptedServer { connection, number in
            while connection.readRequest() != nil {
                connection.send(answer(number == 1 ? "503 Busy" : "200 OK", "Connection: close\r\n"))
                if number == 1 { return }
            }
        }
        let response = try await CurlTransport().send(
            HTTPRequest(.get, server.url()), retrying: HTTPRetryPolicy(firstDelay: .milliseconds(1)))
        #expect(response.status == 200)
    }
}
