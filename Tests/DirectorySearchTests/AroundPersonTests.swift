import Foundation
import HTTPExchange
import StrictJSON
import Testing

@testable import DirectorySearch

/// Returns the identifier and URL of each item in a batch request.
func batchTargets(_ request: HTTPRequest) throws -> [(id: String, target: String)] {
    let items = try JSONValue(parsing: request.body ?? Data()).object?["requests"]?.array ?? []
    return items.compactMap { item in
        guard let id = item.object?["id"]?.string, let url = item.object?["url"]?.string else { return nil }
        return (id, url)
    }
}

/// Creates a batch response from the identifier, status and body of each item.
private func batch(_ items: [(String, Int, String)], _ headers: String = "{}") -> HTTPResponse {
    .json(
        #"{"responses":["#
            + items.map { #"{"id":"\#($0.0)","status":\#($0.1),"headers":\#(headers),"body":\#($0.2)}"# }
            .joined(separator: ",") + "]}")
}

private let refused = #"{"error":{"code":"Authorization_RequestDenied","message":"no"}}"#
private let unknown = #"{"error":{"code":"Request_ResourceNotFound","message":"no"}}"#

@Test func `detail(of:) loads a user, manager, reports, groups and photo in one batch`() async throws {
    let transport = ScriptedTransport([
        batch([
            ("4", 200, #"{"width":648,"height":648,"id":"648x648"}"#),
            ("2", 200, ##"{"value":[{"id":"r","displayName":"R","@odata.type":"#microsoft.graph.user"}]}"##),
            ("3", 200, #"{"value":[{"id":"g"}],"@odata.nextLink":"\#(graph)/groups2"}"#),
            ("0", 200, #"{"id":"1","displayName":"Ada"}"#), ("1", 200, #"{"id":"m","displayName":"M"}"#),
        ]),
        .json(##"{"value":[{"id":"h","@odata.type":"#microsoft.graph.directoryRole"}]}"##),
    ])
    let detail = try await GraphDirectory(client: try client(transport)).detail(of: "a#b@x")
    #expect(detail.user.displayName == "Ada")
    #expect(detail.manager.value?.id == "m")
    #expect(detail.reports.value?.map(\.kind) == ["user"])
    #expect(detail.groups.value?.map(\.id) == ["g", "h"])
    #expect(detail.groups.value?.last?.kind == "directoryRole")
    #expect(detail.photo.value?.width == 648)
    let targets = try batchTargets(transport.requests[0]).map(\.target)
    #expect(targets.count == 5 && targets.allSatisfy { $0.hasPrefix("/users/a%23b@x") })
    #expect(transport.requests[0].method == .post && transport.requests[0].fields["client-request-id"] != nil)
}

@Test func `detail(of:) distinguishes missing, forbidden and failed parts`() async throws {
    let transport = ScriptedTransport([
        batch([
            ("0", 200, #"{"id":"1"}"#), ("1", 404, unknown), ("2", 200, #"{"value":[]}"#), ("3", 403, refused),
            ("4", 500, "{}"),
        ])
    ])
    let detail = try await GraphDirectory(client: try client(transport)).detail(of: "1")
    #expect(detail.manager == .none)
    #expect(detail.reports == .none)
    guard case .notPermitted(let error) = detail.groups else {
        Issue.record("\(detail.groups)")
        return
    }
    #expect(error.kind == .notPermitted(permissions: ["GroupMember.Read.All", "Directory.Read.All"]))
    guard case .failed = detail.photo else {
        Issue.record("\(detail.photo)")
        return
    }
    let one = ScriptedTransport([batch([("0", 200, #"{"id":"1"}"#), ("1", 200, #"{"width":1,"height":1}"#)])])
    let photo = try await GraphDirectory(client: try client(one))
        .detail(of: "1", select: ["id"], parts: [.photo])
    #expect(photo.photo == .none && photo.manager == .notRequested)
}

@Test func `detail(of:) resolves a mail address to an identifier after 404`() async throws {
    let transport = ScriptedTransport([
        batch([("0", 404, unknown), ("1", 404, unknown)]), .failure(404), .page(["7"]),
        batch([("0", 200, #"{"id":"7"}"#), ("1", 200, #"{"id":"m"}"#)]),
    ])
    let detail = try await GraphDirectory(client: try client(transport))
        .detail(of: "a@x", select: ["id"], parts: [.manager])
    #expect(detail.manager.value?.id == "m")
    #expect(try batchTargets(transport.requests[3]).first?.target == "/users/7?$select=id")
}

@Test func `photo(of:) returns nil for 404 and throws for 403`() async throws {
    let picture = HTTPResponse(status: 200, fields: ["Content-Type": "image/jpeg"], body: Data([0xFF, 0xD8]))
    let transport = ScriptedTransport([
        picture, .json(#"{"error":{"code":"ErrorNonExistentMailbox"}}"#, status: 404), .failure(403),
    ])
    let directory = GraphDirectory(client: try client(transport))
    #expect(try await directory.photo(of: "1") == UserPhoto(bytes: Data([0xFF, 0xD8]), mediaType: "image/jpeg"))
    #expect(try await directory.photo(of: "1") == nil)
    #expect(try await failure { try await directory.photo(of: "1") }?.status == 403)
    #expect(transport.addresses[0] == "\(graph)/users/1/photo/$value")
}

@Test func `a batch retries only its throttled items`() async throws {
    let waits = Log<Duration>()
    let transport = ScriptedTransport([
        batch([("0", 200, #"{"id":"1"}"#), ("1", 429, "{}")], #"{"Retry-After":"7"}"#),
        batch([("1", 200, #"{"id":"m"}"#)]),
    ])
    var client = try client(transport, waits: waits)
    // The test clock does not advance, so an adaptive rate limiter would add waits.
    client.rateLimiter = RateLimiter(unitsPerTenSeconds: 1000)
    let detail = try await GraphDirectory(client: client).detail(of: "1", select: ["id"], parts: [.manager])
    #expect(detail.manager.value?.id == "m")
    #expect(waits.all == [.seconds(7)])
    #expect(try batchTargets(transport.requests[1]).map(\.id) == ["1"])
}

@Test func `an item that is throttled on every retry fails as throttled, not as unknown`() async throws {
    let transport = ScriptedTransport { _ in
        batch([("0", 200, #"{"id":"1"}"#), ("1", 429, "{}")], #"{"Retry-After":"1"}"#)
    }
    let detail = try await GraphDirectory(client: try client(transport))
        .detail(of: "1", select: ["id"], parts: [.manager])
    guard case .failed(let error) = detail.manager else {
        Issue.record("\(detail.manager)")
        return
    }
    #expect(error.kind == .throttled)
    #expect(transport.requests.count == 4)
}

@Test func `a 401 inside a batch refreshes the token once`() async throws {
    let demands = Log<TokenRequirement>()
    let transport = ScriptedTransport([
        batch([("0", 401, "{}"), ("1", 401, "{}")]), batch([("0", 200, #"{"id":"1"}"#), ("1", 404, unknown)]),
    ])
    let client = try client(transport) { demand in
        demands.append(demand)
        return demands.all.count == 1 ? "old" : "new"
    }
    let detail = try await GraphDirectory(client: client).detail(of: "1", select: ["id"], parts: [.manager])
    #expect(detail.user.id == "1")
    #expect(demands.all == [.current, .refreshed(rejected: "old")])
}

@Test(arguments: [
    #"{"responses":[]}"#, #"{"responses":[{"id":"9","status":200}]}"#, #"{"responses":[{"status":200}]}"#, "[]", "{}",
    #"{"responses":[{"id":"0","status":9999999}]}"#,
])
func `a batch response without its items is an error`(body: String) async throws {
    let transport = ScriptedTransport([.json(body)])
    let error = try await failure {
        try await GraphDirectory(client: try client(transport)).detail(of: "1")
    }
    guard case .unreadable? = error?.kind else {
        Issue.record("\(String(describing: error))")
        return
    }
}

/// Responds to each batch item by name: `u…` is a user, `m…@` is a mail address, and all others are unknown.
private func answerNames(_ request: HTTPRequest) -> HTTPResponse {
    let items = (try? batchTargets(request)) ?? []
    let answers = items.reversed().map { id, target -> (String, Int, String) in
        if target.hasPrefix("/users?") {
            return (id, 200, target.contains("%27m") ? #"{"value":[{"id":"by mail"}]}"# : #"{"value":[]}"#)
        }
        let name = target.dropFirst("/users/".count).prefix { $0 != "?" }
        return name.hasPrefix("u") ? (id, 200, #"{"id":"\#(name)"}"#) : (id, 404, unknown)
    }
    return batch(Array(answers))
}

@Test func `lookUp returns results in input order and sends 20 names per batch`() async throws {
    let names = (0..<1000).map { $0 % 10 == 3 ? "nobody\($0)" : $0 % 10 == 7 ? "m\($0)@x" : "u\($0)" } + ["", "."]
    let transport = ScriptedTransport(answer: answerNames)
    let directory = GraphDirectory(client: try client(transport))
    let found = try await directory.lookUp(names, select: ["id"]).collected()
    #expect(found.map(\.name) == names)
    for (index, lookup) in found.enumerated() {
        switch lookup.result {
        case .success(let user): #expect(user.id == (index % 10 == 7 ? "by mail" : names[index]))
        case .failure(let error):
            #expect(
                error.kind == .notFound || names[index].isEmpty && error.kind == .emptySearch || names[index] == ".")
        }
    }
    #expect(transport.requests.count == 50 + 50, "the last two names are invalid and send no request")
    #expect(transport.requests.allSatisfy { ((try? batchTargets($0).count) ?? 99) <= 20 })
}

/// Names that count how many were read.
private struct CountedNames: AsyncSequence, Sendable {
    let count: Int
    let read: Log<Int>

    struct AsyncIterator: AsyncIteratorProtocol, Sendable {
        var left: Int
        let read: Log<Int>
        mutating func next() async -> String? {
            guard left > 0 else { return nil }
            left -= 1
            read.append(1)
            return "u\(left)"
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(left: count, read: read) }
}

@Test func `lookUp reads names on demand and obeys the rate limit`() async throws {
    let read = Log<Int>()
    let waits = Log<Duration>()
    var client = try client(ScriptedTransport(answer: answerNames), waits: waits)
    client.rateLimiter = RateLimiter(unitsPerTenSeconds: 100, burst: 50)
    let directory = GraphDirectory(client: client)
    var lookups = directory.lookUp(CountedNames(count: 10_000, read: read), select: ["id"]).makeAsyncIterator()
    for _ in 0..<21 { _ = try await lookups.next() }
    #expect(read.all.count == 100, "four batches in progress, and the one already returned")
    // The test clock does not advance: after the burst of 50, the rest waits at 5 units per second.
    #expect(waits.all.contains(.seconds(2)) && waits.all.contains(.seconds(6)))
}

@Test func `RateLimiter refills over time, up to the burst`() {
    let pace = RateLimiter(unitsPerTenSeconds: 100, burst: 50)
    #expect(pace.take(50, now: testNow) == .zero)
    #expect(pace.take(5, now: testNow) == .seconds(1))
    #expect(pace.take(5, now: testNow.addingTimeInterval(-100)) == .seconds(2), "a clock set back adds no units")
    #expect(pace.take(50, now: testNow.addingTimeInterval(1000)) == .zero)
    #expect(pace.take(1, now: testNow.addingTimeInterval(1000)) > .zero)
}

@Test func `an error of the whole batch ends a lookup`() async throws {
    let transport = ScriptedTransport { _ in .failure(403) }
    let directory = GraphDirectory(client: try client(transport))
    let error = try await failure { try await directory.lookUp(["a", "b"]).collected() }
    #expect(error?.status == 403)
}

@Test func `queries find deleted users`() async throws {
    let transport = ScriptedTransport([.page(["1"]), .json(#"{"id":"1","deletedDateTime":"2026-01-15T09:30:00Z"}"#)])
    let directory = GraphDirectory(client: try client(transport))
    var query = UserQuery(.givenName(startsWith: "A"), select: ["id"])
    query.isAmongDeleted = true
    #expect(try await directory.users(matching: query).collected().count == 1)
    #expect(try await directory.deletedUser("1", select: ["id"]).deletedDateTime == testNow)
    #expect(transport.addresses[0].hasPrefix("\(graph)/directory/deletedItems/microsoft.graph.user?$filter="))
    #expect(transport.addresses[1] == "\(graph)/directory/deletedItems/1?$select=id")
}
