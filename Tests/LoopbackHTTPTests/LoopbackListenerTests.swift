import Foundation
import Synchronization
import Testing

@testable import LoopbackHTTP

private func echo(_ request: LoopbackRequest) -> LoopbackResponse {
    LoopbackResponse(status: 200, body: Data("\(request.method) \(request.target) ".utf8) + request.body)
}

private func get(_ path: String, _ port: UInt16, _ more: String = "") -> String {
    "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\(more)\r\n"
}

@Test func `a connection can carry many requests`() async throws {
    let listener = try LoopbackListener(limits: .server) { echo($0) }
    let port = listener.port
    let texts = try await onThread {
        let client = try RawClient(port: port)
        var rest: [UInt8] = []
        return try (1...50).map { number in
            client.send(get("/\(number)", port))
            let answer = try client.receiveAnswer(rest: &rest)
            guard answer?.field("Connection") == "keep-alive" else { return "not kept" }
            return answer?.text ?? "nothing"
        }
    }
    #expect(texts == (1...50).map { "GET /\($0) " })
}

@Test func `pipelined requests receive responses in order`() async throws {
    let listener = try LoopbackListener(limits: .server) { echo($0) }
    let port = listener.port
    let texts = try await onThread {
        let client = try RawClient(port: port)
        client.send((1...20).map { get("/\($0)", port) }.joined())
        client.endSending()
        var rest = try client.receiveAll()
        return try (1...20).map { _ in try client.receiveAnswer(rest: &rest)?.text ?? "nothing" }
    }
    #expect(texts == (1...20).map { "GET /\($0) " })
}

@Test func `the number of requests on a connection is limited`() async throws {
    var limits = LoopbackListener.Limits()
    limits.requestsPerConnection = 2
    let listener = try LoopbackListener(limits: limits) { echo($0) }
    let port = listener.port
    let received = try await onThread {
        let client = try RawClient(port: port)
        client.send((1...3).map { get("/\($0)", port) }.joined())
        return String(decoding: try client.receiveAll(), as: UTF8.self)
    }
    #expect(received.contains("GET /2 "))
    #expect(!received.contains("GET /3 "))
}

@Test func `content up to bodyBytes is accepted, and larger content receives 413`() async throws {
    var limits = LoopbackListener.Limits()
    limits.bodyBytes = 100_000
    let listener = try LoopbackListener(limits: limits) {
        LoopbackResponse(status: 200, body: Data("\($0.body.count)".utf8))
    }
    func post(_ count: Int, _ more: String = "") -> String {
        "POST / HTTP/1.1\r\nHost: 127.0.0.1:\(listener.port)\r\nContent-Length: \(count)\r\n\(more)\r\n"
            + String(repeating: "x", count: count)
    }
    #expect(try await exchange(port: listener.port, post(100_000))?.text == "100000")
    #expect(try await exchange(port: listener.port, post(100_001))?.status == 413)
}

