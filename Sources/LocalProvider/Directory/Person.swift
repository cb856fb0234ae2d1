import StrictJSON

/// An invented person of the directory.
public struct Person: Sendable, Equatable, Identifiable {
    /// The object identifier, a UUID.
    public let id: String
    /// The name shown; nil for a few.
    public let displayName: String?
    /// The given name; nil for rooms and a few others.
    public let givenName: String?
    /// The surname; nil for rooms and a few others.
    public let surname: String?
    /// The mail address; nil for a few.
    public let mail: String?
    /// The name for signing in. Contains `#EXT#` for guests.
    public let userPrincipalName: String
    /// The job title.
    public let jobTitle: String?
    /// The department.
    public let department: String?
    /// The office.
    public let officeLocation: String?
    /// The mobile telephone number.
    public let mobilePhone: String?
    /// The office telephone numbers; may be empty.
    public let businessPhones: [String]
    /// The language, such as `en-GB`.
    public let preferredLanguage: String?
    /// The city.
    public let city: String?
    /// The country.
    public let country: String?
    /// The company; nil for guests.
    public let companyName: String?
    /// The number in personnel's files.
    public let employeeID: String?
    /// Whether the account may sign in.
    public let accountEnabled: Bool
    /// Whether the person belongs to another organisation.
    public let isGuest: Bool
    /// When the account was made, as `2021-03-04T05:06:07Z`.
    public let createdDateTime: String
    /// The place of the manager in the directory.
    let manager: Int?
}

/// A property of a user that the directory knows.
enum UserProperty: String, CaseIterable {
    case businessPhones, displayName, givenName, jobTitle, mail, mobilePhone, officeLocation, preferredLanguage,
        surname,
        userPrincipalName, id
    case accountEnabled, city, companyName, country, createdDateTime, department, employeeId, mailNickname, userType

    /// What comes without `$select`, in Graph's order.
    static let defaults: [UserProperty] = [
        .businessPhones, .displayName, .givenName, .jobTitle, .mail, .mobilePhone, .officeLocation, .preferredLanguage,
        .surname, .userPrincipalName, .id,
    ]

    /// What the permission User.ReadBasic.All lets see.
    static let basic: Set<UserProperty> = [.displayName, .givenName, .surname, .mail, .userPrincipalName, .id]

    /// What exists only when one user is asked for; on a list, Graph answers 501.
    static let singleOnly: Set<String> = [
        "aboutme", "birthday", "hiredate", "interests", "mysite", "pastprojects", "preferredname", "responsibilities",
        "schools", "skills", "mailboxsettings",
    ]

    private static let byName = Dictionary(uniqueKeysWithValues: allCases.map { ($0.rawValue.lowercased(), $0) })

    /// The property of this name, whatever its case.
    init?(name: some StringProtocol) {
        guard let property = Self.byName[name.lowercased()] else { return nil }
        self = property
    }

    /// How well the service can look for a property in one way.
    enum Support {
        case always
        case advanced
        case never
    }

    /// `eq` and `in`.
    var equality: Support {
        switch self {
        case .companyName, .mobilePhone, .officeLocation, .preferredLanguage, .businessPhones: .advanced
        default: .always
        }
    }

    var startsWith: Support {
        switch self {
        case .city, .country, .department, .displayName, .givenName, .jobTitle, .mail, .mailNickname, .surname,
            .userPrincipalName:
            .always
        case .companyName, .mobilePhone, .officeLocation, .preferredLanguage, .businessPhones: .advanced
        case .accountEnabled, .createdDateTime, .employeeId, .id, .userType: .never
        }
    }

    var endsWith: Support { self == .mail || self == .userPrincipalName ? .advanced : .never }

    /// Comparison with `null`.
    var nullTest: Support {
        switch self {
        case .accountEnabled, .userPrincipalName, .id, .businessPhones: .never
        default: .advanced
        }
    }

    /// `ge`, `le`, `gt`, `lt`.
    var order: Support { self == .createdDateTime ? .always : .never }
}

extension Person {
    /// The text of a property; nil when it is not set or is no text.
    func text(_ property: UserProperty) -> String? {
        switch property {
        case .id: id
        case .displayName: displayName
        case .givenName: givenName
        case .surname: surname
        case .mail: mail
        case .userPrincipalName: userPrincipalName
        case .jobTitle: jobTitle
        case .department: department
        case .officeLocation: officeLocation
        case .mobilePhone: mobilePhone
        case .preferredLanguage: preferredLanguage
        case .city: city
        case .country: country
        case .companyName: companyName
        case .employeeId: employeeID
        case .createdDateTime: createdDateTime
        case .userType: isGuest ? "Guest" : "Member"
        case .mailNickname: String(userPrincipalName.prefix { $0 != "@" && $0 != "#" })
        case .accountEnabled, .businessPhones: nil
        }
    }

    /// A property as Graph writes it.
    func json(_ property: UserProperty) -> JSONValue {
        switch property {
        case .accountEnabled: .bool(accountEnabled)
        case .businessPhones: .array(businessPhones.map { .string($0) })
        default: text(property).map { .string($0) } ?? .null
        }
    }
}
