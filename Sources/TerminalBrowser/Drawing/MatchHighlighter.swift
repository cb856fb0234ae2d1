import CommandLineKit

/// The beginnings of words that were searched for, to show them in what was found.
struct MatchHighlighter: Sendable {
    private let words: [[String]]

    init(_ text: String) { words = text.split(separator: " ").map { String($0).visible.map(Self.folded) } }

    /// The text in pieces: what was searched for, and the rest. Nothing is lost and no grapheme is parted.
    func parted(_ text: String) -> [ScreenText] {
        let graphemes = Array(text)
        let letters = graphemes.map(Self.folded)
        var pieces: [ScreenText] = []
        func add(_ part: ArraySlice<Character>, _ style: ScreenStyle) {
            if !part.isEmpty { pieces.append(ScreenText(text: String(part), style: style)) }
        }
        var plainFrom = 0
        var position = 0
        while position < graphemes.count {
            guard position == 0 || !Self.isInWord(graphemes[position - 1]), let length = matchLength(letters, position)
            else {
                position += 1
                continue
            }
            add(graphemes[plainFrom..<position], .plain)
            add(graphemes[position..<(position + length)], .match)
            position += length
            plainFrom = position
        }
        add(graphemes[plainFrom...], .plain)
        return pieces
    }

    private func matchLength(_ letters: [String], _ position: Int) -> Int? {
        words.filter { !$0.isEmpty && letters[position...].starts(with: $0) }.map(\.count).max()
    }

    private static func isInWord(_ character: Character) -> Bool { character.isLetter || character.isNumber }

    /// A letter without its case and its accents, as directories compare. Unicode's name for the letter says which it is: `LATIN SMALL
    /// LETTER E WITH ACUTE`.
    private static func folded(_ character: Character) -> String {
        if character.isASCII { return character.lowercased() }
        return String(character).lowercased().unicodeScalars.filter { !(0x300...0x36F).contains($0.value) }
            .map(base).joined()
    }

    private static func base(_ scalar: Unicode.Scalar) -> String {
        guard !scalar.isASCII, let name = scalar.properties.name, let with = name.firstRange(of: " WITH ") else {
            return String(scalar)
        }
        let latin = "LATIN SMALL LETTER "
        let base = name[..<with.lowerBound]
        // A Latin letter may be meant by one of ASCII.
        return base.hasPrefix(latin) ? base.dropFirst(latin.count).lowercased() : String(base)
    }
}
