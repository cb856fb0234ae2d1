import StrictJSON

/// The kind of JSON value that a member of a user requires: `texts` is an array of strings.
enum MemberKind: Sendable {
    case text, bool, number, texts, object, objects

    /// Returns whether a value is of this kind. `null` fits each kind.
    func fits(_ value: JSONValue) -> Bool {
        switch (self, value) {
        case (_, .null), (.text, .string), (.bool, .bool), (.number, .number), (.object, .object): true
        case (.texts, .array(let elements)): elements.allSatisfy { $0.string != nil }
        case (.objects, .array(let elements)): elements.allSatisfy { $0.object != nil }
        default: false
        }
    }
}

extension User {
    /// The required kinds of values, by the name of the property. A value of a different kind is an additional member.
    static let kinds: [String: MemberKind] = {
        let names: [MemberKind: [String]] = [
            .text: [
                "aboutMe", "ageGroup", "birthday", "city", "companyName", "consentProvidedForMinor", "country",
                "createdDateTime", "creationType", "deletedDateTime", "department", "displayName",
                "employeeHireDate", "employeeId", "employeeLeaveDateTime", "employeeType", "externalUserState",
                "externalUserStateChangeDateTime", "faxNumber", "givenName", "hireDate", "id", "identityParentId",
                "jobTitle", "lastPasswordChangeDateTime", "legalAgeGroupClassification", "mail", "mailNickname",
                "mobilePhone", "mySite", "officeLocation", "onPremisesDistinguishedName", "onPremisesDomainName",
                "onPremisesImmutableId", "onPremisesLastSyncDateTime", "onPremisesSamAccountName",
                "onPremisesSecurityIdentifier", "onPremisesUserPrincipalName", "passwordPolicies", "postalCode",
                "preferredDataLocation", "preferredLanguage", "preferredName", "securityIdentifier",
                "signInSessionsValidFromDateTime", "state", "streetAddress", "surname", "usageLocation",
                "userPrincipalName", "userType",
            ],
            .bool: [
                "accountEnabled", "isManagementRestricted", "isResourceAccount", "onPremisesSyncEnabled",
                "showInAddressList",
            ],
            .objects: [
                "assignedLicenses", "assignedPlans", "directReports", "identities", "licenseAssignmentStates",
                "memberOf", "onPremisesProvisioningErrors", "provisionedPlans", "serviceProvisioningErrors",
                "transitiveMemberOf",
            ],
            .object: [
                "authorizationInfo", "customSecurityAttributes", "employeeOrgData", "mailboxSettings", "manager",
                "onPremisesExtensionAttributes", "passwordProfile", "photo", "print", "signInActivity",
            ],
            .texts: [
                "businessPhones", "imAddresses", "interests", "otherMails", "pastProjects", "proxyAddresses",
                "responsibilities", "schools", "skills",
            ],
            .number: [
                "deviceEnrollmentLimit"
            ],
        ]
        return Dictionary(uniqueKeysWithValues: names.flatMap { kind, names in names.map { ($0, kind) } })
    }()
}
