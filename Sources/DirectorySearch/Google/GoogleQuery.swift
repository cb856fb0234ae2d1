/// Escaping for the Directory API of Google. No other code puts text into a search query.
enum GoogleEscaping {
    /// Returns a value of a clause: in single quotes, with quotes and backslashes escaped by a backslash.
    ///
    /// See [Search for users](https://developers.google.com/workspace/admin/directory/v1/guides/search-users).
    static func value(_ text: String) -> String {
        ODataEscaping.backslashQuoted(text, quote: "'")
    }
}

/// Writes a filter for Google's Directory API, as clauses that must all match.
///
/// Rejects a filter that the API does not support.
///
/// See [Search for users](https://developers.google.com/workspace/admin/directory/v1/guides/search-users).
struct GoogleQueryWriter {
    private typealias Expression = UserFilter.Expression

    private static let fields: [String: String] = [
        "givenName": "givenName", "surname": "familyName", "displayName": "name", "mail": "email",
        "userPrincipalName": "email", "otherMails": "email", "jobTitle": "orgTitle", "department": "orgDepartment",
        "companyName": "orgName", "employeeOrgData/costCenter": "orgCostCenter", "employeeId": "externalId",
        "streetAddress": "addressStreet", "city": "addressLocality", "state": "addressRegion",
        "postalCode": "addressPostalCode", "country": "addressCountry", "businessPhones": "phone",
        "mobilePhone": "phone", "manager/id": "directManagerId", "manager/mail": "directManager",
    ]
    /// The fields that support prefix matching.
    private static let prefixed: Set<String> = ["givenName", "familyName", "email"]

    private var clauses: [String] = []

    /// Returns the query for a filter.
    ///
    /// - Throws: ``DirectoryError`` of the kind `emptySearch` if a value is empty, `invalidQuery` if Google does not
    ///   support the filter.
    static func text(_ filter: UserFilter) throws(DirectoryError) -> String {
        var writer = GoogleQueryWriter()
        try writer.write(filter.expression, depth: 0)
        return writer.clauses.joined(separator: " ")
    }

    private mutating func write(_ expression: Expression, depth: Int) throws(DirectoryError) {
        guard depth <= UserQuery.maximumNesting else {
            throw .invalidQuery("the filter nests deeper than \(UserQuery.maximumNesting) levels")
        }
        switch expression {
        case .startsWith(let property, let text):
            guard !text.isBlank else { throw DirectoryError(.emptySearch) }
            let field = try field(property)
            guard Self.prefixed.contains(field) else {
                throw .invalidQuery(
                    "Google's directory compares the beginning of givenName, surname, mail and userPrincipalName only; ask for "
                        + "the whole \(property)" + (field == "name" ? ", or for its words with a search" : ""))
            }
            try add("\(field):\(GoogleEscaping.value(text))*")
        case .endsWith(let property, _):
            throw .invalidQuery(
                "Google's directory does not compare the end of \(property.rawValue.visible(limit: 100)); ask for the whole "
                    + "or, for names and mail, the beginning")
        case .compare(let property, let comparison, let value): try compare(property, comparison, value)
        case .oneOf(let property, let values):
            guard let first = values.first else { throw DirectoryError(.emptySearch) }
            guard values.count == 1 else { throw Self.alternatives }
            try compare(property, .eq, first)
        case .count(let property, _, _), .element(let property, _):
            throw .invalidQuery(
                "Google's directory does not look into the list \(property.rawValue.visible(limit: 100)); compare the property "
                    + "itself")
        case .not(let inner):
            if case .compare(.accountEnabled, .eq, .bool(let bool)) = inner {
                try compare(.accountEnabled, .eq, .bool(!bool))
            } else {
                throw .invalidQuery(
                    "Google's directory does not support \"not\"; search without it, and omit users from the result")
            }
        case .all(let parts):
            guard !parts.isEmpty else { throw DirectoryError(.emptySearch) }
            for part in parts { try write(part, depth: depth + 1) }
        case .any(let parts):
            guard let first = parts.first else { throw DirectoryError(.emptySearch) }
            guard parts.count == 1 else { throw Self.alternatives }
            try write(first, depth: depth + 1)
        case .text(let text):
            guard !text.words.isEmpty else { throw DirectoryError(.emptySearch) }
            // Google has no "or", but compares a value without a field with givenName, familyName and email.
            for word in text.words { try add(GoogleEscaping.value(word)) }
        case .raw(let text):
            guard !text.isBlank else { throw DirectoryError(.emptySearch) }
            try add(text)
        }
    }

