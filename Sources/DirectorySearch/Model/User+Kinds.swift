import StrictJSON

/// What a member of an answer is expected to be.
enum MemberKind: Sendable {
    case text, truth, number, texts, object, objects

    /// Whether the value is of this kind; `null` is of every kind.
    func fits(_ value: JSONValue) -> Bool {
        switch (self, value) {
        case (_, .null), (.text, .string), (.truth, .bool), (.number, .number), (.object, .object): true
        case (.texts, .array(let elements)): elements.allSatisfy { $0.string != nil }
        case (.objects, .array(let elements)): elements.allSatisfy { $0.object != nil }
        default: false
        }
    }
}

extension User {
    /// Every property that has a name in Swift, and what it is expected to be.
    static let kinds: [String: MemberKind] = [
        "aboutMe": .text,
        "accountEnabled": .truth,
        "ageGroup": .text,
        "assignedLicenses": .objects,
        "assignedPlans": .objects,
        "authorizationInfo": .object,
        "birthday": .text,
        "businessPhones": .texts,
        "city": .text,
        "companyName": .text,
        "consentProvidedForMinor": .text,
        "country": .text,
        "createdDateTime": .text,
        "creationType": .text,
        "customSecurityAttributes": .object,
        "deletedDateTime": .text,
        "department": .text,
        "deviceEnrollmentLimit": .number,
        "directReports": .objects,
        "displayName": .text,
        "employeeHireDate": .text,
        "employeeId": .text,
        "employeeLeaveDateTime": .text,
        "employeeOrgData": .object,
        "employeeType": .text,
        "externalUserState": .text,
        "externalUserStateChangeDateTime": .text,
        "faxNumber": .text,
        "givenName": .text,
        "hireDate": .text,
        "id": .text,
        "identities": .objects,
        "identityParentId": .text,
        "imAddresses": .texts,
        "interests": .texts,
        "isManagementRestricted": .truth,
        "isResourceAccount": .truth,
        "jobTitle": .text,
        "lastPasswordChangeDateTime": .text,
        "legalAgeGroupClassification": .text,
        "licenseAssignmentStates": .objects,
        "mail": .text,
        "mailNickname": .text,
        "mailboxSettings": .object,
        "manager": .object,
        "memberOf": .objects,
        "mobilePhone": .text,
        "mySite": .text,
        "officeLocation": .text,
        "onPremisesDistinguishedName": .text,
        "onPremisesDomainName": .text,
        "onPremisesExtensionAttributes": .object,
        "onPremisesImmutableId": .text,
        "onPremisesLastSyncDateTime": .text,
        "onPremisesProvisioningErrors": .objects,
        "onPremisesSamAccountName": .text,
        "onPremisesSecurityIdentifier": .text,
        "onPremisesSyncEnabled": .truth,
        "onPremisesUserPrincipalName": .text,
        "otherMails": .texts,
        "passwordPolicies": .text,
        "passwordProfile": .object,
        "pastProjects": .texts,
        "photo": .object,
        "postalCode": .text,
        "preferredDataLocation": .text,
        "preferredLanguage": .text,
        "preferredName": .text,
        "print": .object,
        "provisionedPlans": .objects,
        "proxyAddresses": .texts,
        "responsibilities": .texts,
        "schools": .texts,
        "securityIdentifier": .text,
        "serviceProvisioningErrors": .objects,
        "showInAddressList": .truth,
        "signInActivity": .object,
        "signInSessionsValidFromDateTime": .text,
        "skills": .texts,
        "state": .text,
        "streetAddress": .text,
        "surname": .text,
        "transitiveMemberOf": .objects,
        "usageLocation": .text,
        "userPrincipalName": .text,
        "userType": .text,
    ]
}
