public import Platform

/// A constant that a property is compared with.
public enum FilterValue: Sendable, Hashable {
    /// A text.
    case text(String)
    /// `true` or `false`.
    case truth(Bool)
    /// A whole number.
    case number(Int64)
    /// A moment, sent in UTC with whole seconds.
    case date(Date)
    /// An identifier of the kind that stands without quotes, such as a licence's `skuId`.
    case identifier(UUID)
    /// No value at all.
    case null
}

extension FilterValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral {
    /// A text.
    public init(stringLiteral value: String) { self = .text(value) }
    /// A truth value.
    public init(booleanLiteral value: Bool) { self = .truth(value) }
    /// A whole number.
    public init(integerLiteral value: Int64) { self = .number(value) }
}

extension FilterValue {
    /// What a property of this path holds, where it is known and no text.
    enum Kind {
        case truth, date, identifier
    }

    private static let kinds: [String: Kind] = [
        "accountEnabled": .truth, "isResourceAccount": .truth, "onPremisesSyncEnabled": .truth,
        "showInAddressList": .truth, "passwordProfile/forceChangePasswordNextSignIn": .truth,
        "passwordProfile/forceChangePasswordNextSignInWithMfa": .truth, "createdDateTime": .date,
        "employeeHireDate": .date, "manager/deletedDateTime": .date, "onPremisesLastSyncDateTime": .date,
        "deletedDateTime": .date, "signInActivity/lastSignInDateTime": .date,
        "signInActivity/lastSuccessfulSignInDateTime": .date, "assignedLicenses/skuId": .identifier,
        "assignedPlans/servicePlanId": .identifier,
    ]

    /// The value as the property at this path is compared with it: a text becomes a date, a truth value or an identifier where the
    /// property holds one. OData writes these without quotes.
    ///
    /// - Throws: ``DirectoryError`` of the kind `invalidQuery` when the text is no such value.
    func literal(for path: String) throws(DirectoryError) -> String {
        switch self {
        case .null: return "null"
        case .truth(let value): return value ? "true" : "false"
        case .number(let value): return String(value)
        case .date(let value): return value.formatted(.iso8601)
        case .identifier(let value): return value.uuidString.lowercased()
        case .text(let text):
            switch Self.kinds[path] {
            case nil: return ODataEscaping.literal(text)
            case .truth?:
                let word = text.lowercased()
                guard word == "true" || word == "false" else { throw Self.wrong(path, "true or false", text) }
                return word
            case .date?:
                guard ServerDate.isLiteral(text) else {
                    throw Self.wrong(path, "a date such as 2026-01-31T00:00:00Z", text)
                }
                return text
            case .identifier?:
                guard let value = UUID(uuidString: text) else { throw Self.wrong(path, "a UUID", text) }
                return value.uuidString.lowercased()
            }
        }
    }

    private static func wrong(_ path: String, _ expected: String, _ text: String) -> DirectoryError {
        DirectoryError.invalidQuery("\(path) is compared with \(expected), not with \"\(text.visible(limit: 60))\"")
    }
}
