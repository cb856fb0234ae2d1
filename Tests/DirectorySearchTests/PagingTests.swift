import Foundation
import HTTPExchange
import TestSupport
import Testing

@testable import DirectorySearch

private let ada = UserFilter.givenName(startsWith: "Ada")
private let firstTarget = "users?$filter=startswith%28givenName%2C%27Ada%27%29&$select=id"
private let query = UserQuery(ada, select: ["id"])

@Test func `pages follow the next link byte for byte`() async throws {
    let link = "\(graph)/users?$skiptoken=X%2744%27&$filter=a'b+c%20(d)"
    let transport = ScriptedTransport([
        .page(["1", "2"], next: link), .page([], next: "\(graph)/users?p=3"), .page(["3"]),
    ])
    let directory = GraphDirectory(client: try client(transport))
    let users = try await directory.users(matching: query).collected()
    #expect(users.map(\.id) == ["1", "2", "3"])
    #expect(transport.addresses == ["\(graph)/\(firstTarget)", link, "\(graph)/users?p=3"])
    #expect(transport.tokens == ["Bearer token", "Bearer token", "Bearer token"])
}

@Test func `a next link with invalid bytes is percent-encoded, not dropped`() async throws {
    let transport = ScriptedTransport([.page(["1"], next: "\(graph)/users?a=b c|d%20"), .page(["2"])])
    let directory = GraphDirectory(client: try client(transport))
    #expect(try await directory.users(matching: query).collected().count == 2)
    #expect(transport.addresses.last == "\(graph)/users?a=b%20c%7Cd%20")
}

@Test func `pages(matching:) starts on demand and prefetches at most one page`() async throws {
    let sent = Log<Int>()
    let transport = ScriptedTransport { _ in
        sent.append(1)
        return .page(["\(sent.all.count)"], next: "\(graph)/users?p=\(sent.all.count)")
    }
    var iterator = GraphDirectory(client: try client(transport)).pages(matching: query).makeAsyncIterator()
    #expect(transport.requests.isEmpty)
    for page in 1...3 {
        #expect(try await iterator.next()?.users.map(\.id) == ["\(page)"])
        // The next page may be in progress, but not the one after it.
        #expect(transport.requests.count <= page + 1)
    }
    try await until { transport.requests.count >= 4 }
    #expect(transport.requests.count <= 4)
}

@Test func `each request selects properties and has an Accept field and a new identifier`() async throws {
    let transport = ScriptedTransport([.page(["1"], next: "\(graph)/users?p=2"), .page(["2"])])
    let directory = GraphDirectory(client: try client(transport))
    _ = try await directory.users(matching: UserQuery(.officeLocation(startsWith: "18"))).collected()
    let identifiers = transport.requests.map { $0.fields["client-request-id"] ?? "" }
    #expect(Set(identifiers).count == 2 && identifiers.allSatisfy { UUID(uuidString: $0) != nil })
    #expect(transport.requests.allSatisfy { $0.fields["Accept"] == "application/json" })
    #expect(transport.requests.allSatisfy { $0.fields["ConsistencyLevel"] == "eventual" }, "each page sends it again")
    #expect(transport.addresses[0].contains("$select="))
    #expect(transport.requests.allSatisfy { $0.method == .get && $0.redirects == .none && $0.body == nil })
    #expect(transport.requests.allSatisfy { $0.maximumResponseSize == 16 << 20 })
}

@Test(arguments: [
    "https://graph.example.net/v1.0/users?p=2", "http://graph.microsoft.com/v1.0/users",
    "https://graph.microsoft.com:8443/v1.0/users", "https://graph.microsoft.com.evil.example/v1.0/users",
    "https://graph.microsoft.com@evil.example/", "https://graph.microsoft.com%2Eevil.example/",
    "https://evil.example\\\\@graph.microsoft.com/", "https://token@graph.microsoft.com/v1.0/users",
    "//evil.example/v1.0/users", "/v1.0/users?p=2", "users?p=2", "javascript:alert(1)", "https://", "https:///users",
    "https://graph.microsoft.com:443443/", "https://gráph.microsoft.com/", "file:///etc/passwd",
])
func `a next link of a different origin receives no token`(link: String) async throws {
    let transport = ScriptedTransport([.page(["1"], next: link), .page(["2"])])
    let directory = GraphDirectory(client: try client(transport))
    var iterator = directory.users(matching: query).makeAsyncIterator()
    #expect(try await iterator.next()?.id == "1", "the iterator returns the users before the foreign link")
    do {
        _ = try await iterator.next()
        Issue.record("followed")
    } catch let error as DirectoryError {
        guard case .foreignNextLink = error.kind else { throw error }
    }
    #expect(transport.requests.count == 1)
    #expect(try await iterator.next() == nil)
}

@Test func `the error for a foreign next link names its host`() async throws {
    let transport = ScriptedTransport([.page([], next: "https://graph.example.net:8443/v1.0/users?secret=1")])
    let directory = GraphDirectory(client: try client(transport))
    let error = try await failure { try await directory.users(matching: query).collected() }
    #expect(error?.kind == .foreignNextLink(host: "https://graph.example.net:8443"))
    #expect(error?.description.contains("graph.example.net:8443") == true)
    #expect(error?.description.contains("secret") == false)
}

