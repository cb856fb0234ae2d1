import StrictJSON

/// Changes of a settings file that preserve its other text, with comments and layout.
package enum SettingsEdit {
    /// Returns the text of a settings file with an additional type.
    ///
    /// - Parameter bytes: The present text, or `nil` if there is no file yet.
    /// - Throws: ``SettingsError`` if the file is not nested JSON, has a type of this name, or would lose other settings.
    package static func adding(
        _ name: String, _ type: JSONObject, to bytes: [UInt8]?, file: String
    ) throws(SettingsError) -> [UInt8] {
        guard let bytes else {
            return JSONValue.object(["types": .object([name: .object(type)])]).serialized(.indented) + [0x0A]
        }
        let (before, types) = try nested(bytes, file)
        guard types[name] == nil else {
            throw SettingsError(
                file: file, key: "types.\(name)", expected: "no type of this name", found: "one",
                hint: "choose another name, or \(SettingsRemedy.removeType(name))")
        }
        var text = SettingsText(bytes)
        guard let dictionary = text.dictionary("types") else { throw unreadable(file) }
        var member: [UInt8] = []
        JSONValue.string(name).write(to: &member)
        member += Array(": ".utf8)
        JSONValue.object(type).write(to: &member, .indented, indent: 2)
        var result = bytes
        let closing = dictionary.close
        if let last = dictionary.members.last {
            // Insert the comma immediately after the last value, before a comment about it.
            let ending = Self.lineBreakBefore(closing, in: bytes) ?? closing
            result.insert(
                contentsOf: Array("\n    ".utf8) + member + (ending == closing ? Array("\n  ".utf8) : []), at: ending)
            result.insert(UInt8(ascii: ","), at: last.valueEnd)
        } else {
            result.insert(contentsOf: Array("\n    ".utf8) + member + Array("\n  ".utf8), at: closing)
        }
        var expected = before
        var whole = types
        whole.append(name, .object(type))
        expected["types"] = .object(whole)
        return try checked(result, expected, file)
    }

    /// Returns the text of a settings file without a type, and without a `defaultType` of that name.
    ///
    /// - Throws: ``SettingsError`` if the file is not nested JSON or does not have that type.
    package static func removing(
        _ name: String, from bytes: [UInt8], file: String
    ) throws(SettingsError) -> [UInt8] {
        let (before, types) = try nested(bytes, file)
        guard types[name] != nil else {
            throw SettingsError(
                file: file, key: "types.\(name)", expected: "a type of this name", found: "nothing")
        }
        var text = SettingsText(bytes)
        guard let dictionary = text.dictionary("types"), var result = removing(name, of: dictionary, in: bytes) else {
            throw unreadable(file)
        }
        var expected = before
        expected["types"] = .object(JSONObject(types.members.filter { $0.name != name }))
        if before["defaultType"]?.string == name {
            text = SettingsText(result)
            guard let top = text.top(), let rest = removing("defaultType", of: top, in: result) else {
                throw unreadable(file)
            }
            result = rest
            expected["defaultType"] = nil
        }
        return try checked(result, expected, file)
    }

    /// Returns the text without a member, its comma, and its line if it has no other text.
    private static func removing(_ name: String, of dictionary: SettingsText.Dictionary, in bytes: [UInt8]) -> [UInt8]?
    {
        guard let index = dictionary.members.firstIndex(where: { $0.name == name }) else { return nil }
        let member = dictionary.members[index]
        var range = member.start..<(member.comma.map { $0 + 1 } ?? member.valueEnd)
        if let lineBreak = lineBreakBefore(member.start, in: bytes) {
            // Do not remove the line break before it, which may end a comment.
            let lineStart = bytes[lineBreak...].firstIndex(of: 0x0A).map { $0 + 1 } ?? member.start
            var end = range.upperBound
            while end < bytes.count, [0x20, 0x09, 0x0D].contains(bytes[end]) { end += 1 }
            if end < bytes.count, bytes[end] == 0x0A { range = lineStart..<(end + 1) }
        }
        var result = bytes
        result.removeSubrange(range)
        if member.comma == nil, index > 0, let comma = dictionary.members[index - 1].comma { result.remove(at: comma) }
        return result
    }

    private static func nested(
        _ bytes: [UInt8], _ file: String
    ) throws(SettingsError) -> (whole: JSONObject, types: JSONObject) {
        guard !SettingsFile.isPropertyList(bytes) else {
            throw SettingsError(
                file: file, expected: "JSON", found: "a property list, which is not edited here",
                hint: "add or remove the type in the file yourself, or write a settings.json")
        }
        let whole = try SettingsFile.parse(bytes, file: file)
        guard let types = whole["types"]?.object else {
            throw SettingsError(
                file: file, key: "types", expected: "a dictionary of account types",
                found: whole["types"]?.kind ?? "the flat form, which has one type",
                hint:
                    "write its keys into {\"types\": {\"\(Settings.flatTypeName)\": {…}}}, or \(SettingsRemedy.chooseFile)"
            )
        }
        return (whole, types)
    }

    private static func checked(
        _ result: [UInt8], _ expected: JSONObject, _ file: String
    ) throws(SettingsError) -> [UInt8] {
        guard let found = try? SettingsFile.parse(result, file: file), found == expected else { throw unreadable(file) }
        return result
    }

    private static func unreadable(_ file: String) -> SettingsError {
        SettingsError(
            file: file, expected: "a layout that can be edited without losing anything", found: "another one",
            hint: "edit the file yourself")
    }

    /// Returns the index of the line break before a position, or `nil` if there is other text between them.
    private static func lineBreakBefore(_ location: Int, in bytes: [UInt8]) -> Int? {
        var index = location
        while index > 0, [0x20, 0x09, 0x0D].contains(bytes[index - 1]) { index -= 1 }
        guard index > 0, bytes[index - 1] == 0x0A else { return nil }
        index -= 1
        if index > 0, bytes[index - 1] == 0x0D { index -= 1 }
        return index
    }
}

