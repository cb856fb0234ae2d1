/// The layout of written JSON.
package enum JSONLayout: Sendable {
    /// On one line, without spaces.
    case compact
    /// Indented by two spaces, with one member per line.
    case indented
}

extension JSONValue {
    /// Returns the JSON in UTF-8, without a line break at the end.
    ///
    /// Escapes control characters and other characters that could control a terminal or hide text: DEL, the C1
    /// controls, bidirectional controls, line separators, zero-width characters and tags. All other characters are
    /// unchanged.
    package func serialized(_ layout: JSONLayout = .compact) -> [UInt8] {
        var output: [UInt8] = []
        write(to: &output, layout, indent: 0)
        return output
    }

    /// Returns the JSON as a string.
    public func text() -> String { text(.compact) }

    /// Returns the JSON as a string, in this layout.
    package func text(_ layout: JSONLayout) -> String { String(decoding: serialized(layout), as: UTF8.self) }

    /// Appends the JSON.
    package func write(to output: inout [UInt8], _ layout: JSONLayout = .compact, indent: Int = 0) {
        switch self {
        case .null: output.append(contentsOf: "null".utf8)
        case .bool(let value): output.append(contentsOf: (value ? "true" : "false").utf8)
        case .number(let value): output.append(contentsOf: value.literal.utf8)
        case .string(let value): Self.write(value, to: &output)
        case .array(let elements):
            Self.writeList(elements, "[", "]", to: &output, layout, indent) { element, output in
                element.write(to: &output, layout, indent: indent + 1)
            }
        case .object(let object):
            Self.writeList(object.members, "{", "}", to: &output, layout, indent) { member, output in
                Self.write(member.name, to: &output)
                output.append(UInt8(ascii: ":"))
                if layout == .indented { output.append(UInt8(ascii: " ")) }
                member.value.write(to: &output, layout, indent: indent + 1)
            }
        }
    }

    private static func writeList<Element>(
        _ elements: [Element], _ open: Unicode.Scalar, _ close: Unicode.Scalar, to output: inout [UInt8],
        _ layout: JSONLayout, _ indent: Int, _ write: (Element, inout [UInt8]) -> Void
    ) {
        output.append(UInt8(ascii: open))
        for (index, element) in elements.enumerated() {
            if index > 0 { output.append(UInt8(ascii: ",")) }
            if layout == .indented { newLine(&output, indent + 1) }
            write(element, &output)
        }
        if layout == .indented, !elements.isEmpty { newLine(&output, indent) }
        output.append(UInt8(ascii: close))
    }

    private static func newLine(_ output: inout [UInt8], _ indent: Int) {
        output.append(0x0A)
        output.append(contentsOf: repeatElement(0x20, count: indent * 2))
    }

    private static func write(_ text: String, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { bytes in
            // Most strings need no escapes: check the bytes first, and decode scalars only if necessary.
            var plain = true
            for byte in bytes
            where byte < 0x20 || byte == 0x22 || byte == 0x5C || byte == 0x7F || byte == 0xC2
                || byte == 0xD8 || byte == 0xE1 || byte == 0xE2 || byte == 0xEF || byte == 0xF3
            {
                plain = false
                break
            }
            if plain {
                output.append(contentsOf: bytes)
            } else {
                for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars { write(scalar, to: &output) }
            }
        }
        output.append(UInt8(ascii: "\""))
    }

    private static func write(_ scalar: Unicode.Scalar, to output: inout [UInt8]) {
        switch scalar {
        case "\"": output.append(contentsOf: #"\""#.utf8)
        case "\\": output.append(contentsOf: #"\\"#.utf8)
        case "\n": output.append(contentsOf: #"\n"#.utf8)
        case "\r": output.append(contentsOf: #"\r"#.utf8)
        case "\t": output.append(contentsOf: #"\t"#.utf8)
        default:
            guard couldSteer(scalar.value) else { return output.append(contentsOf: Character(scalar).utf8) }
            for unit in Character(scalar).utf16 {
                let digits = String(unit, radix: 16)
                output.append(contentsOf: "\\u".utf8)
                output.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: 4 - digits.utf8.count))
                output.append(contentsOf: digits.utf8)
            }
        }
    }

    /// Returns whether a scalar could control a terminal or hide text.
    ///
    /// These are control characters, bidirectional controls, line separators, zero-width characters and tags.
    static func couldSteer(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0..<0x20, 0x7F...0x9F, 0xAD, 0x61C, 0x180E, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF,
            0xFFF9...0xFFFB, 0xE0000...0xE007F:
            true
        default: false
        }
    }
}
