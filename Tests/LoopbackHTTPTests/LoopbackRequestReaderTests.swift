import Foundation
import HTTPExchange
import Testing

@testable import LoopbackHTTP

private let limits: LoopbackListener.Limits = {
    var limits = LoopbackListener.Limits()
    limits.requestLineBytes = 200
    limits.headerBytes = 400
    limits.bodyBytes = 50
    limits.fields = 10
    return limits
}()
private let authority = LoopbackAuthority(host: "127.0.0.1", port: 80)

/// Returns the first request or the rejection after the bytes arrive in pieces.
private func outcome(_ bytes: [UInt8], pieces: [Int]) -> Result<
    LoopbackRequestReader.Step, LoopbackRequestReader.Rejection
> {
    var reader = LoopbackRequestReader(limits: limits, authority: authority)
    var buffer: [UInt8] = []
    var last = LoopbackRequestReader.Step.more
    for end in pieces + [bytes.count] where end > buffer.count {
        buffer += bytes[buffer.count..<end]
        do throws(LoopbackRequestReader.Rejection) {
            last = try reader.read(buffer)
            if case .request = last { return .success(last) }
        } catch {
            return .failure(error)
        }
    }
    return .success(last)
}

@Test func `the split of the bytes does not change the result`() {
    var numbers = FixedNumbers(state: 7)
    let good = Array("POST /a?b=c HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nX-Y: z\r\n\r\nhello".utf8)
    let alphabet = Array("\r\n :/?%#0aZ\u{0}\u{7F}".utf8) + [0x80, 0xFF]
    var accepted = 0
    for _ in 0..<5_000 {
        var bytes = good
        for _ in 0..<Int.random(in: 0...3, using: &numbers) {
            let at = Int.random(in: 0..<bytes.count, using: &numbers)
            let byte = alphabet[Int.random(in: 0..<alphabet.count, using: &numbers)]
            switch Int.random(in: 0..<4, using: &numbers) {
            case 0: bytes[at] = byte
            case 1: bytes.insert(byte, at: at)
            case 2: bytes.remove(at: at)
            default: bytes.insert(contentsOf: repeatElement(byte, count: 150), at: at)
            }
        }
        let pieces = (0..<4).map { _ in Int.random(in: 0...bytes.count, using: &numbers) }.sorted()
        let whole = outcome(bytes, pieces: [])
        let cut = outcome(bytes, pieces: pieces)
        let single = outcome(bytes, pieces: Array(0..<bytes.count))
        // With pieces, a rejection can come sooner and for an earlier error, but a request is the same.
        if case .success(let step) = whole {
            #expect(cut == .success(step) && single == .success(step))
            if case .request = step { accepted += 1 }
        } else {
            #expect((try? cut.get()) == nil && (try? single.get()) == nil)
        }
    }
    #expect(accepted > 500 && accepted < 4_500)
}

@Test func `on port 80 the Host field may omit the port`() {
    #expect(authority.contains("127.0.0.1") && authority.contains("127.0.0.1:80"))
    let six = LoopbackAuthority(host: "::1", port: 8080)
    #expect(six.contains("[::1]:8080") && !six.contains("[::1]") && !six.contains("127.0.0.1:8080"))
}

/// A random number generator with a fixed seed.
private struct FixedNumbers: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state ^ (state >> 29)
    }
}

@Test func `a request at a limit is accepted, and one above it rejected, wherever the bytes are split`() {
    let start = Array("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n".utf8), end = Array("\r\n".utf8)
    func fields(_ count: Int) -> [UInt8] { start + (0..<count - 1).flatMap { _ in Array("A:\r\n".utf8) } + end }
    func head(_ size: Int) -> [UInt8] {
        start + Array("A: \(String(repeating: "b", count: size - start.count - 3))\r\n".utf8) + end
    }
    func target(_ size: Int) -> [UInt8] {
        let line = "GET /\(String(repeating: "a", count: size - 14)) HTTP/1.1\r\n"
        return Array(line.utf8) + start.dropFirst(16) + end
    }
    // The line ending of the last line does not count.
    let rows: [(bytes: [UInt8], status: Int?)] = [
        (fields(limits.fields), nil), (fields(limits.fields + 1), 431),
        (head(limits.headerBytes), nil), (head(limits.headerBytes + 1), 431),
        (target(limits.requestLineBytes), nil), (target(limits.requestLineBytes + 1), 414),
    ]
    for (bytes, status) in rows {
        for end in 0...bytes.count {
            switch outcome(bytes, pieces: [end]) {
            case .success(let step): if case .request = step { #expect(status == nil) } else { Issue.record("\(step)") }
            case .failure(let rejection): #expect(rejection.status == status, "\(end) of \(bytes.count)")
            }
        }
    }
}
