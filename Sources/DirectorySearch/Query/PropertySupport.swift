/// The operators that the service supports in a filter for one property.
struct PropertySupport: Sendable, Equatable {
    /// The support for an operator.
    enum Level: Sendable, Equatable {
        /// In every query.
        case byDefault
        /// Only with `ConsistencyLevel: eventual` and `$count=true`.
        case advanced
        /// Not at all.
        case never
    }

    /// `eq`, and `in` if this is ``Level/byDefault``.
    var equals = Level.never
    /// `startsWith`, or `nil` if the service's table does not contain it, which means never.
    var startsWith: Level?
    /// `ge`, `le`, `gt` and `lt`, or `nil` if the service's table does not contain them, which means never.
    var ordered: Level?
    /// `eq null`, or `nil` for lists, which means never.
    var null: Level?
}

extension PropertySupport {
    /// Returns the support for the property at a path, such as `mail`, `manager/id` or `assignedLicenses/skuId`.
    ///
    /// Returns `nil` if it is unknown, like an extension property.
    static func known(_ path: String) -> PropertySupport? { byPath[path] ?? additional[path] }

    /// Returns whether a property is a list, whose elements are compared.
    static func isList(_ name: String) -> Bool { lists.contains(name) }

    /// The properties that support `endsWith`, which needs an advanced query.
    static let endsWith: Set<String> = ["mail", "otherMails", "proxyAddresses", "userPrincipalName"]

    /// The properties that support sorting.
    static let orderBy: [String: Level] = [
        "displayName": .byDefault, "userPrincipalName": .byDefault, "createdDateTime": .advanced,
        "deletedDateTime": .advanced,
    ]

    /// The properties that the service returns only for a single user, not in a list.
    static let singleUserOnly: Set<String> = [
        "aboutMe", "birthday", "hireDate", "interests", "mySite", "pastProjects", "preferredName", "responsibilities",
        "schools", "skills", "mailboxSettings",
    ]

    /// Properties in the service's documentation but not in its table.
    private static let additional: [String: PropertySupport] = [
        "id": PropertySupport(equals: .byDefault),
        "identities/issuerAssignedId": PropertySupport(equals: .byDefault),
        "deletedDateTime": PropertySupport(equals: .advanced, ordered: .advanced),
        "signInActivity/lastSignInDateTime": PropertySupport(equals: .byDefault, ordered: .byDefault),
        "signInActivity/lastSuccessfulSignInDateTime": PropertySupport(equals: .byDefault, ordered: .byDefault),
    ]

    /// The table by the path in a ``UserFilter``: `assignedLicenses/skuId` for `assignedLicenses/any(a:a/skuId)`.
    private static let byPath: [String: PropertySupport] = {
        var result: [String: PropertySupport] = [:]
        for (name, support) in table {
            if name.hasSuffix("extensionAttribute1-15") {
                for number in 1...15 {
                    result["onPremisesExtensionAttributes/extensionAttribute\(number)"] = support
                }
            } else {
                result[path(of: name)] = support
            }
        }
        return result
    }()

    private static let lists = Set(table.keys.compactMap { parts(of: $0)?.list })

    /// Returns the path for a name in the table: `identities/issuer` for `identities/any(i:i/issuer)`, `otherMails` for
    /// `otherMails/any(p:p)`.
    private static func path(of name: String) -> String {
        guard let (list, element) = parts(of: name) else { return name }
        guard let slash = element.firstIndex(of: "/") else { return list }
        return "\(list)\(element[slash...])"
    }

    /// Returns `identities` and `i:i/issuer` for `identities/any(i:i/issuer)`, or `nil` if the property is not a list.
    ///
    /// Searches bytes: searching characters would take longer than all other steps of a query.
    private static func parts(of name: String) -> (list: String, element: Substring)? {
        guard let open = name.utf8.firstIndex(of: UInt8(ascii: "(")) else { return nil }
        return (String(name[..<open].dropLast("/any".count)), name[name.utf8.index(after: open)...].dropLast())
    }

