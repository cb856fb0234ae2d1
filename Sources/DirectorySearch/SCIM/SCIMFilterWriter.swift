import LodgePlatform
import StrictJSON

/// Escaping for SCIM. No other code inserts values into a filter.
enum SCIMEscaping {
    /// Returns a value of a filter: a JSON string.
    ///
    /// Escapes only the required characters, because some services do not support other escapes.
    ///
    /// See RFC 7644 section 3.4.2.2 and RFC 8259 section 7.
    static func string(_ text: String) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var bytes: [UInt8] = [UInt8(ascii: "\"")]
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
            case 0..<0x20: bytes += Array("\\u00".utf8) + [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Writes a filter in SCIM syntax. Rejects a filter that SCIM does not support.
///
/// See RFC 7644 section 3.4.2.2.
struct SCIMFilterWriter: LogicWriter {
    private var comparisons = 0

    /// Returns a filter in SCIM syntax.
    ///
    /// - Throws: ``DirectoryError`` of the kind `emptySearch` if a value is empty, `invalidQuery` if SCIM does not
    ///   support the filter.
    static func text(_ filter: UserFilter) throws(DirectoryError) -> String {
        var writer = SCIMFilterWriter()
        return try writer.write(filter.expression, depth: 0, isNested: false)
    }

    mutating func write(
        _ expression: UserFilter.Expression, depth: Int, isNested: Bool
    ) throws(DirectoryError) -> String {
        guard depth <= UserQuery.maximumNesting else {
            throw .invalidQuery("the filter nests deeper than \(UserQuery.maximumNesting) levels")
        }
        switch expression {
        case .startsWith(let property, let text): return try comparison(property, "sw", text)
        case .endsWith(let property, let text): return try comparison(property, "ew", text)
        case .compare(let property, let comparison, let value): return try compare(property, comparison, value)
        case .oneOf(let property, let values):
            return try write(
                values.map { .compare(property, .eq, $0) }, joinedBy: " or ", depth: depth, isNested: isNested)
        case .count(let property, let comparison, let number):
            guard number == 0, comparison == .eq || comparison == .ne else {
                throw .invalidQuery("SCIM only says whether a list has elements: compare its length with 0")
            }
            let attribute = try attribute(property)
            return comparison == .eq ? "not (\(written(attribute, "pr")))" : written(attribute, "pr")
        case .element(let property, _):
            throw .invalidQuery(
                "the elements of \(property.rawValue.visible(limit: 100)) are not compared here; compare the property itself"
            )
        case .not(let inner): return "not (\(try write(inner, depth: depth + 1, isNested: false)))"
        case .all(let parts): return try write(parts, joinedBy: " and ", depth: depth, isNested: isNested)
        case .any(let parts): return try write(parts, joinedBy: " or ", depth: depth, isNested: isNested)
        case .text(let text):
            return try write(text.expression(), depth: depth + 1, isNested: isNested)
        case .raw(let text):
            guard !text.isBlank else { throw DirectoryError(.emptySearch) }
            comparisons += 1
            return isNested ? "(\(text))" : text
        }
    }

    // MARK: Comparisons

    private mutating func attribute(_ property: UserProperty) throws(DirectoryError) -> SCIMAttribute {
        comparisons += 1
        guard comparisons <= UserQuery.maximumComparisons else {
            throw .invalidQuery(
                "the filter has more than \(UserQuery.maximumComparisons) comparisons; ask in several queries")
        }
        guard let attribute = SCIMAttribute.known(property.rawValue) else {
            throw .invalidQuery(
                "SCIM has no attribute for \"\(property.rawValue.visible(limit: 100))\"; it compares "
                    + "\(SCIMAttribute.names), and attributes with a schema's URN before them")
        }
        return attribute
    }

    private mutating func comparison(
        _ property: UserProperty, _ word: String, _ text: String
    ) throws(DirectoryError) -> String {
        guard !text.isBlank else { throw DirectoryError(.emptySearch) }
        let attribute = try attribute(property)
        guard attribute.kind == nil else {
            throw .invalidQuery("\(property) is not a string; compare its whole value")
        }
        return written(attribute, "\(word) \(SCIMEscaping.string(text))")
    }

    private mutating func compare(
        _ property: UserProperty, _ comparison: UserFilter.Comparison, _ value: FilterValue
    ) throws(DirectoryError) -> String {
        if case .text(let text) = value, text.isBlank { throw DirectoryError(.emptySearch) }
        let attribute = try attribute(property)
        switch (comparison, value) {
        case (.eq, .null): return "not (\(written(attribute, "pr")))"
        case (.ne, .null): return written(attribute, "pr")
        case (_, .null): throw .invalidQuery("null cannot be compared with lt, le, gt or ge")
        // `ne` matches a user without a value, and a list without this element.
        case (.ne, _):
            let literal = try literal(value, attribute, property)
            return "not (\(written(attribute, "eq \(literal)")))"
        default:
            guard comparison == .eq || attribute.kind != .bool else {
                throw .invalidQuery("\(property) is true or false and has no order")
            }
            let literal = try literal(value, attribute, property)
            return written(attribute, "\(comparison.rawValue) \(literal)")
        }
    }

    private func literal(
        _ value: FilterValue, _ attribute: SCIMAttribute, _ property: UserProperty
    ) throws(DirectoryError) -> String {
        switch (attribute.kind, value) {
        case (.bool, .bool(let bool)): return bool ? "true" : "false"
        case (.bool, .text(let text)): return try FilterValue.Kind.bool.literal(text, of: property.rawValue)
        case (.bool, _): throw .invalidQuery("\(property) is compared with true or false")
        case (let kind?, .text(let text)): return SCIMEscaping.string(try kind.literal(text, of: property.rawValue))
        case (_, .date(let date)): return SCIMEscaping.string(date.rfc3339)
        case (_, .text(let text)): return SCIMEscaping.string(text)
        case (_, .bool(let bool)): return bool ? "true" : "false"
        case (_, .number(let number)): return String(number)
        case (_, .identifier(let identifier)): return SCIMEscaping.string(identifier.uuidString.lowercased())
        case (_, .null): return "null"
        }
    }

    private func written(_ attribute: SCIMAttribute, _ condition: String) -> String {
        guard let type = attribute.type else { return "\(attribute.path) \(condition)" }
        return "\(attribute.path)[type eq \(SCIMEscaping.string(type)) and value \(condition)]"
    }
}
