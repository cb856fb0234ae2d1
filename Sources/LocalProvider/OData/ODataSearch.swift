/// A `$search` value: clauses such as `"displayName:ada"`, joined by AND and OR.
struct ODataSearch: Sendable, Equatable {
    struct Clause: Sendable, Equatable {
        let property: UserProperty
        let text: String
        private let prefixes: [String]

        init(property: UserProperty, text: String) {
            self.property = property
            self.text = text
            prefixes = ODataSearch.tokens(text)
        }

        /// Returns whether a display name has words with these prefixes, or another value has this prefix.
        func matches(_ value: String) -> Bool {
            guard property == .displayName else { return Folding.starts(value, with: text) }
            let words = ODataSearch.tokens(value)
            return prefixes.allSatisfy { prefix in words.contains { Folding.starts($0, with: prefix) } }
        }
    }

    /// The alternatives, each a conjunction of clauses: AND has a higher precedence than OR.
    private(set) var alternatives: [[Clause]] = []

    /// Creates a search from a percent-decoded `$search` value, or returns `nil` if it is malformed.
    init?(parsing text: String) {
        var rest = Substring(text)
        var isFirst = true
        while true {
            rest = rest.drop { $0 == " " }
            if rest.isEmpty {
                guard !isFirst else { return nil }
                return
            }
            var beginsAlternative = isFirst
            if !isFirst {
                if rest.hasPrefix("OR ") {
                    beginsAlternative = true
                    rest = rest.dropFirst(3)
                } else if rest.hasPrefix("AND ") {
                    rest = rest.dropFirst(4)
                } else {
                    return nil
                }
                rest = rest.drop { $0 == " " }
            }
            guard let clause = Self.clause(&rest) else { return nil }
            if beginsAlternative { alternatives.append([]) }
            alternatives[alternatives.count - 1].append(clause)
            isFirst = false
        }
    }

    private static func clause(_ rest: inout Substring) -> Clause? {
        guard let content = rest.removeQuotedString("\""), let colon = content.firstIndex(of: ":"),
            let property = UserProperty(name: content[..<colon]), property.startsWith != .never
        else { return nil }
        let text = String(content[content.index(after: colon)...])
        return text.isEmpty ? nil : Clause(property: property, text: text)
    }

    func matches(_ user: some UserValues) -> Bool {
        alternatives.contains { clauses in
            clauses.allSatisfy { clause in
                clause.property.kind == .texts
                    ? user.texts(clause.property).contains { clause.matches($0) }
                    : user.text(clause.property).map { clause.matches($0) } ?? false
            }
        }
    }

    /// Returns the words of a display name: split at spaces, symbols, digits, and before a capital after a lowercase
    /// letter.
    static func tokens(_ text: String) -> [String] {
        var tokens: [String] = []
        var current = ""
        var last: Character?
        func kind(_ character: Character) -> Int { character.isNumber ? 2 : character.isLetter ? 1 : 0 }
        for character in text {
            if let previous = last,
                kind(previous) != kind(character) || (previous.isLowercase && character.isUppercase)
            {
                tokens.append(current)
                current = ""
            }
            if kind(character) != 0 { current.append(character) }
            last = character
        }
        tokens.append(current)
        return tokens.filter { !$0.isEmpty }
    }
}
