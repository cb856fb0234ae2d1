import StrictJSON

/// A ``UserFilter`` as a person in the copy is compared with it.
///
/// Compared as the service does: without case, from the beginning of the value or as a whole; who has no value does not match.
indirect enum OfflineCondition: Sendable, Equatable {
    case startsWith(path: [String], lowercased: String)
    case endsWith(path: [String], lowercased: String)
    case equals(path: [String], lowercased: String)
    case hasNone(path: [String])
    case not(OfflineCondition)
    case all([OfflineCondition])
    case any([OfflineCondition])

    /// - Throws: ``DirectoryError`` of the kinds `emptySearch` and `invalidQuery`, also for what only the service can answer.
    init(_ filter: UserFilter, kept: [String]) throws(DirectoryError) {
        _ = try filter.odata()
        self = try Self.read(filter.expression, Kept(properties: Set(kept)))
    }

    private struct Kept {
        var properties: Set<String>

        func path(_ property: UserProperty) throws(DirectoryError) -> [String] {
            let path = property.rawValue.split(separator: "/").map(String.init)
            let isKept = properties.contains(property.rawValue) || path.first.map(properties.contains) ?? false
            guard isKept || property == .id else {
                throw OfflineCondition.refusal(
                    "\(property.rawValue.visible(limit: 100)) is not kept; sync with it, or ask the service")
            }
            return path
        }
    }

    private static func read(_ expression: UserFilter.Expression, _ kept: Kept) throws(DirectoryError) -> Self {
        switch expression {
        case .startsWith(let property, let text):
            return .startsWith(path: try kept.path(property), lowercased: text.lowercased())
        case .endsWith(let property, let text):
            return .endsWith(path: try kept.path(property), lowercased: text.lowercased())
        case .compare(let property, .eq, let value): return try equality(property, value, kept)
        case .compare(let property, .ne, let value): return .not(try equality(property, value, kept))
        case .compare(let property, _, _):
            throw refusal("\(property.rawValue.visible(limit: 100)) is not compared by size in it")
        case .oneOf(let property, let values):
            var conditions: [Self] = []
            for value in values { conditions.append(try equality(property, value, kept)) }
            return .any(conditions)
        case .count, .element: throw refusal("the elements of a list are not looked at in it")
        case .not(let part): return .not(try read(part, kept))
        case .all(let parts):
            var conditions: [Self] = []
            for part in parts { conditions.append(try read(part, kept)) }
            return .all(conditions)
        case .any(let parts):
            var conditions: [Self] = []
            for part in parts { conditions.append(try read(part, kept)) }
            return .any(conditions)
        case .raw: throw refusal("a filter in OData's own words is read by the service alone")
        }
    }

    private static func equality(
        _ property: UserProperty, _ value: FilterValue, _ kept: Kept
    ) throws(DirectoryError) -> Self {
        let path = try kept.path(property)
        switch value {
        case .text(let text): return .equals(path: path, lowercased: text.lowercased())
        case .truth(let value): return .equals(path: path, lowercased: value ? "true" : "false")
        case .null: return .hasNone(path: path)
        default: throw refusal("only texts and truth values are compared in it")
        }
    }

    static func refusal(_ reason: String) -> DirectoryError {
        DirectoryError(.invalidQuery("the offline copy cannot answer it: \(reason)"))
    }

    func holds(for person: JSONObject) -> Bool {
        switch self {
        case .startsWith(let path, let text):
            Self.values(person, path).contains { $0.lowercased().utf8.starts(with: text.utf8) }
        case .endsWith(let path, let text):
            Self.values(person, path).contains { $0.lowercased().utf8.reversed().starts(with: text.utf8.reversed()) }
        case .equals(let path, let text):
            Self.values(person, path).contains { $0.lowercased().utf8.elementsEqual(text.utf8) }
        case .hasNone(let path): Self.found(person, path).allSatisfy(\.isNull)
        case .not(let part): !part.holds(for: person)
        case .all(let parts): parts.allSatisfy { $0.holds(for: person) }
        case .any(let parts): parts.contains { $0.holds(for: person) }
        }
    }

    /// The values at a path; of a list each element, because one is enough.
    private static func found(_ person: JSONObject, _ path: [String]) -> [JSONValue] {
        var values: [JSONValue] = [.object(person)]
        for name in path {
            values = values.compactMap { $0.object?[name] }.flatMap { $0.array ?? [$0] }
        }
        return values
    }

    private static func values(_ person: JSONObject, _ path: [String]) -> [String] {
        found(person, path).compactMap { value in
            if let truth = value.bool { return truth ? "true" : "false" }
            return value.string
        }
    }

    /// A question to the index whose answers are these people and perhaps some more; nil when the index cannot narrow it down and
    /// everybody is looked at.
    var fullText: String? {
        switch self {
        case .startsWith(let path, let text): Self.phrase(path, text, isPrefix: true)
        case .equals(let path, let text): Self.phrase(path, text, isPrefix: false)
        // The index knows how a value begins, and who has which words, not who has none.
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
            return FullText.phrase(text, in: FullText.Column(rawValue: name), isPrefix: isPrefix, isFirst: true)
        case "mail", "userPrincipalName":
            // The two share a column, so the text need not stand first. What is before an @ is there whole.
            let isWhole = !isPrefix || text.contains("@")
            return FullText.phrase(
                IndexedText.localPart(text), in: .address, isPrefix: !isWhole, isFirst: false)
        default: return nil
        }
    }

    private static func join(_ phrases: [String], _ word: String) -> String? {
        phrases.count < 2 ? phrases.first : phrases.map { "(\($0))" }.joined(separator: word)
    }
}
