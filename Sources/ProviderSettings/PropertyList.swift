import LodgePlatform
import StrictJSON

/// The reason why bytes are not a property list with settings. It never quotes the bytes, which may contain secrets.
struct PropertyListError: Error, Equatable {
    let reason: String
    /// The number of bytes that were read before the error.
    let offset: Int
}

/// Reads property lists as JSON values.
///
/// Foundation's parsers are recursive without a limit, and decode a list again for each list that contains it. A file
/// of 144 bytes exhausts the memory, and nested dictionaries exhaust the stack. These readers take linear time, or
/// reject the file.
enum PropertyList {
    /// The maximum depth of nested dictionaries and lists. Settings need four.
    static let maximumDepth = 32
    /// The maximum number of values.
    static let maximumValues = 100_000

    static func isPropertyList(_ bytes: [UInt8]) -> Bool {
        if isBinary(bytes) { return true }
        let space: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF]
        return bytes.first { !space.contains($0) } == UInt8(ascii: "<")
    }

    static func isBinary(_ bytes: [UInt8]) -> Bool { bytes.starts(with: "bplist".utf8) }

    static func value(of bytes: [UInt8]) throws(PropertyListError) -> JSONValue {
        if isBinary(bytes) {
            var reader = try BinaryPropertyListReader(bytes)
            return try reader.value()
        }
        var reader = XMLPropertyListReader(bytes)
        return try reader.value()
    }

    /// Returns a dictionary. Its members are sorted, because they have no order in a property list.
    static func dictionary(_ members: [JSONObject.Member], at offset: Int) throws(PropertyListError) -> JSONValue {
        let object = JSONObject(members.sorted { $0.name < $1.name })
        guard object.duplicatedNames.isEmpty else {
            throw PropertyListError(reason: "a dictionary with a duplicate key", offset: offset)
        }
        return .object(object)
    }
}

/// The depth and the number of values of a property list that is being read.
struct PropertyListBudget {
    private var depth = 0
    private var values = 0

    mutating func addValue(at offset: Int) throws(PropertyListError) {
        values += 1
        guard values <= PropertyList.maximumValues else {
            throw PropertyListError(reason: "more than \(PropertyList.maximumValues) values", offset: offset)
        }
    }

    mutating func enter(at offset: Int) throws(PropertyListError) {
        depth += 1
        guard depth <= PropertyList.maximumDepth else {
            throw PropertyListError(
                reason: "more than \(PropertyList.maximumDepth) dictionaries and lists in each other", offset: offset)
        }
    }

    mutating func leave() { depth -= 1 }
}
