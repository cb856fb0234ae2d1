import LodgePlatform

/// A search text typed by a user, such as `ada lo`: the condition for matches and the order of the results.
///
/// A user matches if a given name, surname, display name, mail address or sign-in name starts with the search text, or
/// if each word of the search text is a prefix of one of these.
///
/// ```swift
/// let text = SearchText("ada lo")
/// for try await page in directory.pages(matching: UserQuery(.matching(text))).ranked(by: text) { … }
/// ```
public struct SearchText: Sendable, Equatable {
    /// The words of the search text.
    package let words: [String]

    /// Creates a search text. White space separates words.
    public init(_ text: String) {
        words = text.unicodeScalars.split { $0.properties.isWhitespace }.map { String($0) }
    }

    /// The words, separated by single spaces.
    public var text: String { words.joined(separator: " ") }

    /// The compared properties.
    package static let properties: [UserProperty] = [.givenName, .surname, .displayName, .mail, .userPrincipalName]

    /// The properties that can start with several words.
    private static let names: Set<UserProperty> = [.givenName, .surname, .displayName]
    /// The properties for each of several words.
    ///
    /// A default query of Graph has at most 15 comparisons, so more words are compared with fewer properties.
    private static let wordProperties: [UserProperty] = [.givenName, .surname, .mail, .userPrincipalName, .displayName]
    private static let maximumComparisons = 15

    /// The number of properties to compare with each of several words.
    private var propertiesForWord: Int { (Self.maximumComparisons - Self.names.count) / max(1, words.count) }

    /// Whether each word is compared, not only the whole search text. One property for each word is not enough.
    var comparesWords: Bool { propertiesForWord > 1 }

    /// Returns the comparisons of the condition as alternatives.
    ///
    /// Each consists of strings that must all match one of their properties.
    ///
    /// - Parameter known: The properties that can be compared.
    func alternatives(_ known: (UserProperty) -> Bool = { _ in true }) -> [[(text: String, properties: [UserProperty])]]
    {
        let known = Self.properties.filter(known)
        guard words.count > 1 else { return words.isEmpty ? [] : [[(text, known)]] }
        let whole = [(text: text, properties: known.filter(Self.names.contains))]
        guard comparesWords else { return [whole] }
        let properties = Self.wordProperties.prefix(propertiesForWord).filter(known.contains)
        return [whole, words.map { ($0, properties) }]
    }
}

extension UserFilter {
    /// Returns a filter for users who match a search text.
    ///
    /// Their given name, surname, display name, mail address or sign-in name starts with the search text, or with each
    /// of its words.
    public static func matching(_ text: SearchText) -> UserFilter { UserFilter(.text(text)) }
}

extension SearchText {
    /// Returns the condition as comparisons of properties.
    ///
    /// - Parameter known: The properties that can be compared.
    /// - Returns: A condition without parts if no property is known.
    func expression(_ known: (UserProperty) -> Bool = { _ in true }) -> UserFilter.Expression {
        let alternatives = alternatives(known).map { texts -> [UserFilter.Expression] in
            texts.map { text, properties in .any(properties.map { .startsWith($0, text) }) }
        }
        // Avoid unnecessary parentheses: a single string is itself a list of alternatives.
        return .any(
            alternatives.flatMap { texts -> [UserFilter.Expression] in
                if texts.count == 1, case .any(let parts) = texts[0] { return parts }
                return [.all(texts)]
            })
    }
}

// MARK: Sort order

extension SearchText {
    /// The relevance of a user. Smaller is better.
    struct Rank: Comparable {
        /// Whether the string is only the start of a word.
        var isPrefix: Bool
        /// 0 for a given name or surname, 1 for a display name, 2 for an address, 3 if the service compared differently.
        var property: Int
        /// Whether the user has neither given name nor surname: a room, a printer or a shared mailbox.
        var isRoom: Bool

        private var order: (Int, Int, Int) { (isPrefix ? 1 : 0, property, isRoom ? 1 : 0) }

        static func < (left: Rank, right: Rank) -> Bool { left.order < right.order }
        static func == (left: Rank, right: Rank) -> Bool { left.order == right.order }
    }

    /// Returns the users sorted by relevance.
    ///
    /// A whole word ranks before a prefix; a given name or surname before a display name, and both before an address;
    /// people before rooms; then by display name.
    public func ranked(_ users: [User]) -> [User] { ranked(users) { user, property in user.text(property.rawValue) } }

    /// Returns elements sorted by relevance.
    func ranked<Element>(_ elements: [Element], _ value: (Element, UserProperty) -> String?) -> [Element] {
        guard elements.count > 1, !words.isEmpty else { return elements }
        let folded = FoldedSearchText(self)
        let ranked = elements.enumerated().map { index, element in
            let values = Self.properties.map { Self.comparable(value(element, $0)) }
            return (rank: folded.rank(values), name: values[2], index: index, element: element)
        }
        return ranked.sorted { left, right in
            if left.rank != right.rank { return left.rank < right.rank }
            // Compare bytes: comparing strings normalizes them, in quadratic time for a name of combining marks.
            if left.name.utf8.lexicographicallyPrecedes(right.name.utf8) { return true }
            if right.name.utf8.lexicographicallyPrecedes(left.name.utf8) { return false }
            return left.index < right.index
        }.map(\.element)
    }

    /// The maximum length of a compared value in Unicode scalars, because a service's string can have any length.
    private static let maximumLength = 1000

    private static func comparable(_ value: String?) -> String {
        (value ?? "").clipped(to: maximumLength).foldedForSearch
    }
}

/// The strings of a search, folded once for all users.
private struct FoldedSearchText {
    /// The alternatives, each with strings that must all match.
    private let alternatives: [[(text: String, properties: [Int])]]

    init(_ text: SearchText) {
        alternatives = text.alternatives().map { texts in
            texts.map { text, properties in
                (text.foldedForSearch, properties.compactMap { SearchText.properties.firstIndex(of: $0) })
            }
        }
    }

    /// Returns the rank of a user with these values of ``SearchText/properties``.
    func rank(_ values: [String]) -> SearchText.Rank {
        let isRoom = values[0].isEmpty && values[1].isEmpty
        let ranks = alternatives.compactMap { texts -> SearchText.Rank? in
            var worst: SearchText.Rank?
            for (text, properties) in texts {
                let best = properties.compactMap { Self.rank(text, values[$0], $0, isRoom) }.min()
                guard let best else { return nil }
                worst = max(worst ?? best, best)
            }
            return worst
        }
        return ranks.min() ?? SearchText.Rank(isPrefix: true, property: 3, isRoom: isRoom)
    }

    private static func rank(_ text: String, _ value: String, _ property: Int, _ isRoom: Bool) -> SearchText.Rank? {
        guard value.utf8.starts(with: text.utf8) else { return nil }
        let next = Substring(value.utf8.dropFirst(text.utf8.count)).unicodeScalars.first
        let isAddress = property >= 3
        // The words of an address are not names: its local part counts as one word.
        let isPrefix = next.map {
            isAddress && !text.utf8.contains(UInt8(ascii: "@")) ? $0 != "@" : $0.isPartOfWord
        }
        return SearchText.Rank(
            isPrefix: isPrefix ?? false, property: isAddress ? 2 : property == 2 ? 1 : 0, isRoom: isRoom)
    }
}

extension Unicode.Scalar {
    /// Whether this is a part of a word: a letter, a number or a private use character, as in the tokenizer `unicode61`
    /// of FTS5.
    var isPartOfWord: Bool {
        switch properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber,
            .letterNumber, .otherNumber, .privateUse:
            true
        default: false
        }
    }
}
