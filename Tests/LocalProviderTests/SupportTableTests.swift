import Testing

@testable import LocalProvider

/// Graph's documentation of filters on users: a property and the support of `eq`, `startsWith`, `null` and `ge`; `-` if
/// the documentation does not say.
private let table: [(String, String, String, String, String)] = [
    ("accountEnabled", "default", "-", "no", "-"),
    ("ageGroup", "default", "-", "no", "-"),
    ("assignedLicenses/any(a:a/skuId)", "default", "-", "no", "-"),
    ("assignedPlans/any(a:a/capabilityStatus)", "advanced", "-", "no", "-"),
    ("assignedPlans/any(a:a/service)", "advanced", "no", "no", "-"),
    ("assignedPlans/any(a:a/servicePlanId)", "advanced", "-", "no", "-"),
    ("businessPhones/any(p:p)", "advanced", "advanced", "-", "-"),
    ("city", "default", "default", "advanced", "-"),
    ("companyName", "advanced", "advanced", "advanced", "-"),
    ("consentProvidedForMinor", "default", "-", "no", "-"),
    ("country", "default", "default", "advanced", "-"),
    ("createdDateTime", "default", "-", "advanced", "default"),
    ("creationType", "default", "-", "no", "-"),
    ("department", "default", "default", "advanced", "-"),
    ("displayName", "default", "default", "advanced", "-"),
    ("employeeHireDate", "advanced", "-", "no", "advanced"),
    ("employeeId", "default", "-", "advanced", "-"),
    ("employeeOrgData/costCenter", "advanced", "no", "no", "-"),
    ("employeeOrgData/division", "advanced", "no", "no", "-"),
    ("employeeType", "advanced", "-", "no", "-"),
    ("externalUserState", "default", "-", "no", "-"),
    ("faxNumber", "advanced", "advanced", "advanced", "-"),
    ("givenName", "default", "default", "advanced", "-"),
    ("identities/any(i:i/issuer)", "default", "no", "default", "-"),
    ("imAddresses/any(p:p)", "default", "default", "-", "-"),
    ("isResourceAccount", "default", "-", "no", "-"),
    ("jobTitle", "default", "default", "advanced", "-"),
    ("mail", "default", "default", "advanced", "-"),
    ("mailNickname", "default", "default", "advanced", "-"),
    ("mobilePhone", "advanced", "advanced", "advanced", "-"),
    ("officeLocation", "advanced", "advanced", "advanced", "-"),
    ("onPremisesExtensionAttributes/extensionAttribute1", "advanced", "no", "advanced", "-"),
    ("onPremisesImmutableId", "default", "-", "no", "-"),
    ("onPremisesLastSyncDateTime", "default", "-", "no", "default"),
    ("onPremisesSamAccountName", "advanced", "advanced", "no", "-"),
    ("onPremisesSecurityIdentifier", "default", "-", "advanced", "-"),
    ("onPremisesSyncEnabled", "default", "-", "advanced", "-"),
    ("onPremisesUserPrincipalName", "default", "default", "no", "-"),
    ("otherMails/any(p:p)", "default", "default", "-", "-"),
    ("passwordPolicies", "no", "no", "advanced", "-"),
    ("postalCode", "advanced", "advanced", "advanced", "-"),
    ("preferredLanguage", "advanced", "advanced", "advanced", "-"),
    ("provisionedPlans/any(p:p/provisioningStatus)", "advanced", "-", "no", "-"),
    ("provisionedPlans/any(p:p/service)", "advanced", "no", "no", "-"),
    ("proxyAddresses/any(p:p)", "default", "default", "-", "-"),
    ("showInAddressList", "advanced", "-", "no", "-"),
    ("state", "default", "default", "advanced", "-"),
    ("streetAddress", "advanced", "advanced", "advanced", "-"),
    ("surname", "default", "default", "advanced", "-"),
    ("usageLocation", "default", "default", "advanced", "-"),
    ("userPrincipalName", "default", "default", "no", "-"),
    ("userType", "default", "-", "advanced", "-"),
]

/// Returns the condition on a property, inside `any` if the table has it so.
private func condition(_ property: String, _ make: (String) -> String) -> String {
    guard let open = property.firstIndex(of: "(") else { return make(property) }
    let inner = property[property.index(after: open)...].dropLast()
    guard let colon = inner.firstIndex(of: ":") else { return make(property) }
    return "\(property[...open])\(inner[...colon])\(make(String(inner[inner.index(after: colon)...]))))"
}

private func support(_ filter: String) -> String {
    do {
        return try ODataFilter(parsing: filter).advancedReason() == nil ? "default" : "advanced"
    } catch {
        return "no"
    }
}

