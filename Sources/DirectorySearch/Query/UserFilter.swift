import LodgePlatform

/// A condition for users.
///
/// ```swift
/// .surname(startsWith: "Love") && !.property(.country, equals: "France")
/// ```
///
/// A filter is a value. It is validated when the request is created, which throws an error with an alternative if the
/// service does not support it. An empty string is an error, because Graph would return all users for it.
///
/// A property with a list, such as `otherMails` or `assignedLicenses/skuId`, matches if one of its elements does.
public struct UserFilter: Sendable, Equatable {
    indirect enum Expression: Sendable, Equatable {
        case startsWith(UserProperty, String)
        case endsWith(UserProperty, String)
        case compare(UserProperty, Comparison, FilterValue)
        case oneOf(UserProperty, [FilterValue])
        case count(UserProperty, Comparison, Int)
        case element(UserProperty, Expression)
        case not(Expression)
        case all([Expression])
        case any([Expression])
        case text(SearchText)
        case raw(String)
    }

    enum Comparison: String, Sendable {
        case eq, ne, ge, le, gt, lt
    }

    let expression: Expression

    init(_ expression: Expression) { self.expression = expression }

    /// Returns a filter for users whose property starts with this string. Graph ignores case.
    public static func property(_ property: UserProperty, startsWith text: String) -> UserFilter {
        UserFilter(.startsWith(property, text))
    }

    /// Returns a filter for users whose property ends with this string.
    ///
    /// Only for `mail`, `otherMails`, `proxyAddresses` and `userPrincipalName`.
    public static func property(_ property: UserProperty, endsWith text: String) -> UserFilter {
        UserFilter(.endsWith(property, text))
    }

    /// Returns a filter for users whose property equals this string. Graph ignores case.
    public static func property(_ property: UserProperty, equals text: String) -> UserFilter {
        UserFilter(.compare(property, .eq, .text(text)))
    }

    /// Returns a filter for users whose property equals this value. ``FilterValue/null`` finds users without a value.
    public static func property(_ property: UserProperty, equals value: FilterValue) -> UserFilter {
        UserFilter(.compare(property, .eq, value))
    }

    /// Returns a filter for users whose property is a different string or has no value.
    public static func property(_ property: UserProperty, isNot text: String) -> UserFilter {
        UserFilter(.compare(property, .ne, .text(text)))
    }

    /// Returns a filter for users whose property has a different value. ``FilterValue/null`` finds users with a value.
    public static func property(_ property: UserProperty, isNot value: FilterValue) -> UserFilter {
        UserFilter(.compare(property, .ne, value))
    }

    /// Returns a filter for users whose property is one of these values. At least one is required.
    public static func property(_ property: UserProperty, isOneOf values: [FilterValue]) -> UserFilter {
        UserFilter(.oneOf(property, values))
    }

    /// Returns a filter for users whose property is this value or greater, for dates.
    public static func property(_ property: UserProperty, atLeast value: FilterValue) -> UserFilter {
        UserFilter(.compare(property, .ge, value))
    }

    /// Returns a filter for users whose property is this value or less, for dates.
    public static func property(_ property: UserProperty, atMost value: FilterValue) -> UserFilter {
        UserFilter(.compare(property, .le, value))
    }

    /// Returns a filter for users whose property is greater than this value, for dates.
    public static func property(_ property: UserProperty, above value: FilterValue) -> UserFilter {
        UserFilter(.compare(property, .gt, value))
    }

    /// Returns a filter for users whose property is less than this value, for dates.
    public static func property(_ property: UserProperty, below value: FilterValue) -> UserFilter {
        UserFilter(.compare(property, .lt, value))
    }

    /// Returns a filter for users whose list has this number of elements; 0 finds users with an empty list.
    public static func count(of list: UserProperty, equals number: Int) -> UserFilter {
        UserFilter(.count(list, .eq, number))
    }

    /// Returns a filter for users whose list has a different number of elements.
    public static func count(of list: UserProperty, isNot number: Int) -> UserFilter {
        UserFilter(.count(list, .ne, number))
    }

