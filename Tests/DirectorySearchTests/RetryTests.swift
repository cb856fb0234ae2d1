import Foundation
import HTTPExchange
import Testing

@testable import DirectorySearch

private let query = UserQuery(.givenName(startsWith: "Ada"), select: ["id"])

@Test(arguments: [429, 503, 504])
func `the client retries a 429, 503 or 504 after Retry-After`(status: Int) async throws {
    let waits = Log<Duration>()
    let transport = ScriptedTransport([
        .failure(status, ["Retry-After": "10"]), .failure(status, ["Retry-After": "2.128"]), .page(["1"]),
    ])
    let directory = GraphDirectory(client: try client(transport, waits: waits))
    #expect(try await directory.users(matching: query).collected().map(\.id) == ["1"])
    #expect(waits.all == [.seconds(10), .milliseconds(2128)])
    #expect(transport.requests.map { $0.fields["Retry-Attempt"] } == [nil, "1", "2"])
    #expect(Set(transport.addresses).count == 1)
    #expect(Set(transport.requests.compactMap { $0.fields["client-request-id"] }).count == 3)
}

@Test(arguments: [400, 403, 404, 409, 410, 500, 501, 502, 302, 204])
func `the client does not retry other errors`(status: Int) async throws {
    let waits = Log<Duration>()
    let transport = ScriptedTransport([.failure(status, ["Retry-After": "1"])])
    let directory = GraphDirectory(client: try client(transport, waits: waits))
    let error = try await failure { try await directory.users(matching: query).collected() }
    #expect(error?.status == status)
    #expect(transport.requests.count == 1)
    #expect(waits.all.isEmpty)
}

@Test func `without Retry-After, the delays double and the client stops after three retries`() async throws {
    let waits = Log<Duration>()
    let transport = ScriptedTransport { _ in .failure(429, code: "TooManyRequests") }
    let directory = GraphDirectory(client: try client(transport, waits: waits))
    let error = try await failure { try await directory.users(matching: query).collected() }
    #expect(waits.all == [.seconds(3), .seconds(6), .seconds(12)])
    #expect(transport.requests.count == 4)
    #expect(error?.kind == .throttled)
    #expect(error?.retryAt == testNow.addingTimeInterval(24))
}

@Test func `delays are randomized and limited`() {
    let policy = HTTPRetryPolicy.directory
    #expect(policy.delay(before: 0, random: 0) == .milliseconds(2250))
    #expect(policy.delay(before: 0, random: 1) == .milliseconds(3750))
    #expect(policy.delay(before: 9, random: 1) == .seconds(180))
    #expect(policy.delay(before: Int.max, random: .nan) <= .seconds(180))
    #expect(policy.delay(before: -1, random: 0.5) == .seconds(3))
    #expect(HTTPRetryPolicy(maximumRetries: 99).maximumRetries == 10)
    #expect(HTTPRetryPolicy(maximumRetries: -1).maximumRetries == 0)
}

@Test func `a Retry-After over the limit fails immediately with the retry time`() async throws {
    let waits = Log<Duration>()
    let transport = ScriptedTransport([.failure(429, ["Retry-After": "181"])])
    var policy = HTTPRetryPolicy.directory
    policy.totalDelay = .seconds(1000)
    let directory = GraphDirectory(client: try client(transport, waits: waits, retry: policy))
    let error = try await failure { try await directory.users(matching: query).collected() }
    #expect(waits.all.isEmpty)
    #expect(error?.kind == .throttled)
    #expect(error?.retryAfter == .seconds(181))
    #expect(error?.remedy.description == "retry at 2026-01-15T09:33:01Z")
}

@Test func `all pages of a search share one retry budget`() async throws {
    let waits = Log<Duration>()
    let transport = ScriptedTransport([
        .failure(503, ["Retry-After": "40"]), .page(["1"], next: "\(graph)/users?p=2"),
        .failure(503, ["Retry-After": "30"]), .page(["2"]),
    ])
    let directory = GraphDirectory(client: try client(transport, waits: waits))
    let error = try await failure { try await directory.users(matching: query).collected() }
    #expect(waits.all == [.seconds(40)])
    #expect(error?.kind == .unavailable)
    #expect(error?.retryAt == testNow.addingTimeInterval(30))
}

