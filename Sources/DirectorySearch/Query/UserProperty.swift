/// A property of a user, by Graph's own name. The set is open.
public struct UserProperty: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The name on the wire, such as `givenName`.
    public let rawValue: String

    /// The property of this name. Whether it is a name at all is checked when a request is built.
    public init(rawValue: String) { self.rawValue = rawValue }

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
    /// The office.
    public static let officeLocation = UserProperty(rawValue: "officeLocation")
    /// Telephone numbers at work.
    public static let businessPhones = UserProperty(rawValue: "businessPhones")
    /// The mobile telephone number.
    public static let mobilePhone = UserProperty(rawValue: "mobilePhone")
    /// The preferred language.
    public static let preferredLanguage = UserProperty(rawValue: "preferredLanguage")

    /// The name on the wire.
    public var description: String { rawValue }

    /// The properties on which Graph filters by `startsWith` and `eq` without an advanced query.
    private static let filteredByDefault: Set<String> = [
        "city", "country", "department", "displayName", "givenName", "jobTitle", "mail", "mailNickname",
        "onPremisesUserPrincipalName", "state", "surname", "usageLocation", "userPrincipalName",
    ]

    /// The properties that the permission `User.ReadBasic.All` lets a program read.
    static let basic: Set<String> = [
        "id", "displayName", "givenName", "surname", "mail", "userPrincipalName", "photo",
    ]

    /// Whether a `startsWith` on this property needs an advanced query.
    var startsWithNeedsAdvancedQuery: Bool { !Self.filteredByDefault.contains(rawValue) }

    /// Whether an `eq` on this property needs an advanced query.
    var equalsNeedsAdvancedQuery: Bool { rawValue != "id" && !Self.filteredByDefault.contains(rawValue) }

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
