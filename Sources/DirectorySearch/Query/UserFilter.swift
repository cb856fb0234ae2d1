import Platform

/// Which people a search is for.
///
/// ```swift
/// .surname(startsWith: "Love") && !.property(.country, equals: "France")
/// ```
///
/// A filter is a value; it is checked and written when a request is built. What the service would refuse is refused then, with the
/// reason and what would work. A filter with an empty text is refused too, because Graph would take it for "everybody".
///
/// A property that is a list, such as `otherMails` or `assignedLicenses/skuId`, is compared element by element: one is enough.
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
        case raw(String)
    }

    enum Comparison: String, Sendable {
        case eq, ne, ge, le, gt, lt
    }

    let expression: Expression

    init(_ expression: Expression) { self.expression = expression }

    /// People whose property starts with this text. Graph compares without case.
    public static func property(_ property: UserProperty, startsWith text: String) -> UserFilter {
        UserFilter(.startsWith(property, text))
    }

    /// People whose property ends with this text. Only for `mail`, `otherMails`, `proxyAddresses` and `userPrincipalName`.
    public static func property(_ property: UserProperty, endsWith text: String) -> UserFilter {
        UserFilter(.endsWith(property, text))
    }

    /// People whose property is this text. Graph compares without case.
    public static func property(_ property: UserProperty, equals text: String) -> UserFilter {
        UserFilter(.compare(property, .eq, .text(text)))
    }

    /// People whose property is this value. ``FilterValue/null`` finds those who have none.
    public static func property(_ property: UserProperty, equals value: FilterValue) -> UserFilter {
        UserFilter(.compare(property, .eq, value))
    }

    /// People whose property is another text, or who have none.
    public static func property(_ property: UserProperty, isNot text: String) -> UserFilter {
        UserFilter(.compare(property, .ne, .text(text)))
    }

    /// People whose property is another value. ``FilterValue/null`` finds those who have one.
    public static func property(_ property: UserProperty, isNot value: FilterValue) -> UserFilter {
        UserFilter(.compare(property, .ne, value))
    }

    /// People whose property is one of these values. At least one is needed.
    public static func property(_ property: UserProperty, isOneOf values: [FilterValue]) -> UserFilter {
        UserFilter(.oneOf(property, values))
    }

    /// People whose property is this value or a greater one: for dates.
    public static func property(_ property: UserProperty, atLeast value: FilterValue) -> UserFilter {
        UserFilter(.compare(property, .ge, value))
    }

    /// People whose property is this value or a smaller one: for dates.
    public static func property(_ property: UserProperty, atMost value: FilterValue) -> UserFilter {
        UserFilter(.compare(property, .le, value))
    }

    /// People whose property is greater than this value: for dates.
    public static func property(_ property: UserProperty, above value: FilterValue) -> UserFilter {
        UserFilter(.compare(property, .gt, value))
    }

    /// People whose property is smaller than this value: for dates.
    public static func property(_ property: UserProperty, below value: FilterValue) -> UserFilter {
        UserFilter(.compare(property, .lt, value))
    }

    /// People whose list has this many elements: ``count(of:equals:)`` with 0 finds those without any.
    public static func count(of list: UserProperty, equals number: Int) -> UserFilter {
        UserFilter(.count(list, .eq, number))
    }

    /// People whose list has any other number of elements.
    public static func count(of list: UserProperty, isNot number: Int) -> UserFilter {
        UserFilter(.count(list, .ne, number))
    }

    /// People with an element in this list to which the filter applies as a whole. The filter's properties are those of the
    /// element; ``UserProperty/element`` is the element itself.
    ///
    /// ```swift
    /// .any(in: "identities", .property("issuer", equals: "contoso.com") && .property("issuerAssignedId", equals: "ada"))
    /// ```
    public static func any(in list: UserProperty, _ filter: UserFilter) -> UserFilter {
        UserFilter(.element(list, filter.expression))
    }

    /// People to whom the filter does not apply.
    public static func not(_ filter: UserFilter) -> UserFilter { UserFilter(.not(filter.expression)) }

    /// People to whom every filter applies. Up to 15 comparisons work without an advanced query.
    public static func all(of filters: [UserFilter]) -> UserFilter { UserFilter(.all(filters.map(\.expression))) }
    /// People to whom at least one filter applies. Up to 15 comparisons work without an advanced query.
    public static func any(of filters: [UserFilter]) -> UserFilter { UserFilter(.any(filters.map(\.expression))) }

    /// A filter in OData's own words, sent as it is but for the percent-encoding. Quotes in it are the caller's work. What in it is
    /// known to need an advanced query is seen; for anything else there is ``UserQuery/isAdvanced``.
    public static func raw(_ text: String) -> UserFilter { UserFilter(.raw(text)) }

    /// People to whom both filters apply.
    public static func && (left: UserFilter, right: UserFilter) -> UserFilter { all(of: [left, right]) }
    /// People to whom one of the filters applies, or both.
    public static func || (left: UserFilter, right: UserFilter) -> UserFilter { any(of: [left, right]) }
    /// People to whom the filter does not apply.
    public static prefix func ! (filter: UserFilter) -> UserFilter { not(filter) }
}

extension UserFilter {
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
}

extension UserFilter {
    /// The value of `$filter`, not yet percent-encoded.
    ///
    /// - Throws: ``DirectoryError`` of the kind `emptySearch` for a text of nothing but white space or a list without
    ///   filters, `invalidQuery` for what the service would refuse, a filter nested deeper than 32 levels or one of more than 500
    ///   comparisons.
    public func odata() throws(DirectoryError) -> String { try written().text }

    func written() throws(DirectoryError) -> WrittenFilter {
        var writer = FilterWriter()
        return try writer.write(self)
    }

    /// Whether this needs `ConsistencyLevel: eventual` and `$count=true`.
    var needsAdvancedQuery: Bool { (try? written())?.reasons.isEmpty == false }
}
