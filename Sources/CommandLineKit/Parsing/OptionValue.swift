import LodgePlatform

extension OptionSpec {
    /// Returns the expected value if `text` is invalid, or `nil` if it is valid.
    package func problem(in text: String) -> String? {
        if text.isEmpty { return allowsEmpty ? nil : "the value is empty" }
        switch value {
        case .flag: return "it takes no value"
        case .text: return nil
        case .integer(let range):
            let expected = "expected a whole number from \(range.lowerBound) to \(range.upperBound)"
            let digits = text.utf8.first == UInt8(ascii: "-") ? text.utf8.dropFirst() : text.utf8[...]
            guard !digits.isEmpty, digits.allSatisfy(Self.isDigit), let number = Int(text), range.contains(number)
            else { return expected }
            return nil
        case .seconds(let range):
            let expected = "expected seconds from \(Self.plain(range.lowerBound)) to \(Self.plain(range.upperBound))"
            // Double accepts forms that users do not expect: "inf", "nan", "0x1p3".
            guard text.utf8.allSatisfy({ Self.isDigit($0) || $0 == UInt8(ascii: ".") }), let number = Double(text),
                range.contains(number)
            else { return expected }
            return nil
        case .choice(let words):
            guard !words.contains(text) else { return nil }
            let near = SpellingSuggestion.nearest(to: text, in: words).map { ", perhaps \($0)" } ?? ""
            return "expected \(Self.list(words))\(near)"
        }
    }

    /// Returns the Boolean value of a flag's environment variable, or `nil` if the word is unknown.
    static func truth(_ text: String) -> Bool? {
        switch text.lowercased() {
        case "1", "true", "yes", "on": true
        case "", "0", "false", "no", "off": false
        default: nil
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }

    /// Returns a number without a trailing ".0".
    private static func plain(_ number: Double) -> String {
        Int(exactly: number).map { "\($0)" } ?? "\(number)"
    }

    /// Returns a list such as `a, b or c`.
    package static func list(_ words: [String]) -> String {
        guard let last = words.last, words.count > 1 else { return words.first ?? "" }
        return words.dropLast().joined(separator: ", ") + " or " + last
    }
}
