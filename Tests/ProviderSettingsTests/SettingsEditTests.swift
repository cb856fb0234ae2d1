import Foundation
import HTTPExchange
import OAuth2Protocol
import StrictJSON
import Testing

@testable import ProviderSettings
import LodgePlatform

@Suite struct SettingsEditTests {
    private static let type: JSONObject = ["issuer": "https://id.example", "clientId": "c"]

    private func object(_ bytes: [UInt8]) throws -> JSONObject {
        try #require(
            try JSONValue(parsing: bytes, options: .init(allowsComments: true, rejectsDuplicates: true)).object)
    }

    static let texts = [
        #"{"types": {}}"#, #"{"types":{"a":{}}}"#, "{\r\n  \"types\": {\r\n    \"a\": {}\r\n  }\r\n}\r\n",
        "\u{FEFF}{\"types\": {\"a\": {\"x\": [1, {\"y\": \"}\"}], \"z\": null}}, \"n\": -1.5e3, \"t\": true}",
        "{ // one }\n \"x\": \"/* no comment \\\" */\", \"types\" /* two */ : /* three { */ { // four\n \"a\" : { } // five\n } // six\n }",
        "{\"types\": {\"a\": {\"types\": {\"b\": 1}}, /* } */ \"b\\u0063\": {} /* , */ }, \"defaultType\": \"a\"}",
        "{\"types\":\n{\n\"a\": {},\n// about b\n\"b\": {} }\n}",
    ]

    @Test(arguments: texts)
    func `adding and removing a type changes one member and keeps all other text`(text: String) throws {
        let before = try object(Array(text.utf8))
        let added = try SettingsEdit.adding("new", Self.type, to: Array(text.utf8), file: "f")
        var expected = before
        var types = try #require(before["types"]?.object)
        types.append("new", .object(Self.type))
        expected["types"] = .object(types)
        #expect(try object(added) == expected)
        // Every byte of the old text remains, in order.
        var rest = added[...]
        for byte in text.utf8 {
            let location = try #require(rest.firstIndex(of: byte), "a byte of the old text is missing")
            rest = rest[(location + 1)...]
        }
        let removed = try SettingsEdit.removing("new", from: added, file: "f")
        #expect(try object(removed) == before)
        for comment in ["// one }", "/* two */", "// five", "// six", "/* } */", "// about b"]
        where text.contains(comment) {
            #expect(String(decoding: removed, as: UTF8.self).contains(comment))
        }
        for member in before["types"]?.object?.members ?? [] {
            let less = try object(try SettingsEdit.removing(member.name, from: Array(text.utf8), file: "f"))
            #expect(
                less["types"]?.object?.members.map(\.name)
                    == types.members.map(\.name).filter { ![member.name, "new"].contains($0) })
            #expect(
                (less["defaultType"] == nil)
                    == (before["defaultType"] == nil || before["defaultType"]?.string == member.name))
        }
    }

    @Test(arguments: [
        "", "{", "[]", "{}", #"{"types": []}"#, #"{"types": {}, "types": {}}"#, "<plist/>", #"{"clientId": "a"}"#,
    ])
    func `only a file with nested settings can be edited`(text: String) {
        #expect(throws: SettingsError.self) { try SettingsEdit.adding("a", Self.type, to: Array(text.utf8), file: "f") }
        #expect(throws: SettingsError.self) { try SettingsEdit.removing("a", from: Array(text.utf8), file: "f") }
    }

    @Test func `an edit keeps the mode and the link of the file, and a secret changes the mode to 0600`()
        async throws
    {
        let folder = FileManager.default.temporaryDirectory.appending(path: "settings-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func mode(_ path: String) throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        }
        let real = folder.appending(path: "real.json").path
        let link = folder.appending(path: "settings.json").path
        try "one".write(toFile: real, atomically: false, encoding: .utf8)
        try #require(chmod(real, 0o640) == 0)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: real)
        try await change(link) { _ in .text(Array("two".utf8), holdsSecret: false) }
        #expect(try String(contentsOfFile: real, encoding: .utf8) == "two")
        #expect(try mode(real) == 0o640)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == real)
        try await change(link) { _ in .text(Array("three".utf8), holdsSecret: true) }
        #expect(try mode(real) == 0o600)
        let new = folder.appending(path: "a/b/settings.json").path
        try await change(new) { old in
            #expect(old == nil)
            return .text(Array("new".utf8), holdsSecret: false)
        }
        #expect(try mode(new) == 0o600 && mode(folder.appending(path: "a").path) == 0o700)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == [
                "a", "real.json", "settings.json",
            ])
    }

    private func change(
        _ path: String, _ edit: @escaping @Sendable ([UInt8]?) async throws -> SettingsEdit.Outcome
    ) async throws {
        try await SettingsEdit.change(
            path, suffix: UUID().uuidString, sleep: { try await Task.sleep(for: $0) }, by: edit)
    }

    @Test func `concurrent edits are all saved`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "settings-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "settings.json").path
        let link = folder.appending(path: "link/settings.json").path
        try FileManager.default.createDirectory(
            at: folder.appending(path: "link"), withIntermediateDirectories: true)
        let names = (0..<24).map { "type\($0)" }
        for (half, location) in [(names[..<12], path), (names[12...], link)] {
            if location == link {
                try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
            }
            try await withThrowingTaskGroup { group in
                for (number, name) in half.enumerated() {
                    group.addTask {
                        try await change(number.isMultiple(of: 2) ? path : location) { old in
                            // Let other tasks run between reading and writing.
                            for _ in 0..<10 { await Task.yield() }
                            return .text(
                                try SettingsEdit.adding(name, Self.type, to: old, file: path), holdsSecret: false)
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
        let bytes = try #require(try SettingsEdit.read(path))
        let types = try #require(try JSONValue(parsing: bytes).object?["types"]?.object)
        #expect(Set(types.members.map(\.name)) == Set(names))
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == path)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["link", "settings.json"])
    }

    @Test func `an edit starts again, a limited number of times, if a program without the lock changes the file`()
        async throws
    {
        let folder = FileManager.default.temporaryDirectory.appending(path: "settings-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "settings.json").path
        try "0".write(toFile: path, atomically: false, encoding: .utf8)
        try await change(path) { old in
            // An editor saves the file once.
            if old == Array("0".utf8) { try "1".write(toFile: path, atomically: false, encoding: .utf8) }
            return .text((old ?? []) + Array("+".utf8), holdsSecret: false)
        }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "1+")
        let error = await #expect(throws: SettingsError.self) {
            try await change(path) { old in
                try ((old ?? []) + [0x2E]).withUnsafeBytes { try Data($0).write(to: URL(filePath: path)) }
                return .text([], holdsSecret: false)
            }
        }
        #expect(error?.found == "another text" && error?.hint?.description.contains("try again") == true)
        #expect(try String(contentsOfFile: path, encoding: .utf8).hasPrefix("1+."))
        // The file is removed and replaced by a symbolic link to a missing file.
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "nowhere")
        let link = await #expect(throws: SettingsError.self) {
            try await change(path) { _ in .text([0x7B], holdsSecret: false) }
        }
        #expect(link?.found == "a link to a file that does not exist")
    }
}
