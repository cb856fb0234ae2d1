import StrictJSON

/// A user of the directory.
public struct StoredUser: Sendable, Equatable, Identifiable {
    /// The object identifier, a UUID.
    public let id: String
    /// The display name; `nil` for a few users.
    public var displayName: String?
    /// The given name; `nil` for rooms and a few other users.
    public var givenName: String?
    /// The surname; `nil` for rooms and a few other users.
    public var surname: String?
    /// The mail address; `nil` for a few users.
    public var mail: String?
    /// The sign-in name. Contains `#EXT#` for guests.
    public var userPrincipalName: String
    /// The job title.
    public var jobTitle: String?
    /// The department.
    public var department: String?
    /// The office.
    public var officeLocation: String?
    /// The mobile telephone number.
    public var mobilePhone: String?
    /// The office telephone numbers. Can be empty.
    public var businessPhones: [String]
    /// The language, such as `en-GB`.
    public var preferredLanguage: String?
    /// The city.
    public var city: String?
    /// The country.
    public var country: String?
    /// The company; `nil` for guests.
    public var companyName: String?
    /// The employee number.
    public var employeeID: String?
    /// Whether the account can sign in.
    public var accountEnabled: Bool
    /// Whether the user belongs to another organization.
    public var isGuest: Bool
    /// The creation time of the account, such as `2021-03-04T05:06:07Z`.
    public var createdDateTime: String
    /// The position of the manager in the directory.
    var manager: Int?
    var deletedDateTime: String?
}

extension StoredUser {
    /// Creates a user of the organization.
    ///
    /// The mail address equals the user principal name. No other properties are set.
    ///
    /// - Parameters:
    ///   - id: The object identifier, a UUID in lowercase. It must be unique.
    ///   - userPrincipalName: The sign-in name. It must be unique.
    ///   - createdDateTime: The creation time, in the form `2021-03-04T05:06:07Z`.
    public init(
        id: String, userPrincipalName: String, displayName: String?, givenName: String? = nil, surname: String? = nil,
        createdDateTime: String = "2024-01-01T08:00:00Z"
    ) {
        self.init(
            id: id, displayName: displayName, givenName: givenName, surname: surname, mail: userPrincipalName,
            userPrincipalName: userPrincipalName, jobTitle: nil, department: nil, officeLocation: nil,
            mobilePhone: nil, businessPhones: [], preferredLanguage: nil, city: nil, country: nil, companyName: nil,
            employeeID: nil, accountEnabled: true, isGuest: false, createdDateTime: createdDateTime, manager: nil)
    }
}

extension StoredUser: UserValues {
    /// Returns the value of a string property, or `nil` if it is not set or not a string.
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
        case .deletedDateTime: deletedDateTime
        default: derivedText(property)
        }
    }

    func texts(_ property: UserProperty) -> [String] {
        property == .businessPhones ? businessPhones : derivedTexts(property)
    }
}

// MARK: Derived values

extension UserValues {
    func derivedText(_ property: UserProperty) -> String? {
        switch property {
        case .userType: isGuest ? "Guest" : "Member"
        case .mailNickname: text(.userPrincipalName).map { String($0.prefix { $0 != "@" && $0 != "#" }) }
        case .usageLocation: country?.code
        case .state: country?.state
        case .postalCode: country?.postalCode
        case .streetAddress: text(.city).map { "1 Main Street, \($0)" }
        case .employeeType: isGuest ? nil : "Employee"
        case .employeeHireDate: isGuest ? nil : text(.createdDateTime)
        case .externalUserState: isGuest ? "Accepted" : nil
        case .creationType: isGuest ? "Invitation" : nil
        case .onPremisesSamAccountName: isGuest ? nil : derivedText(.mailNickname).map { String($0.prefix(20)) }
        case .lastPasswordChangeDateTime: text(.createdDateTime)
        case .birthday, .hireDate: "0001-01-01T00:00:00Z"
        case .preferredName: ""
        default: nil
        }
    }