@Test func `Expect: 100-continue receives an interim response`() async throws {
    let listener = try LoopbackListener { echo($0) }
    let port = listener.port
    let answers = try await onThread {
        let client = try RawClient(port: port)
        client.send("POST /a HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        var rest: [UInt8] = []
        let first = try client.receiveAnswer(rest: &rest)
        client.send("ok")
        return [first, try client.receiveAnswer(rest: &rest)]
    }
    #expect(answers[0]?.status == 100)
    #expect(answers[1]?.text == "POST /a ok")
}

@Test func `HEAD receives the length without the content`() async throws {
    let listener = try LoopbackListener { _ in LoopbackResponse(status: 200, body: Data("12345".utf8)) }
    let port = listener.port
    let raw = "HEAD / HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n"
    let received = try await onThread {
        let client = try RawClient(port: port)
        client.send(raw)
        return String(decoding: try client.receiveAll(), as: UTF8.self)
    }
    #expect(received.contains("Content-Length: 5\r\n"))
    #expect(received.hasSuffix("\r\n\r\n"))
}

@Test(arguments: [
    ("GET / HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/2.0\r\nHost: H\r\n\r\n", 505),
    ("GET / HTTP/9\r\nHost: H\r\n\r\n", 400),
    ("GET /\r\n\r\n", 400), ("GET  / HTTP/1.1\r\nHost: H\r\n\r\n", 400), ("GET / HTTP/1.1\nHost: H\n\n", 400),
    ("GET / HTTP/1.1\r\nHost: H\r\n folded\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost : H\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: H\r\nA: \u{1}\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: H\r\nnothing\r\n\r\n", 400),
    ("GET /a#b HTTP/1.1\r\nHost: H\r\n\r\n", 400), ("GET x HTTP/1.1\r\nHost: H\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421), ("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 421),
    ("GET / HTTP/1.1\r\nHost: 127.0.0.1.evil.example:P\r\n\r\n", 421), ("GET / HTTP/1.1\r\nHost: evil@H\r\n\r\n", 421),
    ("GET http://127.0.0.1:1/ HTTP/1.1\r\nHost: H\r\n\r\n", 421), ("* / HTTP/1.1\r\nHost: H\r\n\r\n", 200),
    ("OPTIONS * HTTP/1.1\r\nHost: H\r\n\r\n", 200), ("GET * HTTP/1.1\r\nHost: H\r\n\r\n", 400),
    ("\r\nGET / HTTP/1.1\r\nHost: H\r\n\r\n", 200), ("\r\n\r\nGET / HTTP/1.1\r\nHost: H\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: H\r\nContent-Length: -1\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: H\r\nContent-Length: 1, 1\r\n\r\nx", 400),
    ("POST / HTTP/1.1\r\nHost: H\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", 400),
    ("POST / HTTP/1.1\r\nHost: H\r\nContent-Length: 99999999999999999999\r\n\r\n", 413),
    ("POST / HTTP/1.1\r\nHost: H\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411),
    ("POST / HTTP/1.1\r\nHost: H\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
    ("POST / HTTP/1.1\r\nHost: H\r\nExpect: magic\r\nContent-Length: 1\r\n\r\nx", 417),
    ("CONNECT H HTTP/1.1\r\nHost: H\r\n\r\n", 501),
])
func `unusual valid requests receive 200, and invalid requests an error status`(raw: String, status: Int) async throws {
    let listener = try LoopbackListener { echo($0) }
    let request = raw.replacingOccurrences(of: "H\r\n", with: "127.0.0.1:\(listener.port)\r\n")
        .replacingOccurrences(of: "H\n", with: "127.0.0.1:\(listener.port)\n")
        .replacingOccurrences(of: ":P", with: ":\(listener.port)")
    #expect(try await exchange(port: listener.port, request)?.status == status)
}

@Test func `a request with too many header fields receives 431`() async throws {
    let listener = try LoopbackListener { echo($0) }
    let many = String(repeating: "A: b\r\n", count: 101)
    #expect(try await exchange(port: listener.port, get("/", listener.port, many))?.status == 431)
}

@Test func `the handler receives the target unchanged`() async throws {
    let listener = try LoopbackListener { request in
        LoopbackResponse(status: 200, body: Data("\(request.path)|\(request.query ?? "-")".utf8))
    }
    for (target, expected) in [
        ("/a%2Fb?x=%27'$&y", "/a%2Fb|x=%27'$&y"), ("/", "/|-"), ("/?", "/|"), ("/a?b?c", "/a|b?c"),
        ("http://127.0.0.1:\(listener.port)", "/|-"), ("http://127.0.0.1:\(listener.port)?q", "/|q"),
    ] {
        #expect(try await exchange(port: listener.port, get(target, listener.port))?.text == expected)
    }
}

@Test func `localhost listens on IPv4 and IPv6 with the same port`() async throws {
    let listener = try LoopbackListener(host: "localhost") { echo($0) }
    let port = listener.port
    for host in ["localhost", "LOCALHOST", "127.0.0.1"] {
        let answer = try await exchange(port: port, "GET / HTTP/1.1\r\nHost: \(host):\(port)\r\n\r\n")
        #expect(answer?.status == 200)
    }
    // On a machine without IPv6, the listener has only an IPv4 socket.
    guard (try? LoopbackListener(host: "::1", handler: { echo($0) })) != nil else { return }
    let six = try await exchange(port: port, "GET / HTTP/1.1\r\nHost: [::1]:\(port)\r\n\r\n", address: "::1")
    #expect(six?.status == 200)
}

@Test(arguments: ["0.0.0.0", "::", "192.0.2.1", "example.com", "", "127.0.0.01", "127.0.0.256", "127.1", "localhost."])
func `a listener accepts only loopback hosts`(host: String) {
    #expect(throws: LoopbackError.notLoopback(host: host)) { try LoopbackListener(host: host) { echo($0) } }
}

@Test func `a port in use throws portTaken, which suggests a different port`() throws {
    let first = try LoopbackListener { echo($0) }
    let error = #expect(throws: LoopbackError.self) { try LoopbackListener(port: first.port) { echo($0) } }
    #expect(error == .portTaken(first.port))
    #expect(error?.description.contains("\(first.port)") == true)
    #expect(error?.description.contains("choose another port") == true)
}

/// Returns a free port below the ephemeral range, so that no other process receives it by chance.
private func quietPort() throws -> UInt16 {
    while true {
        let port = UInt16.random(in: 10_000..<30_000)
        do throws(LoopbackError) {
            try LoopbackListener(port: port) { echo($0) }.close()
            return port
        } catch {
            guard case .portTaken = error else { throw error }
        }
    }
}

@Test func `the port is free after close()`() async throws {
    let port = try quietPort()
    for _ in 0..<50 {
        let listener = try LoopbackListener(port: port) { echo($0) }
        #expect(try await exchange(port: port, get("/", port))?.status == 200)
        listener.close()
        listener.close()
    }
}

@Test func `a deinitialized listener releases its port`() throws {
    let port = try quietPort()
    _ = try LoopbackListener(port: port) { echo($0) }
    _ = try LoopbackListener(port: port) { echo($0) }
}

@Test func `silent connections do not block the listener`() async throws {
    var limits = LoopbackListener.Limits()
    limits.connections = 4
    let listener = try LoopbackListener(limits: limits) { echo($0) }
    let port = listener.port
    let answer = try await onThread {
        let silent = try (0..<4).map { _ in try RawClient(port: port) }
        let halfOpen = try (0..<6).map { _ in
            let client = try RawClient(port: port)
            client.send("GET / HT")
            return client
        }
        let client = try RawClient(port: port)
        client.send(get("/good", port))
        defer { withExtendedLifetime((silent, halfOpen)) {} }
        return RawAnswer.parse(try client.receiveAll())?.0.text
    }
    #expect(answer == "GET /good ")
}

@Test func `an idle connection is closed`() async throws {
    var limits = LoopbackListener.Limits.server
    limits.idleTime = .milliseconds(50)
    let listener = try LoopbackListener(limits: limits) { echo($0) }
    let port = listener.port
    let received = try await onThread {
        let client = try RawClient(port: port)
        client.send(get("/", port))
        return RawAnswer.parse(try client.receiveAll())?.0.status
    }
    #expect(received == 200)
}

@Test func `a slow handler is cancelled, and the client receives 503`() async throws {
    var limits = LoopbackListener.Limits()
    limits.responseTime = .milliseconds(50)
    let (cancelled, continuation) = AsyncStream<Bool>.makeStream()
    let listener = try LoopbackListener(limits: limits) { _ in
        try? await Task.sleep(for: .seconds(3600))
        continuation.yield(Task.isCancelled)
        return LoopbackResponse(status: 200)
    }
    #expect(try await exchange(port: listener.port, get("/", listener.port))?.status == 503)
    #expect(await cancelled.first { _ in true } == true)
}

@Test func `shutDown() cancels handlers and sends their responses`() async throws {
    let (entered, continuation) = AsyncStream<Void>.makeStream()
    var limits = LoopbackListener.Limits()
    // While many tests run in parallel, a cancelled handler may resume only after several seconds.
    limits.closingTime = .seconds(30)
    let listener = try LoopbackListener(limits: limits) { _ in
        continuation.yield()
        try? await Task.sleep(for: .seconds(3600))
        return LoopbackResponse(status: 200, body: Data((Task.isCancelled ? "cancelled" : "late").utf8))
    }
    let port = listener.port
    async let answer = exchange(port: port, get("/", port))
    _ = await entered.first { _ in true }
    await listener.shutDown()
    #expect(try await answer?.text == "cancelled")
}

@Test func `close() finishes responses in progress`() async throws {
    let size = 8 << 20
    let (entered, continuation) = AsyncStream<Void>.makeStream()
    var limits = LoopbackListener.Limits()
    limits.closingTime = .seconds(10)
    let listener = try LoopbackListener(limits: limits) { _ in
        continuation.yield()
        return LoopbackResponse(status: 200, body: Data(repeating: 0x61, count: size))
    }
    let port = listener.port
    let client = try await onThread {
        let client = try RawClient(port: port)
        client.send(get("/", port))
        _ = try client.receive(1)
        return client
    }
    _ = await entered.first { _ in true }
    listener.close()
    #expect(try await onThread { try client.receiveAll().count } > size)
    // close() released the port; shutDown() waits for the responses.
    await listener.shutDown()
}

@Test func `invalid response fields are dropped`() async throws {
    let listener = try LoopbackListener { _ in
        LoopbackResponse(
            status: 200,
            fields: [
                "X-Good": "1", "X-Bad": "1\r\nX-Injected: 1", "Bad Name": "1", "Content-Length": "99",
                "Transfer-Encoding": "chunked", "Content-Type": "text/html; charset=utf-8",
            ], body: Data("<p>".utf8))
    }
    let answer = try #require(try await exchange(port: listener.port, get("/", listener.port)))
    #expect(answer.field("X-Good") == "1")
    #expect(answer.field("X-Bad") == nil)
    #expect(answer.field("X-Injected") == nil)
    #expect(answer.field("Bad Name") == nil)
    #expect(answer.field("Transfer-Encoding") == nil)
    #expect(answer.field("Content-Length") == "3")
    #expect(answer.field("Content-Security-Policy")?.contains("form-action 'none'") == true)
}

@Test func `descriptions contain no request or response data`() {
    let request = LoopbackRequest(
        target: "/cb?code=SECRET", path: "/cb", query: "code=SECRET", fields: ["Cookie": "SECRET"],
        body: Data("SECRET".utf8), host: "127.0.0.1:1")
    let response = LoopbackResponse(status: 200, fields: ["Location": "SECRET"], body: Data("SECRET".utf8))
    for value in [request, response] as [Any] {
        var dumped = ""
        dump(value, to: &dumped)
        #expect(!"\(value) \(String(reflecting: value)) \(dumped)".contains("SECRET"))
    }
}
