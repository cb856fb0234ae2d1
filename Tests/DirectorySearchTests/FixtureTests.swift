import Foundation
import HTTPExchange
import StrictJSON
import TestSupport
import Testing

@testable import DirectorySearch

/// A recorded or synthetic response of Graph. The tests run if the folder with the fixtures exists.
struct Fixture: Sendable, CustomTestStringConvertible {
    var name: String
    var method: String
    var path: String
    var encodedTarget: String?
    var filter: String?
    var response: HTTPResponse

    var testDescription: String { name }

    static let all: [Fixture] = (try? read()) ?? []

    static let folder = SharedFolder.url("graph/fixtures/index.json")?.deletingLastPathComponent()

    private static func read() throws -> [Fixture] {
        guard let folder else { return [] }
        let index = try JSONValue(parsing: Data(contentsOf: folder.appending(path: "index.json")))
        return try (index.object?["fixtures"]?.array ?? []).compactMap { entry in
            guard let entry = entry.object, let name = entry["name"]?.string,
                let method = entry[path: "request", "method"]?.string,
                let match = entry["match"]?.object, let path = match["path"]?.string,
                let status = entry[path: "response", "status"]?.number?.int64
            else { return nil }
            var fields = HTTPFields()
            for member in entry[path: "response", "headers"]?.object?.members ?? [] {
                fields.append(name: member.name, value: member.value.string ?? "")
            }
            let body = try entry["file"]?.string.map { try Data(contentsOf: folder.appending(path: $0)) } ?? Data()
            return Fixture(
                name: name, method: method, path: path, encodedTarget: entry["requestTargetEncoded"]?.string,
                filter: match["query"]?.object?["$filter"]?.string,
                response: HTTPResponse(status: Int(status), fields: fields, body: body))
        }
    }

    /// Whether the response is a list of users.
    var isUserList: Bool {
        response.status == 200 && method == "GET" && ["/v1.0/users", "/v1.0/users/"].contains(path)
    }

    /// Whether the response is one user.
    var isUser: Bool {
        let parts = path.split(separator: "/")
        return response.status == 200 && method == "GET"
            && (path == "/v1.0/me" || path.hasPrefix("/v1.0/users('")
                || (parts.count == 3 && parts[1] == "users" && parts[2] != "$count" && parts[2] != "delta"))
    }
}

@Suite(.enabled(if: !Fixture.all.isEmpty, "the fixtures do not exist"))
struct FixtureTests {
    @Test func `the fixtures cover lists, users and errors`() {
        #expect(Fixture.all.count >= 90)
        #expect(Fixture.all.filter(\.isUserList).count >= 20)
        #expect(Fixture.all.filter(\.isUser).count >= 8)
        #expect(Fixture.all.filter { $0.response.status >= 400 }.count >= 25)
    }