    /// Returns a filter for users with a list element that matches the whole filter.
    ///
    /// The filter uses the properties of the element; ``UserProperty/element`` is the element itself.
    ///
    /// ```swift
    /// .any(in: "identities", .property("issuer", equals: "contoso.com") && .property("issuerAssignedId", equals: "ada"))
    /// ```
    public static func any(in list: UserProperty, _ filter: UserFilter) -> UserFilter {
        UserFilter(.element(list, filter.expression))
    }

    /// Returns a filter for users who do not match the filter.
    public static func not(_ filter: UserFilter) -> UserFilter { UserFilter(.not(filter.expression)) }

    /// Returns a filter for users who match every filter. Up to 15 comparisons work without an advanced query.
    public static func all(of filters: [UserFilter]) -> UserFilter { UserFilter(.all(filters.map(\.expression))) }
    /// Returns a filter for users who match at least one filter. Up to 15 comparisons work without an advanced query.
    public static func any(of filters: [UserFilter]) -> UserFilter { UserFilter(.any(filters.map(\.expression))) }

    /// Returns a filter in OData syntax, sent verbatim. The caller escapes quotes.
    ///
    /// Set ``UserQuery/isAdvanced`` if it needs an advanced query for a reason that this library does not detect.
    public static func raw(_ text: String) -> UserFilter { UserFilter(.raw(text)) }

    /// Returns a filter for users who match both filters.
    public static func && (left: UserFilter, right: UserFilter) -> UserFilter { all(of: [left, right]) }
    /// Returns a filter for users who match at least one of the filters.
    public static func || (left: UserFilter, right: UserFilter) -> UserFilter { any(of: [left, right]) }
    /// Returns a filter for users who do not match the filter.
    public static prefix func ! (filter: UserFilter) -> UserFilter { not(filter) }
}

extension UserFilter {
    /// Returns a filter for users whose given name starts with this string.
    public static func givenName(startsWith text: String) -> UserFilter { property(.givenName, startsWith: text) }
    /// Returns a filter for users whose family name starts with this string.
    public static func surname(startsWith text: String) -> UserFilter { property(.surname, startsWith: text) }
    /// Returns a filter for users whose display name starts with this string.
    public static func displayName(startsWith text: String) -> UserFilter { property(.displayName, startsWith: text) }
    /// Returns a filter for users whose mail address starts with this string.
    public static func mail(startsWith text: String) -> UserFilter { property(.mail, startsWith: text) }
    /// Returns a filter for users whose sign-in name starts with this string.
    public static func userPrincipalName(startsWith text: String) -> UserFilter {
        property(.userPrincipalName, startsWith: text)
    }
    /// Returns a filter for users whose department starts with this string.
    public static func department(startsWith text: String) -> UserFilter { property(.department, startsWith: text) }
    /// Returns a filter for users whose job title starts with this string.
    public static func jobTitle(startsWith text: String) -> UserFilter { property(.jobTitle, startsWith: text) }
    /// Returns a filter for users whose office starts with this string.
    ///
    /// An advanced query, which Azure AD B2C tenants do not support.
    public static func officeLocation(startsWith text: String) -> UserFilter {
        property(.officeLocation, startsWith: text)
    }
}

extension UserFilter {
    /// Returns the value of `$filter`, not percent-encoded.
    ///
    /// - Throws: ``DirectoryError`` of the kind `emptySearch` if a value or a list of filters is empty, `invalidQuery`
    ///   if the service would reject the filter, or it has more than 32 levels or 500 comparisons.
    package func odata() throws(DirectoryError) -> String { try written().text }

    func written() throws(DirectoryError) -> WrittenFilter {
        var writer = FilterWriter()
        return try writer.write(self)
    }

    /// Whether the filter needs `ConsistencyLevel: eventual` and `$count=true`.
    var needsAdvancedQuery: Bool { (try? written())?.reasons.isEmpty == false }
}