    func derivedTexts(_ property: UserProperty) -> [String] {
        switch property {
        case .imAddresses: text(.mail).map { [$0] } ?? []
        case .proxyAddresses: text(.mail).map { ["SMTP:\($0)"] } ?? []
        case .otherMails: isGuest ? text(.mail).map { [$0] } ?? [] : []
        default: []
        }
    }

    private var country: (code: String, state: String?, postalCode: String)? {
        text(.country).flatMap { Self.countries[$0] }
    }

    private static var countries: [String: (code: String, state: String?, postalCode: String)] {
        [
            "United Kingdom": ("GB", nil, "SW1A 1AA"), "Ireland": ("IE", nil, "D02 AF30"),
            "United States": ("US", "WA", "98101"), "Germany": ("DE", "Bayern", "80331"),
            "Türkiye": ("TR", nil, "34110"), "Brazil": ("BR", "SP", "01000-000"), "China": ("CN", nil, "200000"),
            "Sweden": ("SE", nil, "211 22"),
        ]
    }

    /// Returns a property in Graph's JSON.
    func json(_ property: UserProperty) -> JSONValue {
        switch property.kind {
        case .text, .date: text(property).map { .string($0) } ?? .null
        case .texts: .array(texts(property).map { .string($0) })
        case .flag: flag(property).map { .bool($0) } ?? .null
        case .objects: .array(objects(property).map { .object($0) })
        case .object: object(property).map { .object($0) } ?? .null
        }
    }

    /// Returns the value of a Boolean property, or `nil` if it is not set or not a Boolean.
    func flag(_ property: UserProperty) -> Bool? {
        switch property {
        case .accountEnabled: accountEnabled
        case .showInAddressList: !isGuest
        case .isResourceAccount: false
        default: nil
        }
    }

    func objects(_ property: UserProperty) -> [JSONObject] {
        switch property {
        case .identities:
            [
                [
                    "signInType": "userPrincipalName", "issuer": "contoso.example",
                    "issuerAssignedId": text(.userPrincipalName).map { .string($0) } ?? .null,
                ]
            ]
        case .assignedLicenses:
            accountEnabled && !isGuest
                ? [["disabledPlans": [], "skuId": "c7df2760-2c81-4ef7-b578-5b5392b571df"]] : []
        case .assignedPlans:
            accountEnabled && !isGuest
                ? [
                    [
                        "assignedDateTime": text(.createdDateTime).map { .string($0) } ?? .null,
                        "capabilityStatus": "Enabled", "service": "exchange",
                        "servicePlanId": "efb87545-963c-4e0d-99df-69c6916d9eb0",
                    ]
                ] : []
        case .provisionedPlans:
            accountEnabled && !isGuest
                ? [["capabilityStatus": "Enabled", "provisioningStatus": "Success", "service": "exchange"]] : []
        default: []
        }
    }

    private func object(_ property: UserProperty) -> JSONObject? {
        switch property {
        case .onPremisesExtensionAttributes:
            JSONObject((1...15).map { .init(name: "extensionAttribute\($0)", value: .null) })
        case .employeeOrgData:
            isGuest ? nil : ["division": text(.department).map { .string($0) } ?? .null, "costCenter": "1000"]
        case .mailboxSettings:
            text(.mail) == nil
                ? [:]
                : ["timeZone": "UTC", "language": ["locale": text(.preferredLanguage).map { .string($0) } ?? .null]]
        case .signInActivity:
            accountEnabled
                ? [
                    "lastSignInDateTime": text(.createdDateTime).map { .string($0) } ?? .null,
                    "lastSignInRequestId": text(.id).map { .string($0) } ?? .null,
                    "lastNonInteractiveSignInDateTime": text(.createdDateTime).map { .string($0) } ?? .null,
                    "lastNonInteractiveSignInRequestId": text(.id).map { .string($0) } ?? .null,
                ] : nil
        default: nil
        }
    }

    /// Returns a member of a property that is an object.
    func text(_ property: UserProperty, member: String) -> String? {
        object(property)?.members.first { $0.name.lowercased() == member.lowercased() }?.value.string
    }
}
