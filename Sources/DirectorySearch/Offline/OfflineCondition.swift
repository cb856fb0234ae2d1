import StrictJSON

/// A ``UserFilter`` as a person in the copy is compared with it.
///
/// Compared as the service does: without case, from the beginning of the value or as a whole; who has no value does not match.
indirect enum OfflineCondition: Sendable, Equatable {
    case startsWith(path: [String], lowercased: String)
    case equals(path: [String], lowercased: String)
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
        case .equals(let property, let text):
            return .equals(path: try kept.path(property), lowercased: text.lowercased())
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

    private static func refusal(_ reason: String) -> DirectoryError {
        DirectoryError(.invalidQuery("the offline copy cannot answer it: \(reason)"))
    }

    func holds(for person: JSONObject) -> Bool {
        switch self {
        case .startsWith(let path, let text):
            Self.values(person, path).contains { $0.lowercased().utf8.starts(with: text.utf8) }
        case .equals(let path, let text):
            Self.values(person, path).contains { $0.lowercased().utf8.elementsEqual(text.utf8) }
        case .all(let parts): parts.allSatisfy { $0.holds(for: person) }
        case .any(let parts): parts.contains { $0.holds(for: person) }
        }
    }

    /// The texts at a path; of a list each element's, because one is enough.
    private static func values(_ person: JSONObject, _ path: [String]) -> [String] {
        var values: [JSONValue] = [.object(person)]
        for name in path {
            values = values.compactMap { $0.object?[name] }.flatMap { $0.array ?? [$0] }
        }
        return values.compactMap(\.string)
    }

    /// A question to the index whose answers are these people and perhaps some more; nil when the index cannot narrow it down and
    /// everybody is looked at.
    var fullText: String? {
        switch self {
        case .startsWith(let path, let text): Self.phrase(path, text, isPrefix: true)
        case .equals(let path, let text): Self.phrase(path, text, isPrefix: false)
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
