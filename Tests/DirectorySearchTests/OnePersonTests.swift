import HTTPExchange
import Testing

@testable import DirectorySearch

@Test func `user(_:) requests one user by identifier or sign-in name`() async throws {
    let transport = ScriptedTransport([.json(#"{"@odata.context":"c","id":"1","mail":null}"#)])
    let user = try await GraphDirectory(client: try client(transport)).user(
        "a#b@x.com", select: ["id", "mail"])
    #expect(user.id == "1")
    #expect(transport.addresses == ["\(graph)/users/a%23b@x.com?$select=id%2Cmail"])
}

@Test func `user(_:) looks up an unknown name with an at sign as a mail address, once`() async throws {
    let transport = ScriptedTransport([.failure(404), .page(["7"])])
    let user = try await GraphDirectory(client: try client(transport)).user("o'b@x.com", select: ["id"])
    #expect(user.id == "7")
    #expect(transport.addresses.last == "\(graph)/users?$filter=mail%20eq%20%27o%27%27b%40x.com%27&$select=id&$top=2")
}

@Test func `an unknown mail address is not found`() async throws {
    let transport = ScriptedTransport([.failure(404, code: "Request_ResourceNotFound"), .page([])])
    let error = try await failure { try await GraphDirectory(client: try client(transport)).user("a@x") }
    #expect(error?.kind == .notFound)
    #expect(error?.code == "Request_ResourceNotFound")
    #expect(transport.requests.count == 2)
}

@Test func `user(_:) reports an ambiguous mail address instead of guessing`() async throws {
    let transport = ScriptedTransport([.failure(404), .page(["1", "2"])])
    let error = try await failure { try await GraphDirectory(client: try client(transport)).user("a@x") }
    #expect(error?.kind == .ambiguous)
}

@Test func `an error of the mail lookup is not reported as "not found"`() async throws {
    let transport = ScriptedTransport([.failure(404), .failure(403)])
    let error = try await failure { try await GraphDirectory(client: try client(transport)).user("a@x") }
    #expect(error?.kind == .notPermitted(permissions: ["User.ReadBasic.All", "User.Read.All"]))
}

@Test(arguments: ["87d349ed-44d7-43e1-9a83-5f2406dee5bd", String(repeating: "a", count: 120) + "@x"])
func `user(_:) looks up only plausible mail addresses`(name: String) async throws {
    let transport = ScriptedTransport([.failure(404)])
    let error = try await failure { try await GraphDirectory(client: try client(transport)).user(name) }
    #expect(error?.kind == .notFound)
    #expect(transport.requests.count == 1)
}

@Test func `me(select:) requests the signed-in user`() async throws {
    let transport = ScriptedTransport([.json(#"{"displayName":"Ada"}"#), .failure(403)])
    let directory = GraphDirectory(client: try client(transport))
    #expect(try await directory.me(select: ["displayName"]).name == "Ada")
    #expect(transport.addresses == ["\(graph)/me?$select=displayName"])
    #expect(try await failure { try await directory.me() }?.kind == .notPermitted(permissions: ["User.Read"]))
}

@Test(arguments: [#"{"value":[]}"#, #"{"error":{"code":"x"}}"#, "[]", "sign in"])
func `a response that is not a user is an error`(body: String) async throws {
    let transport = ScriptedTransport([.json(body)])
    let error = try await failure { try await GraphDirectory(client: try client(transport)).me() }
    guard case .unreadable? = error?.kind else {
        Issue.record("\(String(describing: error))")
        return
    }
}
