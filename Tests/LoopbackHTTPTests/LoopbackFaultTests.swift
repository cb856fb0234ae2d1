import Foundation
import Testing

@testable import LoopbackHTTP

private func listener(_ injectedError: InjectedLoopbackError) throws -> LoopbackListener {
    try LoopbackListener(limits: .server) { _ in
        LoopbackResponse(status: 200, body: Data("0123456789".utf8), injectedError: injectedError)
    }
}

private func client(_ listener: LoopbackListener) async throws -> RawClient {
    let port = listener.port
    return try await onThread {
        let client = try RawClient(port: port)
        client.send("GET / HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n")
        return client
    }
}

@Test func `closeWithoutResponse closes the connection without a response`() async throws {
    let listener = try listener(.closeWithoutResponse)
    let client = try await client(listener)
    #expect(try await onThread { try client.receiveAll() }.isEmpty)
}

@Test func `cut shortens the content`() async throws {
    let listener = try listener(.cut(bodyBytes: 4))
    let client = try await client(listener)
    let text = String(decoding: try await onThread { try client.receiveAll() }, as: UTF8.self)
    #expect(text.contains("Content-Length: 10\r\n"))
    #expect(text.hasSuffix("\r\n\r\n0123"))
}

@Test func `stall sends no response until the listener closes`() async throws {
    let listener = try listener(.stall)
    let (first, other) = (try await client(listener), try await client(listener))
    async let received = onThread { try first.receiveAll() }
    listener.close()
    #expect(try await onThread { try other.receiveAll() }.isEmpty)
    #expect(try await received.isEmpty)
}

@Test func `drip sends the content in small parts`() async throws {
    let listener = try listener(.drip(bytes: 3, every: .milliseconds(10)))
    let client = try await client(listener)
    let (answer, pieces) = try await onThread {
        var rest: [UInt8] = []
        var pieces = 0
        while RawAnswer.parse(rest) == nil, let piece = try client.receive() {
            rest += piece
            pieces += 1
        }
        return (RawAnswer.parse(rest)?.0, pieces)
    }
    #expect(answer?.text == "0123456789")
    #expect(answer?.field("Connection") == "keep-alive")
    #expect(pieces > 1)
}

@Test func `endless repeats the content up to its size`() async throws {
    // 10 GB with little memory: the client disconnects after 20 MB, and the listener continues.
    let listener = try listener(.endless(bytes: 10_000_000_000))
    let first = try await client(listener)
    let count = try await onThread {
        var count = 0
        while count < 20 << 20, let piece = try first.receive() { count += piece.count }
        return count
    }
    #expect(count >= 20 << 20)
    let small = try LoopbackListener { _ in
        LoopbackResponse(status: 200, body: Data("ab".utf8), injectedError: .endless(bytes: 100_000))
    }
    let second = try await client(small)
    let bytes = try await onThread { try second.receiveAll() }
    #expect(RawAnswer.parse(bytes)?.0.body.count == 100_000)
}
