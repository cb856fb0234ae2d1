import Platform

/// A condition for users.
///
/// ```swift
/// .surname(startsWith: "Love") && !.property(.country, equals: "France")
/// ```
///
/// A filter is a value. It is checked and written with the request, and throws an error with an alternative if the service does not
/// support it. An empty text is an error, because Graph would return all users for it.
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

    /// Users whose property starts with this text. Graph ignores case.
    public static func property(_ property: UserProperty, startsWith text: String) -> UserFilter {
        UserFilter(.startsWith(property, text))
    }

    /// Users whose property ends with this text, only for `mail`, `otherMails`, `proxyAddresses` and `userPrincipalName`.
    public static func property(_ property: UserProperty, endsWith text: String) -> UserFilter {
        UserFilter(.endsWith(property, text))
    }

    /// Users whose property is this text. Graph ignores case.
    public static func property(_ property: UserProperty, equals text: String) -> UserFilter {
        UserFilter(.compare(property, .eq, .text(text)))
    }

    /// Users whose property is this value. ``FilterValue/null`` finds users without a value.
    public static func property(_ property: UserProperty, equals value: FilterValue) -> UserFilter {
        UserFilter(.compare(property, .eq, value))
    }

    /// Users whose property is another text or has no value.
    public static func property(_ property: UserProperty, isNot text: String) -> UserFilter {
        UserFilter(.compare(property, .ne, .text(text)))
    }

    /// Users whose property is another value. ``FilterValue/null`` finds users with a value.
    public static func property(_ property: UserProperty, isNot value: FilterValue) -> UserFilter {
        UserFilter(.compare(property, .ne, value))
    }

    /// Users whose property is one of these values. At least one is required.
    public static func property(_ property: UserProperty, isOneOf values: [FilterValue]) -> UserFilter {
        UserFilter(.oneOf(property, values))
    }

    /// Users whose property is this value or greater: for dates.
    public static func property(_ property: UserProperty, atLeast value: FilterValue) -> UserFilter {
        UserFilter(.compare(property, .ge, value))
    }

    /// Users whose property is this value or less: for dates.
    public static func property(_ property: UserProperty, atMost value: FilterValue) -> UserFilter {
        UserFilter(.compare(property, .le, value))
    }

    /// Users whose property is greater than this value: for dates.
    public static func property(_ property: UserProperty, above value: FilterValue) -> UserFilter {
        UserFilter(.compare(property, .gt, value))
    }

    /// Users whose property is less than this value: for dates.
    public static func property(_ property: UserProperty, below value: FilterValue) -> UserFilter {
        UserFilter(.compare(property, .lt, value))
    }

    /// Users whose list has this number of elements; 0 finds users with an empty list.
    public static func count(of list: UserProperty, equals number: Int) -> UserFilter {
        UserFilter(.count(list, .eq, number))
    }

    /// Users whose list has another number of elements.
    public static func count(of list: UserProperty, isNot number: Int) -> UserFilter {
        UserFilter(.count(list, .ne, number))
    }

    /// Users with an element in this list that matches the whole filter. The filter has the properties of the element;
    /// ``UserProperty/element`` is the element itself.
    ///
    /// ```swift
    /// .any(in: "identities", .property("issuer", equals: "contoso.com") && .property("issuerAssignedId", equals: "ada"))
    /// ```
    public static func any(in list: UserProperty, _ filter: UserFilter) -> UserFilter {
        UserFilter(.element(list, filter.expression))
    }

    /// Users who do not match the filter.
    public static func not(_ filter: UserFilter) -> UserFilter { UserFilter(.not(filter.expression)) }

    /// Users who match every filter. Up to 15 comparisons work without an advanced query.
    public static func all(of filters: [UserFilter]) -> UserFilter { UserFilter(.all(filters.map(\.expression))) }
    /// Users who match at least one filter. Up to 15 comparisons work without an advanced query.
    public static func any(of filters: [UserFilter]) -> UserFilter { UserFilter(.any(filters.map(\.expression))) }

    /// A filter in OData syntax, sent verbatim. The caller escapes quotes. If it needs an advanced query for a reason that this does
    /// not detect, set ``UserQuery/isAdvanced``.
    public static func raw(_ text: String) -> UserFilter { UserFilter(.raw(text)) }

    /// Users who match both filters.
    public static func && (left: UserFilter, right: UserFilter) -> UserFilter { all(of: [left, right]) }
    /// Users who match at least one of the filters.
    public static func || (left: UserFilter, right: UserFilter) -> UserFilter { any(of: [left, right]) }
    /// Users who do not match the filter.
    public static prefix func ! (filter: UserFilter) -> UserFilter { not(filter) }
}

extension UserFilter {
    /// Users whose given name starts with this text.
    public static func givenName(startsWith text: String) -> UserFilter { property(.givenName, startsWith: text) }
    /// Users whose family name starts with this text.
    public static func surname(startsWith text: String) -> UserFilter { property(.surname, startsWith: text) }
    /// Users whose display name starts with this text.
    public static func displayName(startsWith text: String) -> UserFilter { property(.displayName, startsWith: text) }
    /// Users whose mail address starts with this text.
    public static func mail(startsWith text: String) -> UserFilter { property(.mail, startsWith: text) }
    /// Users whose sign-in name starts with this text.
    public static func userPrincipalName(startsWith text: String) -> UserFilter {
        property(.userPrincipalName, startsWith: text)
    }
    /// Users whose department starts with this text.
    public static func department(startsWith text: String) -> UserFilter { property(.department, startsWith: text) }
    /// Users whose job title starts with this text.
    public static func jobTitle(startsWith text: String) -> UserFilter { property(.jobTitle, startsWith: text) }
    /// Users whose office starts with this text. An advanced query, which Azure AD B2C tenants do not support.
    public static func officeLocation(startsWith text: String) -> UserFilter {
        property(.officeLocation, startsWith: text)
    }
}

extension UserFilter {
    /// Returns the value of `$filter`, not percent-encoded.
    ///
    /// - Throws: ``DirectoryError`` of the kind `emptySearch` if a text or a list of filters is empty, `invalidQuery` if the service
    ///   would reject the filter, or it has more than 32 levels or 500 comparisons.
    public func odata() throws(DirectoryError) -> String { try written().text }

    func written() throws(DirectoryError) -> WrittenFilter {
        var writer = FilterWriter()
        return try writer.write(self)
    }

    /// Whether this needs `ConsistencyLevel: eventual` and `$count=true`.
    var needsAdvancedQuery: Bool { (try? written())?.reasons.isEmpty == false }
}
