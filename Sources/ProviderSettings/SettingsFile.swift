import Platform
import StrictJSON

/// Reads a file in one of the two formats.
enum SettingsFile {
    static func read(_ path: String) throws(SettingsError) -> [UInt8] {
        guard let bytes = try readIfPresent(path) else { throw unreadable(path, SystemError(ENOENT)) }
        return bytes
    }

    /// Returns the bytes of the file, or `nil` if it does not exist.
    static func readIfPresent(_ path: String) throws(SettingsError) -> [UInt8]? {
        // The settings decide which server receives refresh tokens.
        var problem: FileAccess.Problem?
        let result = OwnerOnlyFile.read(path, maximumSize: Settings.maximumSize) {
            problem = FileAccess().problem(ofFile: $0, at: path)
        }
        switch result {
        case .success(let bytes):
            guard let problem else { return bytes }
            throw SettingsError(
                file: path, expected: "a settings file that only you and root can change", found: problem.reason,
                hint: problem.command.map { "if the settings are right, run: \($0)" }
                    ?? "if the settings are right, copy them to a new file, and \(SettingsRemedy.chooseFile)")
        case .failure(let failure) where failure.code == ENOENT: return nil
        case .failure(let failure): throw unreadable(path, failure)
        }
    }

    private static func unreadable(_ path: String, _ failure: SystemError) -> SettingsError {
        SettingsError(file: path, expected: "a readable settings file", found: failure.explanation)
    }

    static func parse(_ bytes: [UInt8], file: String) throws(SettingsError) -> JSONObject {
        let value = isPropertyList(bytes) ? try propertyList(bytes, file) : try json(bytes, file)
        guard let object = value.object else {
            throw SettingsError(file: file, expected: "a dictionary of settings", found: value.kind)
        }
        return object
    }

    static func isPropertyList(_ bytes: [UInt8]) -> Bool {
        if bytes.starts(with: "bplist".utf8) { return true }
        let space: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF]
        return bytes.first { !space.contains($0) } == UInt8(ascii: "<")
    }

    private static func json(_ bytes: [UInt8], _ file: String) throws(SettingsError) -> JSONValue {
        do throws(JSONError) {
            return try JSONValue(parsing: bytes, options: .init(allowsComments: true, rejectsDuplicates: true))
        } catch {
            let line = bytes.prefix(error.offset).count { $0 == 0x0A } + 1
            throw SettingsError(
                file: file, expected: "JSON or a property list", found: "\(error.reason) on line \(line)")
        }
    }

    /// The maximum depth of nested dictionaries and lists. Settings need four.
    fileprivate static let maximumDepth = 32

    /// Returns whether dictionaries and lists of an XML property list are nested too deep. Foundation's decoder is recursive and
    /// would exhaust the stack.
    private static func isTooDeep(_ bytes: [UInt8]) -> Bool {
        var depth = 0
        for start in bytes.indices where bytes[start] == UInt8(ascii: "<") {
            let tag = bytes[(start + 1)...].prefix { $0 != UInt8(ascii: ">") }
            let isEnd = tag.first == UInt8(ascii: "/")
            guard tag.last != UInt8(ascii: "/") else { continue }
            let name = tag.dropFirst(isEnd ? 1 : 0)
            guard name.starts(with: "dict".utf8) || name.starts(with: "array".utf8) else { continue }
            depth += isEnd ? -1 : 1
            if depth > maximumDepth { return true }
        }
        return false
    }

    private static func propertyList(_ bytes: [UInt8], _ file: String) throws(SettingsError) -> JSONValue {
        var reason = "more than \(maximumDepth) dictionaries and lists in each other"
        if !isTooDeep(bytes) {
            do {
                return try PropertyListDecoder().decode(PropertyListValue.self, from: Data(bytes)).json
            } catch {
                reason = "a property list that cannot be read"
                if case DecodingError.dataCorrupted(let context) = error, !context.codingPath.isEmpty {
                    reason += " at " + context.codingPath.map(\.stringValue).joined(separator: ".")
                }
            }
        }
        throw SettingsError(file: file, expected: "a well-formed property list", found: reason)
    }
}

/// A value of a property list as a JSON value.
private struct PropertyListValue: Decodable {
    let json: JSONValue

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
        // A list in a binary property list can contain itself.
        guard decoder.codingPath.count <= SettingsFile.maximumDepth else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: [], debugDescription: "too many dictionaries and lists in each other"))
        }
        if let container = try? decoder.container(keyedBy: Key.self) {
            // A property list's dictionaries have no order.
            let keys = container.allKeys.sorted { $0.stringValue < $1.stringValue }
            json = .object(
                JSONObject(
                    try keys.map {
                        JSONObject.Member(
                            name: $0.stringValue, value: try container.decode(PropertyListValue.self, forKey: $0).json)
                    }))
        } else if var container = try? decoder.unkeyedContainer() {
            var elements: [JSONValue] = []
            while !container.isAtEnd { elements.append(try container.decode(PropertyListValue.self).json) }
            json = .array(elements)
        } else {
            let container = try decoder.singleValueContainer()
            if let text = try? container.decode(String.self) {
                json = .string(text)
            } else if let bool = try? container.decode(Bool.self) {
                json = .bool(bool)
            } else if let number = try? container.decode(Int64.self) {
                json = .number(JSONNumber(number))
            } else if let double = try? container.decode(Double.self), let number = JSONNumber(double) {
                json = .number(number)
            } else {
                throw DecodingError.dataCorruptedError(
                    in: container, debugDescription: "a date or data; expected a string, a number or a truth value")
            }
        }
    }
}