@Test(arguments: ["HTTPS://Graph.Microsoft.COM/v1.0/users?p=2", "https://graph.microsoft.com:443/v1.0/users?p=2"])
func `an equivalent spelling of the origin is accepted`(link: String) async throws {
    let transport = ScriptedTransport([.page(["1"], next: link), .page(["2"])])
    let directory = GraphDirectory(client: try client(transport))
    #expect(try await directory.users(matching: query).collected().count == 2)
}

@Test func `a next link to an earlier page ends the search`() async throws {
    let a = "\(graph)/users?p=a"
    let b = "\(graph)/users?p=b"
    let transport = ScriptedTransport([
        .page(["1"], next: a), .page(["2"], next: b), .page(["3"], next: a), .page(["4"]),
    ])
    let directory = GraphDirectory(client: try client(transport))
    let error = try await failure { try await directory.users(matching: query).collected() }
    #expect(error?.kind == .endlessPages)
    #expect(transport.requests.count == 3)
}

@Test func `a next link to the same page ends the search`() async throws {
    let transport = ScriptedTransport { .page([], next: $0.url.absoluteString) }
    let directory = GraphDirectory(client: try client(transport))
    let error = try await failure { try await directory.users(matching: query).collected() }
    #expect(error?.kind == .endlessPages)
    #expect(transport.requests.count == 1)
}

@Test func `the client follows a limited number of empty pages`() async throws {
    let count = Log<Int>()
    let transport = ScriptedTransport { _ in
        count.append(1)
        return .page([], next: "\(graph)/users?p=\(count.all.count)")
    }
    let directory = GraphDirectory(client: try client(transport))
    let error = try await failure { try await directory.users(matching: query).collected() }
    #expect(error?.kind == .endlessPages)
    #expect(transport.requests.count == LoopGuard.maximumPagesWithoutNew)
}

@Test func `pages that repeat their users under new links end the search`() async throws {
    let count = Log<Int>()
    let transport = ScriptedTransport { _ in
        count.append(1)
        return .page(["\(count.all.count % 7)"], next: "\(graph)/users?p=\(count.all.count)")
    }
    let directory = GraphDirectory(client: try client(transport))
    let found = Log<Int>()
    let error = try await failure {
        for try await page in directory.pages(matching: query) { found.append(page.users.count) }
    }
    #expect(error?.kind == .endlessPages)
    // The users before the error are complete, and the first seven pages had new ones.
    #expect(found.all.count == LoopGuard.maximumPagesWithoutNew + 6)
    #expect(transport.requests.count == LoopGuard.maximumPagesWithoutNew + 7)
}

@Test func `LoopGuard limits the number of users and pages`() throws {
    var users = LoopGuard(maximumElements: 100)
    for page in 0..<9 {
        try users.enter("\(page)")
        try users.leave(newElements: 11, hasNext: true)
    }
    // The last page may reach the maximum.
    try users.leave(newElements: 1, hasNext: false)
    #expect(throws: DirectoryError(.tooManyResults(maximum: 100))) { try users.leave(newElements: 1, hasNext: true) }
    var restarted = LoopGuard()
    for page in 0..<2000 {
        try restarted.enter("\(page)")
        try restarted.leave(newElements: 1, hasNext: true)
    }
    restarted.restart()
    for page in 0..<2999 {
        try restarted.enter("\(page)")
        try restarted.leave(newElements: 0, hasNext: true)
    }
    #expect(throws: DirectoryError(.endlessPages)) { try restarted.leave(newElements: 0, hasNext: true) }
    var pages = LoopGuard()
    for page in 0..<LoopGuard.maximumPages { try pages.enter("\(page)") }
    #expect(throws: DirectoryError(.endlessPages)) { try pages.enter("last") }
}

@Test(arguments: [(0, 0), (1, 1), (2, 1), (3, 2), (4, 2), (9, 2)])
func `a limit ends the search without an additional request`(limit: Int, requests: Int) async throws {
    let transport = ScriptedTransport([.page(["1", "2"], next: "\(graph)/users?p=2"), .page(["3", "4"])])
    let directory = GraphDirectory(client: try client(transport))
    let users = try await directory.users(matching: UserQuery(ada, limit: limit)).collected()
    #expect(users.compactMap(\.id) == ["1", "2", "3", "4"].prefix(limit).map { $0 })
    #expect(transport.requests.count == requests)
}

