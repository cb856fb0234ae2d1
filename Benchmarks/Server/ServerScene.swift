import HTTPExchange
import LoopbackHTTP
import OAuth2AccountStore
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A provider on loopback, and the stores of a server whose users sign in there.
final class ServerScene: Sendable {
    /// The clock, and the number of refreshes that the provider received.
    private final class State: Sendable {
        let hours = Atomic<Int>(0)
        let refreshes = Atomic<Int>(0)

        var now: Date { Date(timeIntervalSince1970: 1_800_000_000 + 3600 * Double(hours.load(ordering: .relaxed))) }
    }

    private let state: State
    private let listener: LoopbackListener
    private let folder: String

    init(folder: TemporaryFolder) throws {
        let state = State()
        self.state = state
        self.folder = folder.path
        listener = try LoopbackListener { request in
            if request.path == "/userinfo" { return Self.userInfo(request) }
            let form = String(decoding: request.body, as: UTF8.self)
            let code = form.split(separator: "&").first { $0.hasPrefix("code=") }?.dropFirst(5)
            let number = code == nil ? state.refreshes.add(1, ordering: .relaxed).newValue : 0
            // The first access token names the user.
            let user = code.map(String.init) ?? "renewed-\(number)"
            return Self.json(TokenAnswer.body(accessToken: "\(user).\(TokenAnswer.standardToken)"))
        }
    }

    var tokenEndpoint: String { "http://127.0.0.1:\(listener.port)/token" }

    func close() { listener.close() }
    func letTokensExpire() { state.hours.add(2, ordering: .relaxed) }
    func takeRefreshes() -> Int { state.refreshes.exchange(0, ordering: .relaxed) }

    private static func userInfo(_ request: LoopbackRequest) -> LoopbackResponse {
        let token = request.fields["Authorization"]?.split(separator: " ").last ?? ""
        let user = token.split(separator: ".").first ?? ""
        return json(Data(#"{"sub":"\#(user)","name":"Ada","email":"\#(user)@example.com"}"#.utf8))
    }

    private static func json(_ body: Data) -> LoopbackResponse {
        LoopbackResponse(status: 200, fields: ["Content-Type": "application/json"], body: body)
    }

    /// Opens a store in a folder of the scene.
    func open(_ name: String) async throws -> AccountStore {
        var dependencies = Dependencies.system
        dependencies.now = { [state] in state.now }
        let text = """
            {"defaultType": "graph", "types": {"graph": {
                "authorizationEndpoint": "http://127.0.0.1:\(listener.port)/authorize",
                "tokenEndpoint": "\(tokenEndpoint)",
                "userinfoEndpoint": "http://127.0.0.1:\(listener.port)/userinfo",
                "clientId": "benchmark", "redirectUri": "http://127.0.0.1/callback", "scopes": ["User.Read"]}}}
            """
        let directory = StoreLocation(folder + "/" + name)
        return try await AccountStore(
            settings: try Settings(bytes: Array(text.utf8), source: "benchmark"),
            storage: SQLiteStorage(directory: directory), custody: KeyFile(directory: directory),
            dependencies: dependencies)
    }

    /// Signs all users in at the same time, as visitors of a server do, and returns their accounts.
    func signIn(_ users: Int, to store: AccountStore) async throws -> [Account.ID] {
        try await withThrowingTaskGroup(of: Account.ID.self) { group in
            for number in 0..<users {
                group.addTask {
                    let prepared = try await store.prepareSignIn(to: "graph")
                    let redirect = "http://127.0.0.1/callback?code=person-\(number)&state=\(prepared.id)"
                    guard let url = URL(string: redirect) else { throw BenchmarkError("\(redirect) is not a URL") }
                    return try await store.handleRedirect(url, for: prepared.id).id
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }
}