@Test func `operations can share a retry budget`() async throws {
    let waits = Log<Duration>()
    let transport = ScriptedTransport([
        .failure(503, ["Retry-After": "40"]), .json(#"{"id":"1"}"#), .failure(503, ["Retry-After": "40"]),
    ])
    var client = try client(transport, waits: waits)
    client.budget = RetryBudget(.seconds(60))
    let directory = GraphDirectory(client: client)
    #expect(try await directory.me().id == "1")
    #expect(try await failure { try await directory.me() }?.kind == .unavailable)
    #expect(waits.all == [.seconds(40)])
}

@Test func `cancellation during a delay ends the search`() async throws {
    let transport = ScriptedTransport([.failure(429, ["Retry-After": "10"]), .page(["1"])])
    var client = try client(transport)
    client.sleep = { _ in throw CancellationError() }
    let directory = GraphDirectory(client: client)
    await #expect(throws: CancellationError.self) { try await directory.users(matching: query).collected() }
    #expect(transport.requests.count == 1)
}

@Test(arguments: [
    ("10", 10_000), ("2.128", 2128), ("0", 0), ("30,120", 30_000), ("30, 120", 30_000), (" 7", 7000),
    ("7 seconds", 7000),
    ("1e9", 1000), ("5.", 5000), ("1.2.3", 1200), ("99999999999999999999999999", 86_400_000),
    ("Thu, 15 Jan 2026 09:30:07 GMT", 7000), ("Thursday, 15-Jan-26 09:30:07 GMT", 7000),
    ("Thu Jan 15 09:30:07 2026", 7000), ("Thu, 15 Jan 2026 09:29:00 GMT", 0),
    ("Fri, 31 Dec 9999 23:59:59 GMT", 86_400_000),
])
func `Retry-After is read in every common format`(value: String, milliseconds: Int) {
    #expect(retryAfter(value, now: testNow) == .milliseconds(milliseconds))
}

@Test(arguments: [
    "", " ", "-5", "soon", ".5", "nan", "inf", "٣", "Thu, 45 Jan 2026 09:30:07 GMT", "a b c d e f", ",,,",
])
func `an invalid Retry-After is ignored`(value: String) {
    #expect(retryAfter(value, now: testNow) == nil)
}

@Test func `Retry-After dates are relative to the response's Date`() {
    let wait = retryAfter(
        "Thu, 15 Jan 2026 09:30:07 GMT", answeredAt: "Thu, 15 Jan 2026 09:30:02 GMT",
        now: testNow.addingTimeInterval(-600))
    #expect(wait == .seconds(5))
}

@Test func `date parsers accept valid dates and reject impossible ones`() {
    #expect(ServerDate.graph("2026-01-15T09:30:00") == testNow)
    #expect(ServerDate.graph("2026-01-15T09:30:00.1234567Z") == testNow)
    #expect(ServerDate.graph("1970-01-01T00:00:00") == Date(timeIntervalSince1970: 0))
    #expect(ServerDate.graph("2024-02-29T00:00:00") != nil)
    #expect(HTTPDate.parse("Sun, 06 Nov 1994 08:49:37 GMT") == Date(timeIntervalSince1970: 784_111_777))
    for text in [
        "date-time", "", "T", "2026-02-29T00:00:00", "2026-13-01T00:00:00", "2026-01-01T24:00:00", "0-1-1T0:0",
    ] {
        #expect(ServerDate.graph(text) == nil, "\(text)")
    }
}

/// Returns the delay that a response with this Retry-After field requests.
func retryAfter(_ value: String, answeredAt date: String? = nil, now: Date) -> Duration? {
    var fields: HTTPFields = ["Retry-After": value]
    fields["Date"] = date
    return HTTPResponse(status: 429, fields: fields).retryAfter(now: now)
}
