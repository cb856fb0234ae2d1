/// Which people a search is for.
///
/// A filter is a value; it is checked and written when a request is built. A filter with an empty text is refused then,
/// because Graph would take it for "everybody".
public struct UserFilter: Sendable, Equatable {
    indirect enum Expression: Sendable, Equatable {
        case startsWith(UserProperty, String)
        case equals(UserProperty, String)
        case all([Expression])
        case any([Expression])
        case raw(String)
    }

    let expression: Expression

    init(_ expression: Expression) { self.expression = expression }

    /// People whose property starts with this text. Graph compares without case.
    public static func property(_ property: UserProperty, startsWith text: String) -> UserFilter {
        UserFilter(.startsWith(property, text))
    }

    /// People whose property is this text. Graph compares without case, and takes at most 120 characters here.
    public static func property(_ property: UserProperty, equals text: String) -> UserFilter {
        UserFilter(.equals(property, text))
    }

    /// People whose given name starts with this text.
    public static func givenName(startsWith text: String) -> UserFilter { property(.givenName, startsWith: text) }
    /// People whose family name starts with this text.
    public static func surname(startsWith text: String) -> UserFilter { property(.surname, startsWith: text) }
    /// People whose display name starts with this text.
    public static func displayName(startsWith text: String) -> UserFilter { property(.displayName, startsWith: text) }
    /// People whose mail address starts with this text.
    public static func mail(startsWith text: String) -> UserFilter { property(.mail, startsWith: text) }
    /// People whose sign-in name starts with this text.
    public static func userPrincipalName(startsWith text: String) -> UserFilter {
        property(.userPrincipalName, startsWith: text)
    }
    /// People whose department starts with this text.
    public static func department(startsWith text: String) -> UserFilter { property(.department, startsWith: text) }
    /// People whose job title starts with this text.
    public static func jobTitle(startsWith text: String) -> UserFilter { property(.jobTitle, startsWith: text) }
    /// People whose office starts with this text. An advanced query, which Azure AD B2C tenants do not have.
    public static func officeLocation(startsWith text: String) -> UserFilter {
        property(.officeLocation, startsWith: text)
    }

    /// People to whom every filter applies. Graph takes about 15 comparisons in one filter.
    public static func all(of filters: [UserFilter]) -> UserFilter { UserFilter(.all(filters.map(\.expression))) }
    /// People to whom at least one filter applies. Graph takes about 15 comparisons in one filter.
    public static func any(of filters: [UserFilter]) -> UserFilter { UserFilter(.any(filters.map(\.expression))) }

    /// A filter in OData's own words, sent as it is but for the percent-encoding. Quotes in it are the caller's work.
    public static func raw(_ text: String) -> UserFilter { UserFilter(.raw(text)) }
}

extension UserFilter {
    /// The value of `$filter`, not yet percent-encoded.
    ///
    /// - Throws: ``DirectoryError`` of the kind `emptySearch` for a text of nothing but white space or a list without
    ///   filters, `invalidQuery` for a property that cannot be one or a filter nested deeper than 32 levels.
    public func odata() throws(DirectoryError) -> String { try Self.write(expression, depth: 0, isNested: false) }

    /// Whether this needs `ConsistencyLevel: eventual` and `$count=true`. Raw filters are taken at their word: no.
    var needsAdvancedQuery: Bool {
        Self.anyComparison(in: expression) { property, isEquality in
            isEquality ? property.equalsNeedsAdvancedQuery : property.startsWithNeedsAdvancedQuery
        }
    }

    /// Whether this looks at a property that the permission for basic profiles does not cover.
    var looksBeyondBasicProperties: Bool {
        Self.anyComparison(in: expression) { property, _ in !UserProperty.basic.contains(property.rawValue) }
    }

    private static let maximumDepth = 32

    private static func write(
        _ expression: Expression, depth: Int, isNested: Bool
    ) throws(DirectoryError) -> String {
        guard depth <= maximumDepth else {
            throw DirectoryError(.invalidQuery("the filter nests deeper than \(maximumDepth) levels"))
        }
        switch expression {
        case .startsWith(let property, let text):
            try check(property, text)
            return "startswith(\(property),\(ODataEscaping.literal(text)))"
        case .equals(let property, let text):
            try check(property, text)
            return "\(property) eq \(ODataEscaping.literal(text))"
        case .raw(let text):
            guard !text.isBlank else { throw DirectoryError(.emptySearch) }
            return isNested ? "(\(text))" : text
        case .all(let parts):
            return try write(parts, joinedBy: " and ", depth: depth, isNested: isNested)
        case .any(let parts):
            return try write(parts, joinedBy: " or ", depth: depth, isNested: isNested)
        }
    }

    private static func write(
        _ parts: [Expression], joinedBy word: String, depth: Int, isNested: Bool
    ) throws(DirectoryError) -> String {
        guard let first = parts.first else { throw DirectoryError(.emptySearch) }
        guard parts.count > 1 else { return try write(first, depth: depth + 1, isNested: isNested) }
        var text = ""
        for part in parts {
            if !text.isEmpty { text += word }
            text += try write(part, depth: depth + 1, isNested: true)
        }
        return isNested ? "(\(text))" : text
    }

    private static func check(_ property: UserProperty, _ text: String) throws(DirectoryError) {
        guard property.isWellFormed else {
            throw DirectoryError(.invalidQuery("\"\(property.rawValue.visible())\" is no property's name"))
        }
        guard !text.isBlank else { throw DirectoryError(.emptySearch) }
    }

    private static func anyComparison(
        in expression: Expression, depth: Int = 0, _ holds: (UserProperty, _ isEquality: Bool) -> Bool
    ) -> Bool {
        guard depth <= maximumDepth else { return false }
        switch expression {
        case .startsWith(let property, _): return holds(property, false)
        case .equals(let property, _): return holds(property, true)
        case .raw: return false
        case .all(let parts), .any(let parts):
            return parts.contains { anyComparison(in: $0, depth: depth + 1, holds) }
        }
    }
}

extension String {
    /// Whether there is nothing but white space.
    var isBlank: Bool { unicodeScalars.allSatisfy(\.properties.isWhitespace) }
}