/// A scanner for the positions in a JSON text with comments. The text was parsed before; the scanner never reads past its end.
private struct SettingsText {
    struct Member {
        var name: String
        var start: Int
        var value: Int
        var valueEnd: Int
        var comma: Int?
    }
    struct Dictionary {
        var close: Int
        var members: [Member]
    }

    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func top() -> Dictionary? {
        position = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        skipSpace()
        return dictionary()
    }

    /// Returns the dictionary of a member of the outermost one.
    mutating func dictionary(_ name: String) -> Dictionary? {
        guard let member = top()?.members.first(where: { $0.name == name }) else { return nil }
        position = member.value
        return dictionary()
    }

    private var byte: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func dictionary() -> Dictionary? {
        guard byte == UInt8(ascii: "{") else { return nil }
        position += 1
        var members: [Member] = []
        while true {
            skipSpace()
            if byte == UInt8(ascii: "}") {
                position += 1
                return Dictionary(close: position - 1, members: members)
            }
            let start = position
            guard skipString(), let name = (try? JSONValue(parsing: bytes[start..<position]))?.string else {
                return nil
            }
            skipSpace()
            guard byte == UInt8(ascii: ":") else { return nil }
            position += 1
            skipSpace()
            let value = position
            guard skipValue() else { return nil }
            var member = Member(name: name, start: start, value: value, valueEnd: position)
            skipSpace()
            if byte == UInt8(ascii: ",") {
                member.comma = position
                position += 1
            }
            members.append(member)
        }
    }

    private mutating func skipValue() -> Bool {
        var depth = 0
        while let byte {
            switch byte {
            case UInt8(ascii: "\""):
                guard skipString() else { return false }
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                position += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                guard depth > 0 else { return true }
                depth -= 1
                position += 1
            case UInt8(ascii: ","), UInt8(ascii: ":"):
                guard depth > 0 else { return true }
                position += 1
            case UInt8(ascii: "/"), 0x20, 0x09, 0x0A, 0x0D:
                guard depth > 0 else { return true }
                skipSpace()
                continue
            default: position += 1
            }
            // A string, a dictionary or a list ends with its last byte; a number or a word with the next one.
            if depth == 0, let last = bytes[..<position].last, [UInt8(ascii: "\""), 0x7D, 0x5D].contains(last) {
                return true
            }
        }
        return depth == 0
    }

    private mutating func skipString() -> Bool {
        guard byte == UInt8(ascii: "\"") else { return false }
        position += 1
        while let byte {
            position = min(position + (byte == UInt8(ascii: "\\") ? 2 : 1), bytes.count)
            if byte == UInt8(ascii: "\"") { return true }
        }
        return false
    }

    private mutating func skipSpace() {
        while let byte {
            if [0x20, 0x09, 0x0A, 0x0D].contains(byte) {
                position += 1
            } else if byte == UInt8(ascii: "/"), position + 1 < bytes.count {
                if bytes[position + 1] == UInt8(ascii: "/") {
                    while let byte = self.byte, byte != 0x0A { position += 1 }
                } else {
                    position += 2
                    while position + 1 < bytes.count, bytes[position...].prefix(2) != Array("*/".utf8)[...] {
                        position += 1
                    }
                    position = min(position + 2, bytes.count)
                }
            } else {
                return
            }
        }
    }
}
