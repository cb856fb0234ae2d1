/// A property of a user, by Graph's own name. The set is open; a member of a nested object stands behind a slash, as in
/// `employeeOrgData/division`.
public struct UserProperty: RawRepresentable, Hashable, Sendable, CustomStringConvertible, ExpressibleByStringLiteral {
    /// The name on the wire, such as `givenName`.
    public let rawValue: String

    /// The property of this name. Whether it is a name at all is checked when a request is built.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The property of this name. Whether it is a name at all is checked when a request is built.
    public init(stringLiteral value: String) { rawValue = value }

    /// The object's identifier.
    public static let id = UserProperty(rawValue: "id")
    /// The name shown in address books.
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
    /// Further mail addresses: a list.
    public static let otherMails = UserProperty(rawValue: "otherMails")
    /// The addresses under which mail arrives, such as `smtp:ada@contoso.com`: a list.
    public static let proxyAddresses = UserProperty(rawValue: "proxyAddresses")
    /// The preferred language.
    public static let preferredLanguage = UserProperty(rawValue: "preferredLanguage")
    /// `Member` or `Guest`.
    public static let userType = UserProperty(rawValue: "userType")
    /// Whether the account is enabled.
    public static let accountEnabled = UserProperty(rawValue: "accountEnabled")
    /// The number that the organization knows the person by.
    public static let employeeID = UserProperty(rawValue: "employeeId")
    /// When the account was made.
    public static let createdDateTime = UserProperty(rawValue: "createdDateTime")
    /// The licences of the person: a list.
    public static let assignedLicenses = UserProperty(rawValue: "assignedLicenses")
    /// The ways to sign in: a list.
    public static let identities = UserProperty(rawValue: "identities")
    /// Within ``UserFilter/any(in:_:)``: the element itself, for lists of texts.
    public static let element = UserProperty(rawValue: "")

    /// The name on the wire.
    public var description: String { rawValue }

    /// The properties that the permission `User.ReadBasic.All` lets a program read.
    static let basic: Set<String> = [
        "id", "displayName", "givenName", "surname", "mail", "userPrincipalName", "photo",
    ]

    /// Whether this can be a property's name: a letter or `_`, then letters, digits, `_`; `/` between a complex property
    /// and its member.
    var isWellFormed: Bool {
        let parts = rawValue.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return parts.allSatisfy { part in
            guard let first = part.first, !(0x30...0x39).contains(first) else { return false }
            return part.count <= 128
                && part.allSatisfy { byte in
                    switch byte {
                    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"): true
                    default: false
                    }
                }
        }
    }
}
