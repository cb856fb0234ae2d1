import CommandLineKit
import LodgePlatform

/// The search words to highlight in the results.
struct MatchHighlighter: Sendable {
    private let words: [[String]]

    init(_ text: String) { words = text.split(separator: " ").map { String($0).visible.map(Self.folded) } }

    /// Splits a string into matches and other parts. Loses nothing and splits no grapheme.
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

    private static func folded(_ character: Character) -> String { String(character).foldedForSearch }
}
