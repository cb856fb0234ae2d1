import Foundation
import StrictJSON
import Synchronization
import TestSupport
import Testing

@testable import LoopbackHTTP

/// A case of loopback-requests.json.
struct LoopbackCase: Sendable, CustomTestStringConvertible {
    let id: String
    let title: String
    let input: JSONObject
    let expect: JSONObject
    let alsoAcceptable: JSONObject?

    var testDescription: String { "\(id) \(title)" }

    static let all: [LoopbackCase] = {
        guard let cases = try? VectorFile.object("loopback-requests.json")["cases"]?.array else { return [] }
        return cases.compactMap { value in
            guard let object = value.object, let id = object["id"]?.string, let title = object["title"]?.string,
                let input = object["input"]?.object, let expect = object["expect"]?.object
            else { return nil }
            return LoopbackCase(
                id: id, title: title, input: input, expect: expect,
                alsoAcceptable: object["also_acceptable"]?.object)
        }
    }()

    /// Returns the bytes to send to a listener on this port.
    func bytes(port: UInt16) throws -> [UInt8] {
        if let encoded = input["raw_base64"]?.string {
            let text = String(decoding: try #require(Data(base64Encoded: encoded)), as: UTF8.self)
            guard text.contains("51004") else { return Array(try #require(Data(base64Encoded: encoded))) }
            // Not valid UTF-8: replace the port in the bytes.
            var bytes = Array(try #require(Data(base64Encoded: encoded)))
            let old = Array("51004".utf8)
            let at = try #require(bytes.indices.first { bytes[$0...].starts(with: old) })
            bytes.replaceSubrange(at..<(at + old.count), with: Array("\(port)".utf8))
            return bytes
        }
        var raw = try #require(input["raw"]?.string)
        if let open = raw.range(of: "<"), let close = raw.range(of: ">") {
            let parts = raw[open.upperBound..<close.lowerBound].components(separatedBy: " x ")
            if parts.count == 2, let count = Int(parts[0]) {
                let text = parts[1].replacingOccurrences(of: "\"", with: "")
                raw.replaceSubrange(open.lowerBound..<close.upperBound, with: String(repeating: text, count: count))
            }
        }
        return Array(raw.replacingOccurrences(of: "51004", with: "\(port)").utf8)
    }
}

/// The redirect endpoint of one sign-in: `/callback`, GET only, one state, once.
final class PlayedRedirect: Sendable {
    let completions = Mutex(0)
    private let completed = Mutex(false)

    func answer(_ request: LoopbackRequest) -> LoopbackResponse {
        guard request.path == "/callback" else { return LoopbackResponse(status: 404, body: Data("not found".utf8)) }
        guard request.method == .get else {
            return LoopbackResponse(status: 405, fields: ["Allow": "GET"], body: Data("GET only".utf8))
        }
        let parameters = (request.query ?? "").split(separator: "&")
        guard parameters.contains("state=af0ifjsldkj"), parameters.contains("code=SplxlOBeZQQYbYS6WxSbIA") else {
            return LoopbackResponse(status: 400, body: Data("not the expected redirect".utf8))
        }
        let first = completed.withLock { completed in
            defer { completed = true }
            return !completed
        }
        if first { completions.withLock { $0 += 1 } }
        guard first else { return LoopbackResponse(status: 400, body: Data("already complete".utf8)) }
        return LoopbackResponse(
            status: 200, fields: ["Content-Type": "text/html; charset=utf-8"], body: Data("<p>Signed in.</p>".utf8))
    }
}

@Test func `the tests cover each published case of the loopback listener`() throws {
    try VectorCoverage.check("loopback-requests", run: LoopbackCase.all.map(\.id))
}

@Test(arguments: LoopbackCase.all)
func `the loopback listener responds as the case expects`(vector: LoopbackCase) async throws {
    let redirect = PlayedRedirect()
    var limits = LoopbackListener.Limits()
    if vector.input["stall_seconds"] != nil { limits.requestTime = .milliseconds(200) }
    let listener = try LoopbackListener(limits: limits) { redirect.answer($0) }
    let port = listener.port
    let bytes = try vector.bytes(port: port)
    let good = "GET /callback?code=SplxlOBeZQQYbYS6WxSbIA&state=af0ifjsldkj HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n"
    if vector.input["after_success"]?.bool == true {
        #expect(try await exchange(port: port, good)?.status == 200)
    }
    let before = redirect.completions.withLock { $0 }

    let statuses = try #require(vector.expect["status"]?.array)
    if vector.input["peer"] != nil {
        // The listener is bound only to 127.0.0.1: other loopback addresses do not reach it.
        #expect(statuses == ["refused"])
        await #expect(throws: RawClientError.self) {
            try await onThread { _ = try RawClient(port: port, address: "127.0.0.2") }
        }
        #expect(try await exchange(port: port, String(decoding: bytes, as: UTF8.self))?.status == 421)
    } else {
        let pieces = vector.input["segment_bytes"]?.number?.int64.map { Int($0) } ?? .max
        let stalls = vector.input["stall_seconds"] != nil
        let received = try await onThread {
            let client = try RawClient(port: port)
            client.send(bytes, pieces: pieces)
            if bytes.isEmpty { client.endSending() }
            if stalls {
                // The valid request completes while this one stalls.
                let other = try RawClient(port: port)
                other.send(good)
                let answer = RawAnswer.parse(try other.receiveAll())?.0
                guard answer?.status == 200 else { throw RawClientError(operation: "second connection", code: 0) }
            }
            return try client.receiveAll()
        }
        let text = String(decoding: received, as: UTF8.self)
        if let answer = RawAnswer.parse(received, hasContent: !bytes.starts(with: Array("HEAD".utf8)))?.0 {
            #expect(statuses.contains { $0.number?.int64 == Int64(answer.status) }, "\(answer.status)")
            expectEveryAnswersFields(answer)
            for name in vector.expect["must_not_send"]?.array ?? [] {
                #expect(answer.field(try #require(name.string)) == nil)
            }
        } else {
            #expect(received.isEmpty)
            #expect(statuses.contains { $0.string == "closed" })
        }
        let named = vector.expect["body_must_not_contain"]?.array?.compactMap(\.string) ?? []
        for forbidden in named + ["<script>", "evil", "SplxlOBeZQQYbYS6WxSbIA", "af0ifjsldkj", "Access-Control"] {
            #expect(!text.contains(forbidden))
        }
    }

    let completed = redirect.completions.withLock { $0 } - before
    let hangs = vector.input["stall_seconds"] != nil
    let effect = completed - (hangs ? 1 : 0) == 1 ? "completed" : "unchanged"
    let alternatives = [vector.expect["login"]?.string, vector.alsoAcceptable?["login"]?.string]
    #expect(alternatives.contains(effect), "\(effect)")
    // The case does not affect the next request.
    #expect(try await exchange(port: port, good) != nil)
}

private func expectEveryAnswersFields(_ answer: RawAnswer) {
    #expect(answer.field("Cache-Control") == "no-store")
    #expect(answer.field("Referrer-Policy") == "no-referrer")
    #expect(answer.field("Content-Type")?.contains("charset=") == true)
    #expect(answer.field("Connection") == "close")
    #expect(answer.field("X-Content-Type-Options") == "nosniff")
    #expect(answer.field("Content-Security-Policy")?.hasPrefix("default-src 'none'") == true)
    #expect(answer.field("Date")?.hasSuffix(" GMT") == true)
}
