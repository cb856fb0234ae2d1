import StrictJSON

/// Changes of a settings file that preserve its other text, with comments and layout.
package enum SettingsEdit {
    /// Returns the text of a settings file with an additional type.
    ///
    /// - Parameter bytes: The current text, or `nil` if there is no file yet.
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
        guard let dictionary = typesLayout(bytes) else { throw unreadable(file) }
        var member: [UInt8] = []
        JSONValue.string(name).write(to: &member)
        member += Array(": ".utf8)
        JSONValue.object(type).write(to: &member, .indented, indent: 2)
        var result = bytes
        let closing = dictionary.end
        if let last = dictionary.members.last {
            // Insert the comma immediately after the last value, before a comment about it.
            let ending = Self.lineBreakBefore(closing, in: bytes) ?? closing
            result.insert(
                contentsOf: Array("\n    ".utf8) + member + (ending == closing ? Array("\n  ".utf8) : []), at: ending)
            result.insert(UInt8(ascii: ","), at: last.range.upperBound)
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
        guard let dictionary = typesLayout(bytes), var result = removing(name, of: dictionary, in: bytes) else {
            throw unreadable(file)
        }
        var expected = before
        expected["types"] = .object(JSONObject(types.members.filter { $0.name != name }))
        if before["defaultType"]?.string == name {
            guard let top = try? JSONObjectLayout(result), let remaining = removing("defaultType", of: top, in: result)
            else { throw unreadable(file) }
            result = remaining
            expected["defaultType"] = nil
        }
        return try checked(result, expected, file)
    }

    /// Returns the text of a settings file in which a key of the file has a value.
    ///
    /// - Throws: ``SettingsError`` if the file is not nested JSON.
    package static func setting(
        _ key: String, to value: JSONValue, in bytes: [UInt8], file: String
    ) throws(SettingsError) -> [UInt8] {
        let (before, _) = try nested(bytes, file)
        guard let top = try? JSONObjectLayout(bytes) else { throw unreadable(file) }
        var expected = before
        var result = bytes
        if let member = top.members.first(where: { $0.name == key }) {
            result.replaceSubrange(member.value..<member.range.upperBound, with: value.serialized())
            expected[key] = value
        } else {
            // Before the first member: a comment after the last one can belong to it.
            guard let first = top.members.first else { throw unreadable(file) }
            let start = first.range.lowerBound
            let separator = lineBreakBefore(start, in: bytes).map { bytes[$0..<start] } ?? [0x20]
            result.insert(
                contentsOf: JSONValue.string(key).serialized() + Array(": ".utf8) + value.serialized() + Array(",".utf8)
                    + separator, at: start)
            expected = JSONObject([JSONObject.Member(name: key, value: value)] + before.members)
        }
        return try checked(result, expected, file)
    }

    /// Returns the text without a member and its comma, and without its line if the line has no other text.
    private static func removing(_ name: String, of dictionary: JSONObjectLayout, in bytes: [UInt8]) -> [UInt8]? {
        guard let index = dictionary.members.firstIndex(where: { $0.name == name }) else { return nil }
        let member = dictionary.members[index]
        var range = member.range.lowerBound..<(member.comma.map { $0 + 1 } ?? member.range.upperBound)
        if let lineBreak = lineBreakBefore(range.lowerBound, in: bytes) {
            // Preserve the line break before the member: it may end a comment.
            let lineStart = bytes[lineBreak...].firstIndex(of: 0x0A).map { $0 + 1 } ?? range.lowerBound
            var end = range.upperBound
            while end < bytes.count, [0x20, 0x09, 0x0D].contains(bytes[end]) { end += 1 }
            if end < bytes.count, bytes[end] == 0x0A { range = lineStart..<(end + 1) }
        }
        var result = bytes
        result.removeSubrange(range)
        if member.comma == nil, index > 0, let comma = dictionary.members[index - 1].comma { result.remove(at: comma) }
        return result
    }

    private static func typesLayout(_ bytes: [UInt8]) -> JSONObjectLayout? {
        guard let types = try? JSONObjectLayout(bytes).members.first(where: { $0.name == "types" }) else { return nil }
        return try? JSONObjectLayout(bytes, at: types.value)
    }

    private static func nested(
        _ bytes: [UInt8], _ file: String
    ) throws(SettingsError) -> (whole: JSONObject, types: JSONObject) {
        guard !PropertyList.isPropertyList(bytes) else {
            throw SettingsError(
                file: file, expected: "JSON", found: "a property list, which cannot be edited",
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
            file: file, expected: "a layout that can be edited", found: "another one",
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
