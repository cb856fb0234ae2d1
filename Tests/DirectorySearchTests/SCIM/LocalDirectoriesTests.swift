import Foundation
import LocalProvider
import StrictJSON
import Testing

@testable import DirectorySearch

@Test func `SCIM and Google list each user of the local provider once`() async throws {
    let local = try await Local()
    let names = Set(local.provider.users.map(\.userPrincipalName))
    var query = UserQuery.everyone(pageSize: 7)
    for directory in [try local.scim() as any UserDirectory, try local.google()] {
        let users = try await directory.users(matching: query).collected()
        #expect(users.count == names.count && Set(users.compactMap(\.userPrincipalName)) == names)
    }
    query.countsTotal = true
    let pages = try await local.scim().pages(matching: query).collected()
    #expect(pages.first?.count == names.count)
}

@Test func `SCIM and Google filters find the matching users of the local provider`() async throws {
    let local = try await Local()
    let people = local.provider.users
    func expectSame(_ filter: UserFilter, _ google: Bool, _ condition: (StoredUser) -> Bool) async throws {
        let wanted = Set(people.filter(condition).map(\.userPrincipalName))
        #expect(!wanted.isEmpty)
        let scim = try await local.scim().users(matching: filter).collected()
        #expect(Set(scim.compactMap(\.userPrincipalName)) == wanted)
        guard google else { return }
        let other = try await local.google().users(matching: filter).collected()
        #expect(Set(other.compactMap(\.userPrincipalName)) == wanted)
    }
    try await expectSame(.givenName(startsWith: "A"), true) { $0.givenName?.lowercased().hasPrefix("a") ?? false }
    try await expectSame(.property(.surname, equals: "O'Brien"), true) { $0.surname == "O'Brien" }
    try await expectSame(.property(.department, equals: "R&D"), false) { $0.department == "R&D" }
    try await expectSame(.property(.accountEnabled, equals: false), true) { !$0.accountEnabled }
    try await expectSame(!.property(.department, equals: "R&D"), false) { $0.department != "R&D" }
    let many = people.prefix(45).map(\.userPrincipalName)
    let long = (many + (0..<155).map { "nobody-of-this-name-\($0)@contoso.example" }).map { FilterValue.text($0) }
    try await expectSame(.property(.userPrincipalName, isOneOf: long), false) { many.contains($0.userPrincipalName) }
    try await expectSame(.surname(startsWith: "L") || .property(.jobTitle, equals: .null), false) {
        $0.surname?.lowercased().hasPrefix("l") ?? false || $0.jobTitle == nil
    }
}

@Test func `SCIM and Google return the same user of the local provider`() async throws {
    let local = try await Local()
    let ada = try #require(local.provider.users.first)
    let scim = try local.scim()
    for name in [ada.id, ada.userPrincipalName, ada.mail ?? ""] {
        let user = try await scim.user(name)
        #expect(user.id == ada.id && user.displayName == ada.displayName && user.mail == ada.mail)
        #expect(user.jobTitle == ada.jobTitle && user.department == ada.department)
        #expect(user.businessPhones == ada.businessPhones)
    }
    let other = try await local.google().user(ada.userPrincipalName)
    #expect(other.displayName == ada.displayName && other.department == ada.department)
    #expect(try await failure { try await scim.user("nobody@contoso.example") }?.kind == .notFound)
    #expect(try await failure { try await scim.me() }?.kind == .notSupported)
    let names = local.provider.users.prefix(9).map(\.userPrincipalName) + ["nobody@contoso.example"]
    let found = try await scim.lookUp(Array(names)).collected()
    #expect(found.map(\.name) == Array(names))
    #expect(found.map { (try? $0.result.get())?.userPrincipalName } == names.dropLast().map { Optional($0) } + [nil])
}
