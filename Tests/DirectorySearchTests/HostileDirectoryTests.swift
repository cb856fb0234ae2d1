import Foundation
import HTTPExchange
import StrictJSON
import Testing

@testable import DirectorySearch

/// Creates strings of special scalars: quotes, percent signs, combining marks, controls and several scripts.
private func strange(_ count: Int) -> [String] {
    let scalars: [Unicode.Scalar] = [
        "'", "\"", "\\", "%", "+", "&", "#", "?", "/", "=", ";", ",", "(", ")", "$", "@", ".", " ", "\u{0}", "\n",
        "\u{301}",
        "\u{200D}", "\u{202E}", "\u{FEFF}", "\u{FFFF}", "é", "ß", "İ", "李", "👩", "\u{10FFFF}", "a", "Z", "7", "*", ":",
        "<",
    ]
    return (0..<count).map { _ in
        String(String.UnicodeScalarView((0..<Int.random(in: 1...8)).compactMap { _ in scalars.randomElement() }))
    }
}

/// Decodes percent-encoded text. Foundation's decoder drops a byte order mark.
private func decoded(_ text: some StringProtocol) -> String {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
        if byte == UInt8(ascii: "%"), let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) {
            bytes.append(value)
            rest = rest.dropFirst(2)
        } else {
            bytes.append(byte)
        }
    }
    return String(decoding: bytes, as: UTF8.self)
}

@Suite struct HostileDirectoryTests {
    @Test func `any name stays one path segment and decodes to the same scalars`() async throws {
        for name in strange(2000) {
            let part = BatchPart<JSONObject>(get: ["users", name, "photo"], options: ["$select": name])
            guard case .success(let question) = part.item else {
                #expect([".", ".."].contains(name), "\(name.debugDescription)")
                continue
            }
            let halves = question.target.split(separator: "?", omittingEmptySubsequences: false)
            #expect(halves.count == 2)
            let segments = halves[0].split(separator: "/", omittingEmptySubsequences: false)
            #expect(segments.count == 3)
            let back = decoded(segments[1])
            #expect(back.unicodeScalars.elementsEqual(name.unicodeScalars), "\(name.debugDescription)")
            let value = halves[1].dropFirst("$select=".count)
            #expect(!value.contains("&") && !value.contains("+") && !value.contains("#"))
            #expect(decoded(value).unicodeScalars.elementsEqual(name.unicodeScalars))
            #expect(question.target.utf8.allSatisfy { (0x21...0x7E).contains($0) })
        }
    }

    @Test func `any filter text is one literal, in a count and in a list`() throws {
        for text in strange(2000) where !text.isBlank {
            let query = UserQuery(.surname(startsWith: text))
            let (list, count) = (try query.plan().target, try query.countPlan().target)
            let option = try #require(list.split(separator: "?")[1].split(separator: "&").first)
            #expect(count == "users/$count?\(option)")
            let filter = decoded(option.dropFirst("$filter=".count))
            let inner = filter.utf8.dropFirst("startswith(surname,'".utf8.count).dropLast("')".utf8.count)
            // Undoubling consumes every quote.
            let undoubled = String(decoding: inner, as: UTF8.self).unicodeScalars.reduce(
                into: (out: [Unicode.Scalar](), open: false)
            ) {
                if $1 == "'" { $0.open.toggle() }
                if $1 != "'" || !$0.open { $0.out.append($1) }
            }
            #expect(!undoubled.open && undoubled.out.elementsEqual(text.unicodeScalars), "\(text.debugDescription)")
        }
    }

    @Test func `a malformed batch response does not crash, and every part has a result`() async throws {
        let pieces = [
            #"{"id":"0","status":200,"body":{"id":"x"}}"#, #"{"id":"0","status":200,"body":[]}"#,
            #"{"id":"1","status":429}"#,
            #"{"id":"1","status":"200"}"#, #"{"id":1,"status":200}"#, #"{"id":"1","status":401,"headers":[]}"#,
            #"{"id":"2","status":200,"headers":{"Retry-After":-1,"Content-Type":null}}"#,
            #"{"id":"2","status":200,"body":"x"}"#,
            #"{"id":"99","status":200}"#, "null", "[]", #"{"id":"2","status":99}"#, #"{"id":"2","status":503}"#, "{}",
        ]
        for _ in 0..<300 {
            let chosen = (0..<Int.random(in: 0...5)).compactMap { _ in pieces.randomElement() }
            let transport = ScriptedTransport { _ in .json(#"{"responses":[\#(chosen.joined(separator: ","))]}"#) }
            let directory = GraphDirectory(client: try client(transport))
            let names = ["a", "", "b", "c"]
            let found = try? await directory.batch(names.map { .user($0) })
            #expect(found.map { $0.count == names.count } ?? true)
            if let found, case .failure(let error) = found[1] { #expect(error.kind == .emptySearch) }
            #expect(transport.requests.count <= 6)
        }
    }

    @Test func `an abandoned search sends no more requests`() async throws {
        let transport = ScriptedTransport { request in
            .page(["\(UUID())"], next: "\(graph)/users?p=\(UUID())")
        }
        let directory = GraphDirectory(client: try client(transport))
        var count = 0
        for try await _ in directory.users(matching: .everyone()) {
            count += 1
            if count == 5 { break }
        }
        // The search prefetches one page at most.
        #expect(transport.requests.count <= 6)
        let task = Task {
            var seen = 0
            for try await _ in directory.users(matching: .everyone()) {
                seen += 1
                if seen == 3 { withUnsafeCurrentTask { $0?.cancel() } }
            }
            return seen
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func `cancelled counts, chains and lookups throw CancellationError`() async throws {
        var client = try client(ScriptedTransport { _ in .failure(429, ["Retry-After": "1"]) })
        client.sleep = { _ in try await Task.sleep(for: .seconds(3600)) }
        let directory = GraphDirectory(client: client)
        let tasks: [Task<Void, any Error>] = [
            Task { _ = try await directory.count(of: .everyone()) }, Task { _ = try await directory.managers(of: "a") },
            Task { _ = try await directory.lookUp(["a", "b"]).collected() },
            Task { _ = try await directory.detail(of: "a") },
        ]
        for task in tasks {
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }
}
