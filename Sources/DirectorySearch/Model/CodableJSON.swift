import LodgePlatform
import StrictJSON

/// A JSON value for encoders and decoders of any format.
///
/// Numbers keep their value: 64-bit integers exactly, others with up to 38 digits.
struct CodableJSON: Codable {
    var value: JSONValue

    private struct Name: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    init(value: JSONValue) { self.value = value }

    init(from decoder: any Decoder) throws {
        if let container = try? decoder.container(keyedBy: Name.self) {
            var members: [JSONObject.Member] = []
            for name in container.allKeys.sorted(by: { $0.stringValue < $1.stringValue }) {
                members.append(
                    .init(name: name.stringValue, value: try container.decode(CodableJSON.self, forKey: name).value))
            }
            value = .object(JSONObject(members))
        } else if var container = try? decoder.unkeyedContainer() {
            var elements: [JSONValue] = []
            while !container.isAtEnd { elements.append(try container.decode(CodableJSON.self).value) }
            value = .array(elements)
        } else {
            value = try Self.scalar(decoder.singleValueContainer())
        }
    }

    private static func scalar(_ container: any SingleValueDecodingContainer) throws -> JSONValue {
        if container.decodeNil() { return .null }
        if let value = try? container.decode(Bool.self) { return .bool(value) }
        if let value = try? container.decode(Int64.self) { return .number(JSONNumber(value)) }
        if let value = try? container.decode(Decimal.self),
            case .number(let number)? = try? JSONValue(parsing: value.description)
        {
            return .number(number)
        }
        if let value = try? container.decode(Double.self), let number = JSONNumber(value) { return .number(number) }
        return .string(try container.decode(String.self))
    }

    func encode(to encoder: any Encoder) throws {
        switch value {
        case .object(let object):
            var container = encoder.container(keyedBy: Name.self)
            for member in object.members {
                try container.encode(CodableJSON(value: member.value), forKey: Name(stringValue: member.name))
            }
        case .array(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(CodableJSON(value: element)) }
        default: try encodeScalar(encoder.singleValueContainer())
        }
    }

    private func encodeScalar(_ container: any SingleValueEncodingContainer) throws {
        var container = container
        switch value {
        case .bool(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .number(let number):
            if let whole = number.int64 {
                try container.encode(whole)
            } else if number.literal.utf8.count <= 38, let exact = Decimal(string: number.literal) {
                try container.encode(exact)
            } else {
                try container.encode(number.double ?? 0)
            }
        default: try container.encodeNil()
        }
    }
}
