import Foundation
import HTTPExchange
import Testing

@testable import DirectorySearch

private let query = UserQuery(.givenName(startsWith: "Ada"), select: ["id"])

@Test(arguments: ["Directory_ExpiredPageToken", "DirectoryPageTokenNotFoundException"])
func `an expired page token restarts the search without duplicate users`(code: String) async throws {
    let transport = ScriptedTransport([
        .page(["1", "2"], next: "\(graph)/users?p=2"), .page(["3"], next: "\(graph)/users?p=3"),
        .failure(400, code: code),
        .page(["2", "1"], next: "\(graph)/users?q=2"), .page(["4", "3"], next: "\(graph)/users?q=3"), .page(["5"]),
    ])
    let directory = GraphDirectory(client: try client(transport))
    #expect(try await directory.users(matching: query).collected().map(\.id) == ["1", "2", "3", "4", "5"])
    #expect(transport.addresses[3] == transport.addresses[0])
}

@Test func `the number of restarts is limited`() async throws {
    let transport = ScriptedTransport { request in
        request.url.absoluteString.contains("p=2")
            ? .failure(400, code: "Directory_ExpiredPageToken") : .page(["1"], next: "\(graph)/users?p=2")
    }
    let directory = GraphDirectory(client: try client(transport))
    let error = try await failure { try await directory.users(matching: query).collected() }
    #expect(error?.kind == .resyncNeeded)
    #expect(transport.requests.count == 8)
}

@Test func `a search without identifiers does not restart`() async throws {
    let transport = ScriptedTransport([
        .json(#"{"value":[{"mail":"a"}],"@odata.nextLink":"\#(graph)/users?p=2"}"#),
        .failure(400, code: "Directory_ExpiredPageToken"),
    ])
    let directory = GraphDirectory(client: try client(transport))
    let error = try await failure { try await directory.users(matching: query).collected() }
    #expect(error?.kind == .resyncNeeded)
    #expect(transport.requests.count == 2)
}

@Test func `the client does not follow the next link of a retried request`() async throws {
    let waits = Log<Duration>()
    let transport = ScriptedTransport([
        .failure(503, ["Retry-After": "1"]), .page(["1"], next: "\(graph)/users?retried"),
        .page(["1"], next: "\(graph)/users?fresh"), .page(["2"]),
    ])
    let directory = GraphDirectory(client: try client(transport, waits: waits))
    #expect(try await directory.users(matching: query).collected().map(\.id) == ["1", "2"])
    #expect(transport.addresses.last == "\(graph)/users?fresh")
    #expect(!transport.addresses.contains("\(graph)/users?retried"))
}

/// A transport that throws the first few times and then responds.
private final class Unreliable: HTTPTransport {
    private let kinds: Log<HTTPTransportError.Kind>
    private let failures: Int
    private let kind: HTTPTransportError.Kind

    init(_ kind: HTTPTransportError.Kind, times: Int) {
        self.kind = kind
        failures = times
        kinds = Log()
    }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        kinds.append(kind)
        if kinds.all.count <= failures { throw HTTPTransportError(kind, host: "h", reason: "gone") }
        return .page(["1"])
    }

    var requests: Int { kinds.all.count }
}

@Test(arguments: [HTTPTransportError.Kind.cannotConnect, .connectionLost])
func `the client retries a failed connection twice after short delays`(kind: HTTPTransportError.Kind) async throws {
    let waits = Log<Duration>()
    let twice = Unreliable(kind, times: 2)
    #expect(
        try await GraphDirectory(client: try client(twice, waits: waits)).users(matching: query).collected()
            .count == 1)
    #expect(waits.all == [.milliseconds(250), .milliseconds(500)])
    let ever = Unreliable(kind, times: 9)
    await #expect(throws: HTTPTransportError.self) {
        try await GraphDirectory(client: try client(ever)).users(matching: query).collected()
    }
    #expect(ever.requests == 3)
    let never = Unreliable(kind, times: 1)
    await #expect(throws: HTTPTransportError.self) {
        try await GraphDirectory(client: try client(never, retry: .never)).users(matching: query).collected()
    }
    #expect(never.requests == 1)
}

@Test(arguments: [
    HTTPTransportError.Kind.cannotResolveHost, .timedOut, .tls, .proxy, .responseTooLarge, .plainHTTPRefused, .other,
])
func `the client does not retry errors that a new connection cannot fix`(kind: HTTPTransportError.Kind) async throws {
    let transport = Unreliable(kind, times: 1)
    await #expect(throws: HTTPTransportError.self) {
        try await GraphDirectory(client: try client(transport)).users(matching: query).collected()
    }
    #expect(transport.requests == 1)
}