    /// The service's table with its names.
    static let table: [String: PropertySupport] = [
        "accountEnabled": PropertySupport(equals: .byDefault, null: .never),
        "ageGroup": PropertySupport(equals: .byDefault, null: .never),
        "assignedLicenses/any(a:a/skuId)": PropertySupport(equals: .byDefault, null: .never),
        "assignedPlans/any(a:a/capabilityStatus)": PropertySupport(equals: .advanced, null: .never),
        "assignedPlans/any(a:a/service)": PropertySupport(equals: .advanced, startsWith: .never, null: .never),
        "assignedPlans/any(a:a/servicePlanId)": PropertySupport(equals: .advanced, null: .never),
        "businessPhones/any(p:p)": PropertySupport(equals: .advanced, startsWith: .advanced),
        "city": PropertySupport(equals: .byDefault, startsWith: .byDefault, null: .advanced),
        "companyName": PropertySupport(equals: .advanced, startsWith: .advanced, null: .advanced),
        "consentProvidedForMinor": PropertySupport(equals: .byDefault, null: .never),
        "country": PropertySupport(equals: .byDefault, startsWith: .byDefault, null: .advanced),
        "createdDateTime": PropertySupport(equals: .byDefault, ordered: .byDefault, null: .advanced),
        "createdObjects/any(c:c/id)": PropertySupport(equals: .advanced, null: .never),
        "creationType": PropertySupport(equals: .byDefault, null: .never),
        "department": PropertySupport(equals: .byDefault, startsWith: .byDefault, null: .advanced),
        "displayName": PropertySupport(equals: .byDefault, startsWith: .byDefault, null: .advanced),
        "employeeHireDate": PropertySupport(equals: .advanced, ordered: .advanced, null: .never),
        "employeeId": PropertySupport(equals: .byDefault, null: .advanced),
        "employeeOrgData/costCenter": PropertySupport(equals: .advanced, startsWith: .never, null: .never),
        "employeeOrgData/division": PropertySupport(equals: .advanced, startsWith: .never, null: .never),
        "employeeType": PropertySupport(equals: .advanced, null: .never),
        "externalUserState": PropertySupport(equals: .byDefault, null: .never),
        "faxNumber": PropertySupport(equals: .advanced, startsWith: .advanced, null: .advanced),
        "givenName": PropertySupport(equals: .byDefault, startsWith: .byDefault, null: .advanced),
        "identities/any(i:i/issuer)": PropertySupport(equals: .byDefault, startsWith: .never, null: .byDefault),
        "imAddresses/any(p:p)": PropertySupport(equals: .byDefault, startsWith: .byDefault),
        "infoCatalogs/any(p:p)": PropertySupport(equals: .byDefault, startsWith: .byDefault),
        "isResourceAccount": PropertySupport(equals: .byDefault, null: .never),
        "jobTitle": PropertySupport(equals: .byDefault, startsWith: .byDefault, null: .advanced),
        "mail": PropertySupport(equals: .byDefault, startsWith: .byDefault, null: .advanced),
        "mailNickname": PropertySupport(equals: .byDefault, startsWith: .byDefault, null: .advanced),
        "manager/deletedDateTime": PropertySupport(equals: .byDefault, ordered: .byDefault, null: .never),
        "manager/id": PropertySupport(equals: .byDefault, null: .never),
        "mobilePhone": PropertySupport(equals: .advanced, startsWith: .advanced, null: .advanced),
        "officeLocation": PropertySupport(equals: .advanced, startsWith: .advanced, null: .advanced),
        "onPremisesExtensionAttributes/extensionAttribute1-15": PropertySupport(
            equals: .advanced, startsWith: .never, null: .advanced),
        "onPremisesImmutableId": PropertySupport(equals: .byDefault, null: .never),
        "onPremisesLastSyncDateTime": PropertySupport(equals: .byDefault, ordered: .byDefault, null: .never),
        "onPremisesProvisioningErrors/any(o:o/category)": PropertySupport(equals: .byDefault, null: .never),
        "onPremisesProvisioningErrors/any(o:o/propertyCausingError)": PropertySupport(equals: .byDefault, null: .never),
        "onPremisesSamAccountName": PropertySupport(equals: .advanced, startsWith: .advanced, null: .never),
        "onPremisesSecurityIdentifier": PropertySupport(equals: .byDefault, null: .advanced),
        "onPremisesSyncEnabled": PropertySupport(equals: .byDefault, null: .advanced),
        "onPremisesUserPrincipalName": PropertySupport(equals: .byDefault, startsWith: .byDefault, null: .never),
        "otherMails/any(p:p)": PropertySupport(equals: .byDefault, startsWith: .byDefault),
        "passwordPolicies": PropertySupport(equals: .never, startsWith: .never, null: .advanced),
        "passwordProfile/forceChangePasswordNextSignIn": PropertySupport(equals: .advanced, null: .advanced),
        "passwordProfile/forceChangePasswordNextSignInWithMfa": PropertySupport(equals: .advanced, null: .advanced),
        "postalCode": PropertySupport(equals: .advanced, startsWith: .advanced, null: .advanced),
        "preferredLanguage": PropertySupport(equals: .advanced, startsWith: .advanced, null: .advanced),
        "provisionedPlans/any(p:p/provisioningStatus)": PropertySupport(equals: .advanced, null: .never),
        "provisionedPlans/any(p:p/service)": PropertySupport(equals: .advanced, startsWith: .never, null: .never),
        "proxyAddresses/any(p:p)": PropertySupport(equals: .byDefault, startsWith: .byDefault),
        "showInAddressList": PropertySupport(equals: .advanced, null: .never),
        "state": PropertySupport(equals: .byDefault, startsWith: .byDefault, null: .advanced),
        "streetAddress": PropertySupport(equals: .advanced, startsWith: .advanced, null: .advanced),
        "surname": PropertySupport(equals: .byDefault, startsWith: .byDefault, null: .advanced),
        "usageLocation": PropertySupport(equals: .byDefault, startsWith: .byDefault, null: .advanced),
        "userPrincipalName": PropertySupport(equals: .byDefault, startsWith: .byDefault, null: .never),
        "userType": PropertySupport(equals: .byDefault, null: .advanced),
    ]
}

extension UserProperty {
    /// The properties of users in Graph's documentation, in alphabetical order.
    package static var documented: [UserProperty] {
        Set(PropertySupport.table.keys.map { String($0.prefix { $0 != "/" }) }).sorted()
            .map(UserProperty.init(rawValue:))
    }

    /// The documented names by their lowercase form: properties and relations.
    private static let spellings: [String: String] = {
        var names = Set(documented.map(\.rawValue)).union(User.kinds.keys).union(UserExpansion.relations)
        names.formUnion(PropertySupport.singleUserOnly)
        return Dictionary(names.map { ($0.lowercased(), $0) }) { first, _ in first }
    }()

    /// All documented names, in alphabetical order.
    package static var names: [String] { spellings.values.sorted() }

    /// Returns the documented spelling of a name, ignoring its case.
    ///
    /// Returns the unchanged name of an extension, which contains `_`, and otherwise `nil`.
    package static func spelling(of name: String) -> String? {
        spellings[name.lowercased()] ?? (name.contains("_") ? name : nil)
    }
}