    @Test(arguments: Fixture.all.filter(\.isUserList))
    func `a recorded user list keeps every member`(fixture: Fixture) async throws {
        let transport = ScriptedTransport([fixture.response, .page(["last"])])
        let directory = GraphDirectory(client: try client(transport))
        let expected = try #require(JSONValue(parsing: fixture.response.body).object?["value"]?.array)
        var pages = directory.pages(matching: .everyone()).makeAsyncIterator()
        let page = try #require(try await pages.next())
        #expect(page.users.count == expected.count)
        for (user, json) in zip(page.users, expected) {
            let members = try #require(json.object).members
            // Lossless: the same members with the same values, in any order.
            #expect(user.json.members.count == members.count)
            for member in members { #expect(user.json[member.name] == member.value, "\(member.name)") }
            #expect(user.displayName == json.object?["displayName"]?.string)
            #expect(user.mail == json.object?["mail"]?.string)
            #expect(user.userPrincipalName == json.object?["userPrincipalName"]?.string)
            #expect(User(json: user.json) == user)
        }
        if page.hasMore, !fixture.name.hasPrefix("syn-page-nextlink") {
            #expect(try await pages.next()?.users.first?.id == "last")
        }
    }

    @Test(arguments: Fixture.all.filter(\.isUser))
    func `a recorded user keeps every member`(fixture: Fixture) async throws {
        let transport = ScriptedTransport([fixture.response])
        let directory = GraphDirectory(client: try client(transport))
        let user = try await fixture.path == "/v1.0/me" ? directory.me() : directory.user("somebody")
        let members = try #require(JSONValue(parsing: fixture.response.body).object).members
        #expect(user.json.members.count == members.count)
        for member in members { #expect(user.json[member.name] == member.value, "\(member.name)") }
    }

    @Test(arguments: Fixture.all.filter { $0.response.status >= 400 })
    func `the status classifies a recorded error, and its message is included`(fixture: Fixture) async throws {
        let transport = ScriptedTransport { _ in fixture.response }
        let directory = GraphDirectory(client: try client(transport, retry: .never))
        let found = try await failure { try await directory.users(matching: .givenName(startsWith: "A")).collected() }
        let error = try #require(found)
        #expect(error.status == fixture.response.status)
        switch fixture.response.status {
        case 400 where fixture.name == "syn-400-expired-page-token": #expect(error.kind == .resyncNeeded)
        case 400, 416: #expect(error.kind == .badRequest)
        case 401:
            guard case .signInNeeded(let claims) = error.kind else { throw error }
            #expect((claims != nil) == fixture.name.contains("claims"))
        case 403:
            guard case .notPermitted = error.kind else { throw error }
        case 404: #expect(error.kind == .notFound)
        case 410: #expect(error.kind == .resyncNeeded)
        case 429: #expect(error.kind == .throttled)
        case 501: #expect(error.kind == .notSupported)
        default: #expect(error.kind == .unavailable)
        }
        let body = (try? JSONValue(parsing: fixture.response.body))?.object?["error"]?.object
        #expect(error.code == body?["code"]?.string)
        #expect(error.message == body?["message"]?.string)
        let inner = body?["innerError"]?.object
        if let identifier = inner?["request-id"]?.string ?? inner?["requestId"]?.string {
            #expect(error.requestID == identifier)
        }
    }

    @Test(arguments: [
        ("error-429-retry-after-10", 10_000), ("error-429-retry-after-fractional-2021", 2128),
        ("syn-429-http-date", 7000), ("syn-429-malformed-list", 30_000), ("syn-429-throttle-headers", 5000),
        ("syn-503-retry-after", 3000), ("syn-429-no-retry-after", 3000),
    ])
    func `the client obeys the Retry-After of a recorded error`(name: String, milliseconds: Int) async throws {
        let fixture = try #require(Fixture.all.first { $0.name == name })
        let waits = Log<Duration>()
        let transport = ScriptedTransport([fixture.response, .page(["1"])])
        let directory = GraphDirectory(client: try client(transport, waits: waits))
        #expect(try await directory.users(matching: .givenName(startsWith: "A")).collected().count == 1)
        #expect(waits.all == [.milliseconds(milliseconds)])
    }

    @Test(arguments: [
        ("syn-page-nextlink-foreign-host", DirectoryError.Kind.foreignNextLink(host: "https://graph.example.net")),
        ("syn-page-nextlink-same-url-loop", .endlessPages),
    ])
    func `the client stops at a recorded next-link trap`(name: String, kind: DirectoryError.Kind) async throws {
        let fixture = try #require(Fixture.all.first { $0.name == name })
        let transport = ScriptedTransport { _ in fixture.response }
        let directory = GraphDirectory(client: try client(transport))
        let error = try await failure { try await directory.users(matching: .everyone()).collected() }
        #expect(error?.kind == kind)
        #expect(transport.requests.count <= 2)
    }

    @Test(arguments: Fixture.all.filter { $0.filter != nil && $0.encodedTarget != nil })
    func `the client encodes a recorded filter like the recorded request`(fixture: Fixture) throws {
        let target = try #require(fixture.encodedTarget)
        let sent = try #require(target.split { $0 == "?" || $0 == "&" }.first { $0.hasPrefix("$filter=") })
        let ours = try UserQuery(.raw(fixture.filter ?? "")).requestTarget()
        #expect(ours.split { $0 == "?" || $0 == "&" }.contains(sent))
    }
}
