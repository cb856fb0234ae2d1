/// Words to look for in an index, where a filter compares from the beginning of a value.
///
/// A display name is found by its words: each word asked for must begin one of its own, in any order. Every other property is
/// compared from its beginning. Always an advanced query.
public struct UserSearch: Sendable, Equatable {
    indirect enum Expression: Sendable, Equatable {
        case clause(UserProperty, String)
        case all([Expression])
        case any([Expression])
        case raw(String)
    }

    let expression: Expression

    /// People whose display name has these words.
    public static func displayName(_ words: String) -> UserSearch { property(.displayName, words) }

    /// People whose property begins with this text; for ``UserProperty/displayName``, has these words.
    public static func property(_ property: UserProperty, _ text: String) -> UserSearch {
        UserSearch(expression: .clause(property, text))
    }

    /// People to whom every search applies.
    public static func all(of searches: [UserSearch]) -> UserSearch {
        UserSearch(expression: .all(searches.map(\.expression)))
    }

    /// People to whom at least one search applies.
    public static func any(of searches: [UserSearch]) -> UserSearch {
        UserSearch(expression: .any(searches.map(\.expression)))
    }

    /// A search in Graph's own words, clauses in double quotes joined by `AND` and `OR`, sent as it is but for the
    /// percent-encoding.
    public static func raw(_ text: String) -> UserSearch { UserSearch(expression: .raw(text)) }
}

/// A search as text, and what of it must be said in a filter.
struct WrittenSearch: Sendable, Equatable {
    /// The value of `$search`, not yet percent-encoded; nil when the filters say it all.
    var text: String?
    /// Clauses with `&` or `#`, which the service's search does not read: they stand in the filter.
    var filters: [UserFilter] = []
}

extension UserSearch {
    /// - Throws: ``DirectoryError`` of the kind `emptySearch` for a text without words, `invalidQuery` for what the service would
    ///   refuse.
    func written() throws(DirectoryError) -> WrittenSearch {
        var result = WrittenSearch()
        var parts: [Expression] = []
        // What everybody must meet can move to the filter; within an `or` it cannot.
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

    /// Whether the property is found by its words.
    fileprivate static func isTokenized(_ property: UserProperty) -> Bool { property == .displayName }

    /// What the service's search was seen to stumble over, however it is encoded.
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
            // Symbols only part words there, so a space says the same.
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
    /// Returns the filter and the search in Graph's language; `nil` without either.
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
