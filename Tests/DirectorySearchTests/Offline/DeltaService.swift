import Foundation
import HTTPExchange
import OAuth2AccountStore
import StrictJSON
import Synchronization

@testable import DirectorySearch

/// A directory with `/users/delta`: full lists, changes since a token, and injected errors.
final class DeltaService: Sendable {
    struct State {
        var people: [String: JSONObject] = [:]
        /// The identifiers in the order of their changes. The index is the token.
        var log: [String] = []
        var pageSize = 3
        /// The service has forgotten older tokens and returns 410.
        var oldestToken = 0
        /// Responses to return instead, in order.
        var failures: [HTTPResponse] = []
        /// Creates the response for every request, if set.
        var makeFailure: (@Sendable () -> HTTPResponse)?
        var requests: [HTTPRequest] = []
        /// Runs during each request, with its number.
        var meanwhile: (@Sendable (Int) -> Void)?
    }

    let state = Mutex(State())

    func put(_ id: String, _ members: JSONObject = [:]) {
        state.withLock { state in
            var person = state.people[id] ?? ["id": .string(id)]
            for member in members.members { person[member.name] = member.value }
            state.people[id] = person
            state.log.append(id)
        }
    }

    func person(_ id: String, _ givenName: String, _ surname: String, _ more: JSONObject = [:]) {
        let address = "\(givenName).\(surname)@contoso.example".lowercased().replacing(" ", with: "")
        var members: JSONObject = [
            "displayName": .string("\(givenName) \(surname)"), "givenName": .string(givenName),
            "surname": .string(surname), "mail": .string(address), "userPrincipalName": .string(address),
        ]
        for member in more.members { members[member.name] = member.value }
        put(id, members)
    }

    func remove(_ id: String) {
        state.withLock { state in
            state.people[id] = nil
            state.log.append(id)
        }
    }

    var requests: [HTTPRequest] { state.withLock { $0.requests } }

    func client() throws -> DirectoryClient {
        var client = try DirectorySearchTests.client(Transport(service: self))
        client.retry.maximumRetries = 1
        return client
    }

    var directory: GraphDirectory { get throws { GraphDirectory(client: try client()) } }

    private struct Transport: HTTPTransport {
        let service: DeltaService
        func send(_ request: HTTPRequest) async throws -> HTTPResponse { service.answer(request) }
    }

    private func answer(_ request: HTTPRequest) -> HTTPResponse {
        let (work, number) = state.withLock { state in
            state.requests.append(request)
            return (state.meanwhile, state.requests.count)
        }
        work?(number)
        return state.withLock { state in
            if let makeFailure = state.makeFailure { return makeFailure() }
            if !state.failures.isEmpty { return state.failures.removeFirst() }
            let query = URLComponents(url: request.url, resolvingAgainstBaseURL: false)?.queryItems ?? []
            let token = query.first { $0.name == "$skiptoken" || $0.name == "$deltatoken" }?.value ?? ""
            let parts = token.split(separator: "-", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
            if parts.count == 4, let began = Int(parts[1]), began < state.oldestToken {
                return .failure(410, code: "syncStateNotFound")
            }
            // list-TOKEN--LASTID lists users; log-TOKEN-END-POSITION lists changes.
            if parts.count == 4, parts[0] == "log" { return Self.changes(parts, state) }
            let began = parts.count == 4 ? parts[1] : String(state.log.count)
            let last = parts.count == 4 ? parts[3] : ""
            let rest = state.people.keys.sorted().filter { $0 > last }
            let page = rest.prefix(state.pageSize)
            let link =
                if rest.count > page.count, let id = page.last {
                    ("nextLink", "$skiptoken=list-\(began)--\(id)")
                } else {
                    ("deltaLink", "$deltatoken=log-\(began)--0")
                }
            return Self.page(page.compactMap { state.people[$0].map { .object($0) } }, link)
        }
    }

    private static func changes(_ parts: [String], _ state: State) -> HTTPResponse {
        let began = Int(parts[1]) ?? 0
        let end = Int(parts[2]) ?? state.log.count
        var ids: [String] = []
        for id in state.log[min(began, end)..<end] where !ids.contains(id) { ids.append(id) }
        let location = Int(parts[3]) ?? 0
        let page = ids.dropFirst(location).prefix(state.pageSize)
        let more = location + page.count < ids.count
        return Self.page(
            page.map { id in
                if let person = state.people[id] { return .object(person) }
                return ["id": .string(id), "@removed": ["reason": "changed"]]
            },
            more
                ? ("nextLink", "$skiptoken=log-\(began)-\(end)-\(location + page.count)")
                : ("deltaLink", "$deltatoken=log-\(end)--0"))
    }

    private static func page(_ people: [JSONValue], _ link: (String, String)) -> HTTPResponse {
        .json(
            JSONValue.object([
                "value": .array(people), "@odata.\(link.0)": .string("\(graph)/users/delta?\(link.1)"),
            ]).text())
    }
}

/// A temporary folder for a store.
final class TestStore: Sendable {
    let directory: StoreLocation
    let account = Account.ID(rawValue: "ada-1")

    init() {
        directory = StoreLocation(
            FileManager.default.temporaryDirectory.appending(path: "offline-\(UUID().uuidString)").path)
    }

    deinit { try? FileManager.default.removeItem(atPath: directory.path) }

    var index: OfflineIndex { OfflineIndex(account: account, in: directory) }
    var offline: OfflineDirectory { OfflineDirectory(account: account, in: directory) }

    func sync(
        _ service: DeltaService, _ properties: [String]? = nil, maximumUsers: Int = DirectorySync.defaultMaximumUsers
    ) throws -> DirectorySync {
        DirectorySync(
            of: try service.directory, account: account, in: directory, properties: properties,
            maximumUsers: maximumUsers)
    }

    /// Returns all users of the offline copy, by identifier.
    func everybody() async throws -> [String: User] {
        let users = try await offline.users(matching: nil, limit: 100_000)
        return Dictionary(users.map { ($0.id ?? "", $0) }, uniquingKeysWith: { first, _ in first })
    }
}

/// Returns the kind of the offline index error that the closure throws, or `nil`.
func offlineFailure(_ body: () async throws -> some Any) async throws -> OfflineIndexError.Kind? {
    do {
        _ = try await body()
        return nil
    } catch let error as OfflineIndexError {
        return error.kind
    }
}
