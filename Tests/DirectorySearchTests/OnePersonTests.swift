import HTTPExchange
import Testing

@testable import DirectorySearch

@Test func `one person is asked for by identifier or sign-in name`() async throws {
    let transport = ScriptedTransport([.json(#"{"@odata.context":"c","id":"1","mail":null}"#)])
    let user = try await GraphDirectory(client: try client(transport)).user(
        "a#b@x.com", select: ["id", "mail"])
    #expect(user.id == "1")
    #expect(transport.addresses == ["\(graph)/users/a%23b@x.com?$select=id%2Cmail"])
}

@Test func `an unknown name with an at sign is looked up as a mail address, once`() async throws {
    let transport = ScriptedTransport([.failure(404), .page(["7"])])
    let user = try await GraphDirectory(client: try client(transport)).user("o'b@x.com", select: ["id"])
    #expect(user.id == "7")
    #expect(transport.addresses.last == "\(graph)/users?$filter=mail%20eq%20%27o%27%27b%40x.com%27&$select=id&$top=2")
}

@Test func `nobody has the mail address either`() async throws {
    let transport = ScriptedTransport([.failure(404, code: "Request_ResourceNotFound"), .page([])])
    let error = try await failure { try await GraphDirectory(client: try client(transport)).user("a@x") }
    #expect(error?.kind == .notFound)
    #expect(error?.code == "Request_ResourceNotFound")
    #expect(transport.requests.count == 2)
}

@Test func `two people with one mail address are not guessed between`() async throws {
    let transport = ScriptedTransport([.failure(404), .page(["1", "2"])])
    let error = try await failure { try await GraphDirectory(client: try client(transport)).user("a@x") }
    #expect(error?.kind == .ambiguous)
}

@Test func `a failure of the second question is not called unknown`() async throws {
    let transport = ScriptedTransport([.failure(404), .failure(403)])
    let error = try await failure { try await GraphDirectory(client: try client(transport)).user("a@x") }
    #expect(error?.kind == .notPermitted(permissions: ["User.ReadBasic.All", "User.Read.All"]))
}

@Test(arguments: ["87d349ed-44d7-43e1-9a83-5f2406dee5bd", String(repeating: "a", count: 120) + "@x"])
func `what can be no mail address is not looked up as one`(name: String) async throws {
    let transport = ScriptedTransport([.failure(404)])
    let error = try await failure { try await GraphDirectory(client: try client(transport)).user(name) }
    #expect(error?.kind == .notFound)
    #expect(transport.requests.count == 1)
}

@Test func `the signed-in person is asked for`() async throws {
    let transport = ScriptedTransport([.json(#"{"displayName":"Ada"}"#), .failure(403)])
    let directory = GraphDirectory(client: try client(transport))
    #expect(try await directory.me(select: ["displayName"]).name == "Ada")
    #expect(transport.addresses == ["\(graph)/me?$select=displayName"])
    #expect(try await failure { try await directory.me() }?.kind == .notPermitted(permissions: ["User.Read"]))
}

@Test(arguments: [#"{"value":[]}"#, #"{"error":{"code":"x"}}"#, "[]", "sign in"])
func `an answer that is no person is an error`(body: String) async throws {
    let transport = ScriptedTransport([.json(body)])
    let error = try await failure { try await GraphDirectory(client: try client(transport)).me() }
    guard case .unreadable? = error?.kind else {
        Issue.record("\(String(describing: error))")
        return
    }
}
