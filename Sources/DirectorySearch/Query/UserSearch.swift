/// A search for words in an index.
///
/// A display name matches if each word is a prefix of one of its words, in any order. Any other property matches if it
/// starts with the string. It is always an advanced query.
public struct UserSearch: Sendable, Equatable {
    indirect enum Expression: Sendable, Equatable {
        case clause(UserProperty, String)
        case all([Expression])
        case any([Expression])
        case raw(String)
    }

    let expression: Expression

    /// Returns a search for users whose display name has these words.
    public static func displayName(_ words: String) -> UserSearch { property(.displayName, words) }

    /// Returns a search for users whose property starts with this string.
    ///
    /// A ``UserProperty/displayName`` must have these words instead.
    public static func property(_ property: UserProperty, _ text: String) -> UserSearch {
        UserSearch(expression: .clause(property, text))
    }

    /// Returns a search for users who match every search.
    public static func all(of searches: [UserSearch]) -> UserSearch {
        UserSearch(expression: .all(searches.map(\.expression)))
    }

    /// Returns a search for users who match at least one search.
    public static func any(of searches: [UserSearch]) -> UserSearch {
        UserSearch(expression: .any(searches.map(\.expression)))
    }

    /// Returns a search in Graph's syntax, sent verbatim: clauses in double quotes, joined by `AND` and `OR`.
    public static func raw(_ text: String) -> UserSearch { UserSearch(expression: .raw(text)) }
}

/// A search as a string, and the clauses that are sent in the filter instead.
struct WrittenSearch: Sendable, Equatable {
    /// The value of `$search`, not percent-encoded, or `nil` if the filters contain all clauses.
    var text: String?
    /// The clauses with `&` or `#`, which the service's search does not support.
    var filters: [UserFilter] = []
}

extension UserSearch {
    /// Returns the search as a string.
    ///
    /// - Throws: ``DirectoryError`` of the kind `emptySearch` for a value without words, `invalidQuery` if the service
    ///   would reject the search.
    func written() throws(DirectoryError) -> WrittenSearch {
        var result = WrittenSearch()
        var parts: [Expression] = []
        // A condition for all users can move to the filter; a condition inside an `or` cannot.
        for part in Self.conjunction(expression, depth: 0) {
            if case .clause(let property, let text) = part, !Self.isTokenized(property), Self.hasReserved(text) {
                result.filters.append(.property(property, startsWith: text))
            } else {
                parts.append(part)
            }
        }
        if parts.isEmpty, result.filters.isEmpty { throw DirectoryError(.emptySearch) }
        if !parts.isEmpty {
            var writer = SearchWriter()
            result.text = try writer.write(parts.count == 1 ? parts[0] : .all(parts), depth: 0, isNested: false)
        }
        return result
    }

    fileprivate static let maximumDepth = 32

    private static func conjunction(_ expression: Expression, depth: Int) -> [Expression] {
        guard depth <= maximumDepth, case .all(let parts) = expression else { return [expression] }
        return parts.flatMap { conjunction($0, depth: depth + 1) }
    }

    /// Returns whether the search compares the words of the property.
    fileprivate static func isTokenized(_ property: UserProperty) -> Bool { property == .displayName }

    /// Returns whether the service's search fails with this character in any encoding.
    fileprivate static func isReserved(_ scalar: Unicode.Scalar) -> Bool { scalar == "&" || scalar == "#" }

    fileprivate static func hasReserved(_ text: String) -> Bool { text.unicodeScalars.contains(where: isReserved) }
}

/// Writes a search in Graph's language.
private struct SearchWriter: LogicWriter {
    mutating func write(
        _ expression: UserSearch.Expression, depth: Int, isNested: Bool
    ) throws(DirectoryError) -> String {
        guard depth <= UserSearch.maximumDepth else {
            throw .invalidQuery("the search nests deeper than \(UserSearch.maximumDepth) levels")
        }
        switch expression {
        case .clause(let property, let text): return try Self.clause(property, text)
        case .raw(let text):
            guard !text.isBlank else { throw DirectoryError(.emptySearch) }
            return isNested ? "(\(text))" : text
        case .all(let parts): return try write(parts, joinedBy: " AND ", depth: depth, isNested: isNested)
        case .any(let parts): return try write(parts, joinedBy: " OR ", depth: depth, isNested: isNested)
        }
    }

    private static func clause(_ property: UserProperty, _ text: String) throws(DirectoryError) -> String {
        guard property.isWellFormed else {
            throw .noProperty(property.rawValue)
        }
        var text = text
        if UserSearch.isTokenized(property) {
            // These characters separate words, like a space.
            text = String(String.UnicodeScalarView(text.unicodeScalars.map { UserSearch.isReserved($0) ? " " : $0 }))
        } else {
            let support = PropertySupport.known(property.rawValue)
            if let support, support.startsWith ?? .never == .never {
                throw .invalidQuery("the service does not search in \(property); ask with a filter instead")
            }
            if UserSearch.hasReserved(text) {
                throw .invalidQuery(
                    "a search for \(property) cannot have & or # within an or; ask with startsWith in a filter instead")
            }
        }
        guard !text.isBlank else { throw DirectoryError(.emptySearch) }
        return ODataEscaping.searchClause("\(property):\(text)")
    }
}

extension UserQuery {
    /// Returns the filter and the search in Graph's language, or `nil` without either.
    func graphFilterText() throws(DirectoryError) -> String? {
        var parts = [try filter?.odata()]
        if let written = try search?.written() {
            for filter in written.filters { parts.append(try filter.odata()) }
            parts.append(written.text)
        }
        let texts = parts.compactMap { $0 }
        return texts.isEmpty ? nil : texts.joined(separator: " and ")
    }
}
