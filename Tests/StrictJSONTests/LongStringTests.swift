import StrictJSON
import Testing

/// Tests special characters at each position, because strings are read in chunks of several bytes.
@Suite struct LongStringTests {
    private static let lengths = 1...40

    private func text(_ length: Int, _ filler: UInt8, _ byte: UInt8, at location: Int) -> [UInt8] {
        var content = [UInt8](repeating: filler, count: length)
        content[location] = byte
        return [0x22] + content + [0x22]
    }

    @Test func `a control character is rejected at any position`() {
        for length in Self.lengths {
            for location in 0..<length {
                for byte: UInt8 in [0x00, 0x01, 0x0A, 0x1F] {
                    #expect(throws: JSONError.self) { try JSONValue(parsing: text(length, 0x61, byte, at: location)) }
                }
            }
        }
    }

    @Test func `the first quote ends a string at any position`() {
        for length in Self.lengths {
            for location in 0..<length {
                let bytes = text(length, 0x61, 0x22, at: location)
                #expect(throws: JSONError.self) { try JSONValue(parsing: bytes) }
                let whole = Array(bytes[...(location + 1)])
                #expect((try? JSONValue(parsing: whole)) == .string(String(repeating: "a", count: location)))
            }
        }
    }

    @Test func `an escape is decoded at any position`() throws {
        for length in Self.lengths {
            for location in 0..<length {
                var content = [UInt8](repeating: 0x7F, count: length)
                content.replaceSubrange(location...location, with: Array(#"\u00e9"#.utf8))
                let value = try JSONValue(parsing: [0x22] + content + [0x22])
                let filler = { String(repeating: "\u{7F}", count: $0) }
                #expect(value == .string(filler(location) + "é" + filler(length - location - 1)))
            }
        }
    }

    @Test func `a string may contain bytes that resemble quotes, backslashes or control characters`() throws {
        // Bytes that differ by one bit or one, and bytes whose highest bit is set.
        for byte: UInt8 in [0x20, 0x21, 0x23, 0x5B, 0x5D, 0x7F] {
            for length in Self.lengths {
                let content = String(repeating: Character(Unicode.Scalar(byte)), count: length)
                #expect(try JSONValue(parsing: "\"\(content)\"") == .string(content))
            }
        }
        let content = String(repeating: "é\u{80}\u{A2}\u{FF}ü", count: 20)
        #expect(try JSONValue(parsing: "\"\(content)\"") == .string(content))
    }

    @Test(arguments: [2, 24, 25, 60])
    func `duplicate names are found in objects of any size`(count: Int) throws {
        let names = (0..<count).map { "name\($0)" }
        func object(_ names: [String]) throws -> JSONObject? {
            try JSONValue(parsing: "{" + names.map { "\"\($0)\":1" }.joined(separator: ",") + "}").object
        }
        #expect(try object(names)?.duplicatedNames == [])
        #expect(try object(names + ["name1", "name0", "name1"])?.duplicatedNames == ["name1", "name0", "name1"])
    }
}
