/// The name of a user's property in Graph, or of a member of a nested object: `employeeOrgData/division`. Any name is possible.
public struct UserProperty: RawRepresentable, Hashable, Sendable, CustomStringConvertible, ExpressibleByStringLiteral {
    /// The name on the wire, such as `givenName`.
    public let rawValue: String

    /// Creates the property with this name. The request checks the name.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// Creates the property with this name. The request checks the name.
    public init(stringLiteral value: String) { rawValue = value }

    /// The object's identifier.
    public static let id = UserProperty(rawValue: "id")
    /// The name in address books.
    public static let displayName = UserProperty(rawValue: "displayName")
    /// The given name.
    public static let givenName = UserProperty(rawValue: "givenName")
    /// The family name.
    public static let surname = UserProperty(rawValue: "surname")
    /// The mail address.
    public static let mail = UserProperty(rawValue: "mail")
    /// The sign-in name.
    public static let userPrincipalName = UserProperty(rawValue: "userPrincipalName")
    /// The job title.
    public static let jobTitle = UserProperty(rawValue: "jobTitle")
    /// The department.
    public static let department = UserProperty(rawValue: "department")
    /// The company.
    public static let companyName = UserProperty(rawValue: "companyName")
    /// The office.
    public static let officeLocation = UserProperty(rawValue: "officeLocation")
    /// The city.
    public static let city = UserProperty(rawValue: "city")
    /// The state or province.
    public static let state = UserProperty(rawValue: "state")
    /// The country or region.
    public static let country = UserProperty(rawValue: "country")
    /// Telephone numbers at work: a list.
    public static let businessPhones = UserProperty(rawValue: "businessPhones")
    /// The mobile telephone number.
    public static let mobilePhone = UserProperty(rawValue: "mobilePhone")
    /// Additional mail addresses: a list.
    public static let otherMails = UserProperty(rawValue: "otherMails")
    /// The addresses that receive mail, such as `smtp:ada@contoso.com`: a list.
    public static let proxyAddresses = UserProperty(rawValue: "proxyAddresses")
    /// The preferred language.
    public static let preferredLanguage = UserProperty(rawValue: "preferredLanguage")
    /// `Member` or `Guest`.
    public static let userType = UserProperty(rawValue: "userType")
    /// Whether the account is enabled.
    public static let accountEnabled = UserProperty(rawValue: "accountEnabled")
    /// The number of the employee in the organization.
    public static let employeeID = UserProperty(rawValue: "employeeId")
    /// The date of the creation of the account.
    public static let createdDateTime = UserProperty(rawValue: "createdDateTime")
    /// The licenses: a list.
    public static let assignedLicenses = UserProperty(rawValue: "assignedLicenses")
    /// The ways to sign in: a list.
    public static let identities = UserProperty(rawValue: "identities")
    /// The element itself, in ``UserFilter/any(in:_:)`` for lists of strings.
    public static let element = UserProperty(rawValue: "")

    /// The name on the wire.
    public var description: String { rawValue }

    /// The properties that the permission `User.ReadBasic.All` covers.
    static let basic: Set<String> = [
        "id", "displayName", "givenName", "surname", "mail", "userPrincipalName", "photo",
    ]

    /// Whether this is a valid property name: a letter or `_`, then letters, digits, `_`; `/` before a member.
    var isWellFormed: Bool {
        let parts = rawValue.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return parts.allSatisfy { part in
            guard let first = part.first, !first.isDigit else { return false }
            return part.count <= 128 && part.allSatisfy { $0.isAlphanumeric(or: "_") }
        }
    }
}
