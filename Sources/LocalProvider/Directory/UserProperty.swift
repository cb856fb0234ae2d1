enum UserProperty: String, CaseIterable, Sendable {
    // The default properties without `$select`, in Graph's order.
    case businessPhones, displayName, givenName, jobTitle, mail, mobilePhone, officeLocation, preferredLanguage, surname
    case userPrincipalName, id
    // Returned only with `$select`.
    case accountEnabled, ageGroup, assignedLicenses, assignedPlans, city, companyName, consentProvidedForMinor, country
    case createdDateTime, creationType, deletedDateTime, department, employeeHireDate, employeeId, employeeOrgData
    case employeeType, externalUserState, faxNumber, identities, imAddresses, isResourceAccount
    case lastPasswordChangeDateTime, mailNickname, onPremisesExtensionAttributes, onPremisesImmutableId
    case onPremisesLastSyncDateTime, onPremisesSamAccountName, onPremisesSecurityIdentifier, onPremisesSyncEnabled
    case onPremisesUserPrincipalName, otherMails, passwordPolicies, postalCode, provisionedPlans, proxyAddresses
    case showInAddressList, signInActivity, state, streetAddress, usageLocation, userType
    // Only for requests for one user. For a list, Graph responds with 501.
    case aboutMe, birthday, hireDate, interests, mailboxSettings, mySite, pastProjects, preferredName, responsibilities
    case schools, skills

    /// The default properties without `$select`, in Graph's order.
    static let defaults = Array(allCases.prefix { $0 != .accountEnabled })

    /// The properties covered by the permission User.ReadBasic.All.
    static let basic: Set<UserProperty> = [.displayName, .givenName, .surname, .mail, .userPrincipalName, .id]

    /// Whether only a request for one user can select it.
    var isSingleOnly: Bool {
        switch self {
        case .aboutMe, .birthday, .hireDate, .interests, .mailboxSettings, .mySite, .pastProjects, .preferredName,
            .responsibilities, .schools, .skills:
            true
        default: false
        }
    }

    private static let byName = Dictionary(uniqueKeysWithValues: allCases.map { ($0.rawValue.lowercased(), $0) })

    /// Creates the property with this name, ignoring case.
    init?(name: some StringProtocol) {
        guard let property = Self.byName[name.lowercased()] else { return nil }
        self = property
    }

    enum Kind: Sendable { case text, date, texts, flag, objects, object }

    var kind: Kind {
        switch self {
        case .businessPhones, .imAddresses, .otherMails, .proxyAddresses, .interests, .pastProjects, .responsibilities,
            .schools, .skills:
            .texts
        case .accountEnabled, .isResourceAccount, .onPremisesSyncEnabled, .showInAddressList: .flag
        case .assignedLicenses, .assignedPlans, .identities, .provisionedPlans: .objects
        case .employeeOrgData, .mailboxSettings, .onPremisesExtensionAttributes, .signInActivity: .object
        case .birthday, .createdDateTime, .deletedDateTime, .employeeHireDate, .hireDate, .lastPasswordChangeDateTime,
            .onPremisesLastSyncDateTime:
            .date
        default: .text
        }
    }

    /// Whether `any` and `$count` apply.
    var isList: Bool { kind == .texts || kind == .objects }
}

// MARK: Supported filters

extension UserProperty {
    enum Support: Sendable {
        case always
        case advanced
        case never
    }

    /// `eq` and `in`; within `any` for lists.
    var equality: Support {
        switch self {
        case .assignedPlans, .businessPhones, .companyName, .employeeHireDate, .employeeOrgData, .employeeType,
            .faxNumber, .mobilePhone, .officeLocation, .onPremisesExtensionAttributes, .onPremisesSamAccountName,
            .postalCode, .preferredLanguage, .provisionedPlans, .showInAddressList, .streetAddress:
            .advanced
        case .deletedDateTime, .lastPasswordChangeDateTime, .passwordPolicies: .never
        case .signInActivity: .always
        default: isSingleOnly ? .never : .always
        }
    }

    var startsWith: Support {
        switch self {
        case .city, .country, .department, .displayName, .givenName, .imAddresses, .jobTitle, .mail, .mailNickname,
            .onPremisesUserPrincipalName, .otherMails, .proxyAddresses, .state, .surname, .usageLocation,
            .userPrincipalName:
            .always
        case .businessPhones, .companyName, .faxNumber, .mobilePhone, .officeLocation, .onPremisesSamAccountName,
            .postalCode, .preferredLanguage, .streetAddress:
            .advanced
        default: .never
        }
    }

    var endsWith: Support {
        switch self {
        case .mail, .otherMails, .proxyAddresses, .userPrincipalName: .advanced
        default: .never
        }
    }

    /// Comparison with `null`.
    var nullTest: Support {
        switch self {
        case .city, .companyName, .country, .createdDateTime, .department, .displayName, .employeeId, .faxNumber,
            .givenName, .jobTitle, .mail, .mailNickname, .mobilePhone, .officeLocation, .onPremisesExtensionAttributes,
            .onPremisesSecurityIdentifier, .onPremisesSyncEnabled, .passwordPolicies, .postalCode, .preferredLanguage,
            .state, .streetAddress, .surname, .usageLocation, .userType:
            .advanced
        case .identities: .always
        default: .never
        }
    }

    /// `ge`, `le`, `gt`, `lt`.
    var order: Support {
        switch self {
        case .createdDateTime, .onPremisesLastSyncDateTime, .signInActivity: .always
        case .employeeHireDate: .advanced
        default: .never
        }
    }
}
