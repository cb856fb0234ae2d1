import StrictJSON

/// A ``UserFilter`` for the users in the copy.
///
/// It compares like the service: ignoring case, the start of the value or the whole value. A user without a value does
/// not match. A prefix also ignores accents, because users type a name as it sounds.
indirect enum OfflineCondition: Sendable, Equatable {
    case startsWith(path: [String], folded: String)
    /// Each string is the start of a word.
    case words(path: [String], folded: [String])
    case endsWith(path: [String], lowercased: String)
    case equals(path: [String], lowercased: String)
    case hasNone(path: [String])
    case not(OfflineCondition)
    case all([OfflineCondition])
    case any([OfflineCondition])

    /// Creates the condition of a filter that the service supports.
    ///
    /// - Parameter saved: The properties in the copy.
    /// - Throws: ``DirectoryError`` of the kind `invalidQuery` for a filter that only the service supports.
    init(_ filter: UserFilter, saved: [String]) throws(DirectoryError) {
        self = try Self.read(filter.expression, SavedProperties(properties: Set(saved)))
    }

    /// Creates the condition of a search for words.
    ///
    /// - Throws: ``DirectoryError`` of the kind `notInCopy` for a search in the service's language.
    init(_ search: UserSearch, saved: [String]) throws(DirectoryError) {
        self = try Self.read(search.expression, SavedProperties(properties: Set(saved)))
    }

    /// Returns the condition of a query, or `nil` if it finds all users.
    static func of(_ query: UserQuery, saved: [String]) throws(DirectoryError) -> OfflineCondition? {
        let filter = try query.filter.map { filter throws(DirectoryError) in try OfflineCondition(filter, saved: saved)
        }
        let search = try query.search.map { search throws(DirectoryError) in try OfflineCondition(search, saved: saved)
        }
        guard let filter, let search else { return filter ?? search }
        return .all([filter, search])
    }

    private struct SavedProperties {
        var properties: Set<String>

        func path(_ property: UserProperty) throws(DirectoryError) -> [String] {
            let path = property.rawValue.split(separator: "/").map(String.init)
            guard has(property) || property == .id else {
                throw OfflineCondition.unsupported("the copy does not contain \(property.rawValue.visible(limit: 100))")
            }
            return path
        }

        func has(_ property: UserProperty) -> Bool {
            let path = property.rawValue.split(separator: "/").map(String.init)
            return properties.contains(property.rawValue) || path.first.map(properties.contains) ?? false
        }
    }

    private static func read(_ expression: UserFilter.Expression, _ saved: SavedProperties) throws(DirectoryError)
        -> Self
    {
        switch expression {
        case .startsWith(let property, let text):
            return .startsWith(path: try saved.path(property), folded: text.foldedForSearch)
        case .endsWith(let property, let text):
            return .endsWith(path: try saved.path(property), lowercased: text.lowercased())
        case .compare(let property, .eq, let value): return try equality(property, value, saved)
        case .compare(let property, .ne, let value): return .not(try equality(property, value, saved))
        case .compare(let property, _, _):
            throw unsupported("it compares \(property.rawValue.visible(limit: 100)) only for equality")
        case .oneOf(let property, let values):
            return .any(try values.map { value throws(DirectoryError) in try equality(property, value, saved) })
        case .count, .element: throw unsupported("it compares no elements of lists")
        case .not(let part): return .not(try read(part, saved))
        case .all(let parts):
            return .all(try parts.map { part throws(DirectoryError) in try read(part, saved) })
        case .any(let parts):
            return .any(try parts.map { part throws(DirectoryError) in try read(part, saved) })
        case .text(let text):
            let expression = text.expression(saved.has)
            guard expression != text.expression({ _ in false }) else {
                throw unsupported("the copy contains no names and addresses")
            }
            return try read(expression, saved)
        case .raw: throw unsupported("only the service reads a filter in its own language")
        }
    }

    private static func read(_ expression: UserSearch.Expression, _ saved: SavedProperties) throws(DirectoryError)
        -> Self
    {
        switch expression {
        case .clause(.displayName, let text):
            let words = SearchWords.words(text).map(\.foldedForSearch)
            guard !words.isEmpty else { throw DirectoryError(.emptySearch) }
            return .words(path: try saved.path(.displayName), folded: words)
        case .clause(let property, let text):
            return .startsWith(path: try saved.path(property), folded: text.foldedForSearch)
        case .all(let parts):
            return .all(try parts.map { part throws(DirectoryError) in try read(part, saved) })
        case .any(let parts):
            return .any(try parts.map { part throws(DirectoryError) in try read(part, saved) })
        case .raw: throw unsupported("only the service reads a search in its own language")
        }
    }

    private static func equality(
        _ property: UserProperty, _ value: FilterValue, _ saved: SavedProperties
    ) throws(DirectoryError) -> Self {
        let path = try saved.path(property)
        switch value {
        case .text(let text): return .equals(path: path, lowercased: text.lowercased())
        case .bool(let value): return .equals(path: path, lowercased: value ? "true" : "false")
        case .null: return .hasNone(path: path)
        default: throw unsupported("it compares only texts and Boolean values")
        }
    }

    static func unsupported(_ reason: String) -> DirectoryError {
        DirectoryError(.notInCopy(reason))
    }

    func holds(for user: JSONObject) -> Bool {
        switch self {
        case .startsWith(let path, let text):
            Self.values(user, path).contains { $0.foldedForSearch.utf8.starts(with: text.utf8) }
        case .words(let path, let texts):
            Self.values(user, path).contains { value in
                let words = SearchWords.words(value).map(\.foldedForSearch)
                return texts.allSatisfy { text in words.contains { $0.utf8.starts(with: text.utf8) } }
            }
        case .endsWith(let path, let text):
            Self.values(user, path).contains { $0.lowercased().utf8.reversed().starts(with: text.utf8.reversed()) }
        case .equals(let path, let text):
            Self.values(user, path).contains { $0.lowercased().utf8.elementsEqual(text.utf8) }
        case .hasNone(let path): Self.found(user, path).allSatisfy(\.isNull)
        case .not(let part): !part.holds(for: user)
        case .all(let parts): parts.allSatisfy { $0.holds(for: user) }
        case .any(let parts): parts.contains { $0.holds(for: user) }
        }
    }

    /// Returns the values at a path. Returns each element of a list, because one match is enough.
    private static func found(_ user: JSONObject, _ path: [String]) -> [JSONValue] {
        var values: [JSONValue] = [.object(user)]
        for name in path {
            values = values.compactMap { $0.object?[name] }.flatMap { $0.array ?? [$0] }
        }
        return values
    }

    private static func values(_ user: JSONObject, _ path: [String]) -> [String] {
        found(user, path).compactMap { value in
            if let bool = value.bool { return bool ? "true" : "false" }
            return value.string
        }
    }

    /// A query of the index that finds these users and possibly others, or `nil` if the index cannot narrow the search.
    var fullText: String? {
        switch self {
        case .startsWith(let path, let text): Self.phrase(path, text, isPrefix: true)
        // The index has different words: it does not separate letters from digits.
        case .words: nil
        case .equals(let path, let text): Self.phrase(path, text, isPrefix: false)
        // The index contains the prefixes and words of values, not users without a value.
        case .endsWith, .hasNone, .not: nil
        case .all(let parts):
            Self.join(parts.compactMap(\.fullText), " AND ")
        case .any(let parts):
            parts.allSatisfy { $0.fullText != nil } ? Self.join(parts.compactMap(\.fullText), " OR ") : nil
        }
    }

    private static func phrase(_ path: [String], _ text: String, isPrefix: Bool) -> String? {
        guard path.count == 1, let name = path.first else { return nil }
        switch name {
        case "displayName", "givenName", "surname":
            return FullText.phrase(
                text, in: FullText.Column(rawValue: name).map { [$0] } ?? [], isPrefix: isPrefix, isFirst: true)
        case "mail", "userPrincipalName":
            // Both share a column, so the phrase need not be first. The column contains the whole local part.
            let isWhole = !isPrefix || text.contains("@")
            return FullText.phrase(
                IndexedText.localPart(text), in: [.address], isPrefix: !isWhole, isFirst: false)
        default: return nil
        }
    }

    private static func join(_ phrases: [String], _ word: String) -> String? {
        phrases.count < 2 ? phrases.first : phrases.map { "(\($0))" }.joined(separator: word)
    }
}
