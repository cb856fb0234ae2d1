/// The words that Graph's search compares.
///
/// See <https://learn.microsoft.com/en-us/graph/search-query-parameter#using-search-on-directory-object-collections>.
enum SearchWords {
    private enum Kind { case separator, letter, digit }

    /// Returns the words of a name.
    ///
    /// The service splits at spaces and symbols, between letters and digits, and before an uppercase letter that
    /// follows a lowercase letter.
    static func words(_ text: String) -> [String] {
        var words: [String] = []
        var word = ""
        var previous: (kind: Kind, isLowercase: Bool)?
        for character in text {
            let kind = kind(of: character)
            let isNew = previous.map { $0.kind != kind || ($0.isLowercase && character.isUppercase) } ?? false
            if isNew, !word.isEmpty {
                words.append(word)
                word = ""
            }
            if kind != .separator { word.append(character) }
            previous = (kind, character.isLowercase)
        }
        if !word.isEmpty { words.append(word) }
        return words
    }

    private static func kind(of character: Character) -> Kind {
        character.isNumber ? .digit : character.isLetter ? .letter : .separator
    }
}
