public import Platform

/// A value to compare a property with.
public enum FilterValue: Sendable, Hashable {
    /// A text.
    case text(String)
    /// `true` or `false`.
    case bool(Bool)
    /// A whole number.
    case number(Int64)
    /// A date, sent in UTC with whole seconds.
    case date(Date)
    /// An identifier without quotes, such as the `skuId` of a license.
    case identifier(UUID)
    /// No value.
    case null
}

extension FilterValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral {
    /// Creates a text.
    public init(stringLiteral value: String) { self = .text(value) }
    /// Creates a Boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// Creates a whole number.
    public init(integerLiteral value: Int64) { self = .number(value) }
}

extension FilterValue {
    /// The kind of a property's value, if it is not text.
    enum Kind: Sendable {
        case bool, date, identifier

        /// Returns a text as the literal of a value, without quotes.
        ///
        /// - Parameter name: The name of the property, for the error.
        func literal(_ text: String, of name: String) throws(DirectoryError) -> String {
            let folded = text.lowercased()
            let (literal, expected): (String?, String) =
                switch self {
                case .bool: (folded == "true" || folded == "false" ? folded : nil, "true or false")
                case .date: (ServerDate.isLiteral(text) ? text : nil, "a date such as 2026-01-31T00:00:00Z")
                case .identifier: (UUID(uuidString: text)?.uuidString.lowercased(), "a UUID")
                }
            guard let literal else {
                throw .invalidQuery("\(name) is compared with \(expected), not with \"\(text.visible(limit: 60))\"")
            }
            return literal
        }
    }

    private static let kinds: [String: Kind] = [
        "accountEnabled": .bool, "isResourceAccount": .bool, "onPremisesSyncEnabled": .bool,
        "showInAddressList": .bool, "passwordProfile/forceChangePasswordNextSignIn": .bool,
        "passwordProfile/forceChangePasswordNextSignInWithMfa": .bool, "createdDateTime": .date,
        "employeeHireDate": .date, "manager/deletedDateTime": .date, "onPremisesLastSyncDateTime": .date,
        "deletedDateTime": .date, "signInActivity/lastSignInDateTime": .date,
        "signInActivity/lastSuccessfulSignInDateTime": .date, "assignedLicenses/skuId": .identifier,
        "assignedPlans/servicePlanId": .identifier,
    ]

    /// Returns the value as OData for the property at this path. A text becomes a date, Boolean or identifier without quotes if the
    /// property has such a value.
    ///
    /// - Throws: ``DirectoryError`` of the kind `invalidQuery` if the text is not such a value.
    func literal(for path: String) throws(DirectoryError) -> String {
        switch self {
        case .null: return "null"
        case .bool(let value): return value ? "true" : "false"
        case .number(let value): return String(value)
        case .date(let value): return value.rfc3339
        case .identifier(let value): return value.uuidString.lowercased()
        case .text(let text): return try Self.kinds[path]?.literal(text, of: path) ?? ODataEscaping.literal(text)
        }
    }
}
