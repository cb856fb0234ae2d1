import LodgePlatform

/// A value for a comparison with a property.
public enum FilterValue: Sendable, Hashable {
    /// A string.
    case text(String)
    /// `true` or `false`.
    case bool(Bool)
    /// An integer.
    case number(Int64)
    /// A date, sent in UTC with whole seconds.
    case date(Date)
    /// An identifier without quotes, such as the `skuId` of a license.
    case identifier(UUID)
    /// No value.
    case null
}

extension FilterValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral {
    /// Creates a string value.
    public init(stringLiteral value: String) { self = .text(value) }
    /// Creates a Boolean value.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// Creates an integer value.
    public init(integerLiteral value: Int64) { self = .number(value) }
}

extension FilterValue {
    /// The type of a property's value other than a string.
    enum Kind: Sendable {
        case bool, date, identifier

        /// Returns a string as an unquoted literal.
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

    /// Returns the OData literal for the property at this path.
    ///
    /// A string becomes an unquoted date, Boolean or identifier if the property has this type.
    ///
    /// - Throws: ``DirectoryError`` of the kind `invalidQuery` if the string is not such a value.
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
