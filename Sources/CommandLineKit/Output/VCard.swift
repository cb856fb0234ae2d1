import LodgePlatform

/// A vCard 4.0 of a user.
///
/// See [RFC 6350](https://www.rfc-editor.org/rfc/rfc6350).
package struct VCard: Sendable, Equatable {
    package var name: String
    package var familyName: String?
    package var givenName: String?
    package var company: String?
    /// The department.
    package var unit: String?
    private var properties: [[String]] = []

    package init(name: String) { self.name = name }

    /// Adds a property with one value. Ignores `nil` and empty strings.
    package mutating func add(_ property: String, _ text: String?) {
        if let text, !text.isEmpty { properties.append([property, text]) }
    }

    /// The folded lines of the card with their line breaks.
    package var text: String {
        var lines = ["BEGIN:VCARD", "VERSION:4.0", "FN:" + Self.escaped(name)]
        if familyName != nil || givenName != nil {
            lines.append("N:\(Self.escaped(familyName ?? ""));\(Self.escaped(givenName ?? ""));;;")
        }
        if company != nil || unit != nil {
            lines.append("ORG:" + [company ?? "", unit ?? ""].map(Self.escaped).joined(separator: ";"))
        }
        for property in properties { lines.append(property[0] + ":" + Self.escaped(property[1])) }
        lines.append("END:VCARD")
        return lines.map { Self.folded($0) + "\r\n" }.joined()
    }

    /// Returns the text with backslash, comma, semicolon and line break escaped, and without other control characters.
    ///
    /// See RFC 6350 section 3.4.
    private static func escaped(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\", ",", ";":
                result.append("\\")
                result.append(scalar)
            case "\n": result.append(text: "\\n")
            case "\t": result.append(" ")
            default: if scalar.value >= 0x20, !(0x7F...0x9F).contains(scalar.value) { result.append(scalar) }
            }
        }
        return String(result)
    }

    /// Returns the line folded to 75 octets. Continuation lines begin with a space. A scalar is never split.
    ///
    /// See RFC 6350 section 3.2.
    private static func folded(_ line: String) -> String {
        guard line.utf8.count > 75 else { return line }
        var result = String.UnicodeScalarView()
        var count = 0
        for scalar in line.unicodeScalars {
            let length = UTF8.width(scalar)
            if count + length > 75 {
                result.append(text: "\r\n ")
                count = 1
            }
            result.append(scalar)
            count += length
        }
        return String(result)
    }
}

@MainActor package final class VCardWriter: RecordWriter {
    package let console: Console

    package init(on console: Console) { self.console = console }

    /// Writes the record's card. Skips records without one: the command rejects the format for them.
    package func write(_ record: some OutputRecord) throws(OutputError) {
        guard let card = record.vCard else { return }
        let text = card.text
        guard console.terminal.outputIsTerminal else { return try console.write(text) }
        for line in text.split(separator: "\r\n") { try console.writeLine(String(line).visible) }
    }
}