    private mutating func compare(
        _ property: UserProperty, _ comparison: UserFilter.Comparison, _ value: FilterValue
    ) throws(DirectoryError) {
        guard comparison == .eq else {
            throw .invalidQuery(
                "Google's directory compares \(property.rawValue.visible(limit: 100)) for equality only, not with "
                    + "\"\(comparison.rawValue)\"")
        }
        if property == .accountEnabled {
            switch value {
            case .bool(let bool): return try add("isSuspended=\(!bool)")
            case .text(let text) where text.lowercased() == "true": return try add("isSuspended=false")
            case .text(let text) where text.lowercased() == "false": return try add("isSuspended=true")
            default: throw .invalidQuery("accountEnabled is compared with true or false")
            }
        }
        let field = try field(property)
        switch value {
        case .text(let text):
            guard !text.isBlank else { throw DirectoryError(.emptySearch) }
            try add("\(field)=\(GoogleEscaping.value(text))")
        case .number(let number): try add("\(field)=\(number)")
        case .null:
            throw .invalidQuery("Google's directory does not find those without a \(property); ask for a value")
        case .bool, .date, .identifier: throw .invalidQuery("\(property) requires a string")
        }
    }

    /// Returns the filter for the words of a name in their order.
    static func words(_ text: String) throws(DirectoryError) -> UserFilter {
        guard !text.isBlank else { throw DirectoryError(.emptySearch) }
        return .raw("name:\(GoogleEscaping.value(text))")
    }

    private func field(_ property: UserProperty) throws(DirectoryError) -> String {
        guard let field = Self.fields[property.rawValue] else {
            let hint = property == .id ? "; ask for the one person by the identifier" : ""
            throw .invalidQuery(
                "Google's directory does not compare \"\(property.rawValue.visible(limit: 100))\"; it compares "
                    + "accountEnabled, \(Self.fields.keys.sorted().joined(separator: ", "))\(hint)")
        }
        return field
    }

    private mutating func add(_ clause: String) throws(DirectoryError) {
        clauses.append(clause)
        guard clauses.count <= UserQuery.maximumComparisons else {
            throw .invalidQuery(
                "the filter has more than \(UserQuery.maximumComparisons) comparisons; ask in several queries")
        }
    }

    private static let alternatives = DirectoryError.invalidQuery(
        "Google's directory does not support \"or\"; search for each alternative separately")
}

extension UserQuery {
    /// Returns the request for this query's first page in Google's Directory API.
    ///
    /// A raw filter is in Google's language. A search finds whole words of the display name. Google returns all
    /// properties, regardless of ``select``.
    ///
    /// - Throws: ``DirectoryError`` of the kind `emptySearch` if a value is empty, `invalidQuery` with an alternative
    ///   if Google does not support the query.
    package func googleRequest() throws(DirectoryError) -> DirectoryRequest {
        try checkOptions(of: "Google's directory")
        if countsTotal {
            throw .invalidQuery("Google's directory does not say how many there are; ask without the total")
        }
        // The customer of the signed-in administrator.
        var options = ["customer=my_customer"]
        let filter = try wholeFilter(GoogleQueryWriter.words).map(GoogleQueryWriter.text)
        if let filter { options.append("query=" + ODataEscaping.queryValue(filter)) }
        guard orderBy.count <= 1 else {
            throw .invalidQuery("Google's directory sorts by one property only")
        }
        if let order = orderBy.first {
            guard let name = Self.googleOrders[order.property.rawValue] else {
                throw .invalidQuery(
                    "Google's directory does not sort by \"\(order.property.rawValue.visible(limit: 100))\"; it sorts by "
                        + Self.googleOrders.keys.sorted().joined(separator: ", "))
            }
            options += ["orderBy=\(name)", "sortOrder=" + (order.isDescending ? "DESCENDING" : "ASCENDING")]
        }
        options.append("maxResults=\(pageCount(atMost: 500))")
        return DirectoryRequest(
            target: "users?" + options.joined(separator: "&"), accept: "application/json", filter: filter,
            permissions: [GoogleDirectory.scope])
    }

    private static let googleOrders = [
        "mail": "email", "userPrincipalName": "email", "givenName": "givenName", "surname": "familyName",
    ]
}
