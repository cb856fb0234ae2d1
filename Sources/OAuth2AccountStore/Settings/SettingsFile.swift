import StrictJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// From a file to one value, whichever of the two formats it has.
enum SettingsFile {
    static func read(_ path: String) throws(SettingsError) -> [UInt8] {
        switch PrivateFile.read(path, maximumSize: Settings.maximumSize) {
        case .success(let bytes): return bytes
        case .failure(let failure):
            throw SettingsError(file: path, expected: "a readable settings file", found: failure.explanation)
        }
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
            return try JSONValue(parsing: bytes, options: .init(allowsComments: true, refusesDuplicates: true))
        } catch {
            let line = bytes.prefix(error.offset).count { $0 == 0x0A } + 1
            throw SettingsError(
                file: file, expected: "JSON or a property list", found: "\(error.reason) on line \(line)")
        }
    }

    private static func propertyList(_ bytes: [UInt8], _ file: String) throws(SettingsError) -> JSONValue {
        do {
            return try PropertyListDecoder().decode(PropertyListValue.self, from: Data(bytes)).json
        } catch let error as DecodingError {
            var reason = "a property list that cannot be read"
            if case .dataCorrupted(let context) = error, !context.codingPath.isEmpty {
                reason += " at " + context.codingPath.map(\.stringValue).joined(separator: ".")
            }
            throw SettingsError(file: file, expected: "a well-formed property list", found: reason)
        } catch {
            throw SettingsError(
                file: file, expected: "a well-formed property list", found: "a property list that cannot be read")
        }
    }
}

/// Any value of a property list, as the JSON value it corresponds to.
private struct PropertyListValue: Decodable {
    let json: JSONValue

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
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