@Test func `each property supports the documented operators`() {
    for (property, equal, start, null, order) in table {
        let isDate = order != "-"
        let isFlag = ["accountEnabled", "isResourceAccount", "onPremisesSyncEnabled", "showInAddressList"].contains(
            property)
        let literal = isDate ? "2024-01-01" : isFlag ? "true" : "'a'"
        #expect(support(condition(property) { "\($0) eq \(literal)" }) == equal, "\(property) eq")
        if start != "-" {
            #expect(support(condition(property) { "startswith(\($0),'a')" }) == start, "\(property) startsWith")
        }
        // The documentation treats a missing list as an empty list.
        if null != "-", !property.contains("/any(") {
            #expect(support("\(property) eq null") == null, "\(property) null")
        }
        if isDate { #expect(support("\(property) ge \(literal)") == order, "\(property) ge") }
        if equal == "default", !property.contains("/any(") {
            #expect(support("\(property) in (\(literal))") == "default", "\(property) in")
            #expect(support("\(property) ne \(literal)") == "advanced", "\(property) ne")
            #expect(support("not(\(property) eq \(literal))") == "advanced", "\(property) not")
        }
    }
}

@Test(arguments: [
    ("otherMails/any(p:endswith(p,'a'))", "advanced"), ("proxyAddresses/any(p:endswith(p,'a'))", "advanced"),
    ("endswith(mail,'a')", "advanced"), ("endswith(userPrincipalName,'a')", "advanced"),
    ("endswith(displayName,'a')", "no"), ("assignedLicenses/$count eq 0", "advanced"),
    ("assignedLicenses/$count ne 0", "advanced"), ("assignedLicenses/$count gt 1", "no"),
    ("identities/any(c:c/issuerAssignedId eq 'a' and c/issuer eq 'b')", "default"),
    ("imAddresses/any(p:startswith(p,'a'))", "default"), ("assignedLicenses/any(a:a eq 'x')", "no"),
    ("businessPhones/any(p:p/x eq 'a')", "no"), ("displayName/x eq 'a'", "no"), ("otherMails/all(p:p eq 'a')", "no"),
    ("skills eq 'a'", "no"), ("mailboxSettings eq null", "no"),
])
func `lists, counts and endswith are supported as documented`(filter: String, wanted: String) {
    #expect(support(filter) == wanted)
}

@Test func `conditions on lists match the described users`() throws {
    let users = UserTable(count: 80, seed: 1).all
    func expectSame(_ filter: String, _ condition: (StoredUser) -> Bool) throws {
        let read = try ODataFilter(parsing: filter)
        let wanted = users.filter(condition).map(\.id)
        #expect(users.filter { read.matches($0) }.map(\.id) == wanted, "\(filter)")
        #expect(!wanted.isEmpty && wanted.count < users.count, "\(filter) does not distinguish users")
    }
    try expectSame("otherMails/$count eq 0") { !$0.isGuest || $0.mail == nil }
    try expectSame("assignedLicenses/any()") { $0.accountEnabled && !$0.isGuest }
    try expectSame("assignedLicenses/any(a:a/skuId eq c7df2760-2c81-4ef7-b578-5b5392b571df)") {
        $0.accountEnabled && !$0.isGuest
    }
    try expectSame("proxyAddresses/any(p:startswith(p,'smtp:ad'))") { $0.mail?.hasPrefix("ad") ?? false }
    try expectSame("identities/any(i:i/issuerAssignedId eq 'ADA@contoso.example' and i/issuer eq 'contoso.example')") {
        $0.id == users[0].id
    }
    try expectSame("externalUserState eq 'Accepted'") { $0.isGuest }
    try expectSame("usageLocation eq 'gb'") { $0.country == "United Kingdom" }
    try expectSame("employeeOrgData/division eq 'Sales'") { !$0.isGuest && $0.department == "Sales" }
    try expectSame("not(businessPhones/any(p:startswith(p,'+44')))") {
        !($0.businessPhones.first?.hasPrefix("+44") ?? false)
    }
}

@Test func `a default query accepts literals of at most 120 characters`() {
    let bench = GraphBench()
    func path(_ count: Int) -> String { "/users?$filter=surname%20eq%20'" + String(repeating: "a", count: count) + "'" }
    #expect(bench.ask(path(120)).error == nil)
    #expect(bench.ask(path(121)).error?.code == "Request_UnsupportedQuery")
    #expect(bench.ask(path(121) + "&$count=true", eventual: true).error == nil)
    #expect(bench.ask(path(2_040) + "&$count=true", eventual: true).error?.status == 414)
}
