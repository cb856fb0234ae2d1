import Foundation
import HTTPTransport
import LocalProvider
import StrictJSON
import Testing

@testable import DirectorySearch

/// The local provider's directories of other protocols, in this process, with a token of Ada's.
private final class Local: Sendable {
    let provider: LoopbackProvider
    private let token: String

    init(people: Int = 60, faults: Faults = Faults()) async throws {
        var configuration = LoopbackProvider.Configuration()
        configuration.people = people
        configuration.faults = faults
        let provider = try await LoopbackProvider(configuration: configuration)
        self.provider = provider
        let transport = CurlTransport(userAgent: "a test")
        // The verifier and challenge of RFC 7636, appendix B.
        let query =
            "response_type=code&client_id=directory&redirect_uri=http%3A%2F%2F127.0.0.1%2Fcallback"
            + "&scope=User.ReadBasic.All&state=s&code_challenge_method=S256"
            + "&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        let authorization = try #require(URL(string: "\(provider.issuer)/authorize?\(query)"))
        let back = try await Approval().redirect(approving: authorization, transport: transport)
        let code = try #require(
            URLComponents(url: back, resolvingAgainstBaseURL: false)?.queryItems?.first { $0.name == "code" }?.value)
        let form =
            "grant_type=authorization_code&client_id=directory&redirect_uri=http%3A%2F%2F127.0.0.1%2Fcallback"
            + "&code=\(code)&code_verifier=dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        let url = try #require(URL(string: "\(provider.issuer)/token"))
        let answer = try await transport.send(
            HTTPRequest(
                .post, url, fields: ["Content-Type": "application/x-www-form-urlencoded"], body: Data(form.utf8)))
        token = try #require(try JSONValue(parsing: answer.body).object?["access_token"]?.string)
    }

    deinit { provider.close() }

    private func connection(_ path: String) throws -> DirectoryConnection {
        let token = token
        var connection = try DirectoryConnection(
            directoryBase: try #require(URL(string: "\(provider.issuer)\(path)")),
            transport: CurlTransport(userAgent: "a test"), authorization: { _ in token })
        connection.sleep = { _ in }
        return connection
    }

    func scim() throws -> SCIMDirectory { SCIMDirectory(connection: try connection("/scim/v2")) }
    func google() throws -> GoogleDirectory { GoogleDirectory(connection: try connection("/admin/directory/v1/")) }
}

@Test func `everybody of the local provider comes once, by SCIM and by Google`() async throws {
    let local = try await Local()
    let names = Set(local.provider.people.map(\.userPrincipalName))
    var query = UserQuery.everyone(pageSize: 7)
    for directory in [try local.scim() as any UserDirectory, try local.google()] {
        let users = try await directory.users(matching: query).collected()
        #expect(users.count == names.count && Set(users.compactMap(\.userPrincipalName)) == names)
    }
    query.countsTotal = true
    let pages = try await local.scim().pages(matching: query).collected()
    #expect(pages.first?.count == names.count)
}

@Test func `the local provider finds whom a filter describes`() async throws {
    let local = try await Local()
    let people = local.provider.people
    func expectSame(_ filter: UserFilter, _ google: Bool, _ condition: (Person) -> Bool) async throws {
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

@Test func `one person of the local provider is the same by SCIM and by Google`() async throws {
    let local = try await Local()
    let ada = try #require(local.provider.people.first)
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
    let names = local.provider.people.prefix(9).map(\.userPrincipalName) + ["nobody@contoso.example"]
    let found = try await scim.lookUp(Array(names)).collected()
    #expect(found.map(\.name) == Array(names))
    #expect(found.map { (try? $0.result.get())?.userPrincipalName } == names.dropLast().map { Optional($0) } + [nil])
}