@Test func `pages contain the total count and whether there are more`() async throws {
    let transport = ScriptedTransport([
        .json(#"{"@odata.count":2,"@odata.nextLink":"\#(graph)/users?p=2","value":[{"id":"1"}],"x":1}"#),
        .json(#"{"value":[{"id":"2"}],"@odata.nextLink":null}"#),
    ])
    let directory = GraphDirectory(client: try client(transport))
    let pages = try await directory.pages(matching: query).collected()
    #expect(pages.map(\.count) == [2, nil])
    #expect(pages.map(\.hasMore) == [true, false])
    #expect(pages.map { $0.users.count } == [1, 1])
}

@Test(arguments: [
    "", "sign in here", "[]", "null", "{}", #"{"value":{}}"#, #"{"value":null}"#, #"{"value":[1]}"#,
    #"{"value":[null]}"#, #"{"value":[],"@odata.nextLink":5}"#, #"{"value":[],"@odata.nextLink":""}"#,
    #"{"error":{"code":"x"}}"#, #"{"value":[{"id":"1"}"#, "\u{0}",
])
func `a response that is not a page is an error, never an empty list`(body: String) async throws {
    let answer = HTTPResponse(
        status: 200, fields: ["Content-Type": "text/html; charset=utf-8"], body: Data(body.utf8))
    let directory = GraphDirectory(client: try client(ScriptedTransport([answer])))
    let error = try await failure { try await directory.users(matching: query).collected() }
    guard case .unreadable(let reason)? = error?.kind else {
        Issue.record("\(String(describing: error))")
        return
    }
    #expect(reason.hasSuffix("(text/html, status 200)"))
    #expect(error?.clientRequestID != nil)
}

@Test(arguments: [
    (200, "<html>sign in here</html>", true), (403, "<html>blocked</html>", true), (302, "", true), (511, "", true),
    (403, "{}", false), (400, "<h2>Bad Request</h2>", false), (503, "<html>", false), (404, "<html>", false),
])
func `a redirect, a web page and status 511 are not from the directory`(
    status: Int, body: String, isIntercepted: Bool
) async throws {
    let answer = HTTPResponse(status: status, fields: ["Content-Type": "text/html"], body: Data(body.utf8))
    let directory = GraphDirectory(client: try client(ScriptedTransport([answer, answer, answer, answer, answer])))
    let error = try #require(await failure { try await directory.users(matching: query).collected() })
    var found = false
    if case .intercepted = error.kind { found = true }
    #expect(found == isIntercepted, "\(error)")
    if isIntercepted { #expect(error.remedy == .checkNetwork) }
}

@Test func `the client rethrows transport errors`() async throws {
    let directory = GraphDirectory(
        client: try client(ScriptedTransport([.page(["1"], next: "\(graph)/users?p=2")])))
    await #expect(throws: ScriptedTransport.ScriptEnded.self) {
        try await directory.users(matching: query).collected()
    }
}

@Test(arguments: [
    ("https://graph.microsoft.com/", "v1.0", "https://graph.microsoft.com/v1.0"),
    ("https://graph.microsoft.com", "v1.0", "https://graph.microsoft.com/v1.0"),
    ("https://graph.microsoft.com//", "/v1.0/", "https://graph.microsoft.com/v1.0"),
    ("https://graph.microsoft.com/v1.0/", "", "https://graph.microsoft.com/v1.0"),
    ("http://127.0.0.1:8080", "beta", "http://127.0.0.1:8080/beta"),
    ("http://[::1]:8080/", "v1.0", "http://[::1]:8080/v1.0"),
    ("https://proxy.example/graph/", "v1.0", "https://proxy.example/graph/v1.0"),
])
func `the base URL joins host and version with one slash`(address: String, version: String, base: String) throws {
    let url = try #require(URL(string: address))
    let client = try DirectoryClient(
        graphAPI: url, apiVersion: version, transport: ScriptedTransport([]), authorization: { _ in "" })
    #expect(client.base == base)
}

@Test(arguments: [
    "http://graph.microsoft.com/", "ftp://graph.microsoft.com/", "graph.microsoft.com", "https://u:p@graph.example/",
    "https://graph.example/?a=b", "https://graph.example/#a", "https:", "/v1.0",
])
func `the client rejects a base URL that must not receive a token`(address: String) throws {
    let url = try #require(URL(string: address))
    #expect(throws: DirectoryError.self) {
        try DirectoryClient(graphAPI: url, transport: ScriptedTransport([]), authorization: { _ in "" })
    }
}

@Test func `the client accepts http URLs on loopback`() async throws {
    let transport = ScriptedTransport([.page(["1"], next: "http://127.0.0.1:8080/v1.0/users?p=2"), .page(["2"])])
    let directory = GraphDirectory(client: try client(transport, base: "http://127.0.0.1:8080"))
    #expect(try await directory.users(matching: query).collected().count == 2)
    #expect(transport.addresses[0] == "http://127.0.0.1:8080/v1.0/\(firstTarget)")
}

@MainActor @Test func `an actor can iterate users`() async throws {
    let transport = ScriptedTransport([.page(["1", "2"], next: "\(graph)/users?p=2"), .page(["3"])])
    let directory = GraphDirectory(client: try client(transport))
    var iterator = directory.users(matching: query).makeAsyncIterator()
    var identifiers: [String?] = []
    while let user = try await iterator.next(isolation: MainActor.shared) { identifiers.append(user.id) }
    #expect(identifiers == ["1", "2", "3"])
}
