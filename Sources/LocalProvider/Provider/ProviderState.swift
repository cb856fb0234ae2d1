import LodgePlatform
import HTTPExchange
import JOSE
import LoopbackHTTP
import StrictJSON
import Synchronization

/// The provider for one request: the shared state and the request's authority.
struct ProviderState: Sendable {
    struct State {
        var grants = Grants()
        var log = RequestLog()
        var injectedErrors: InjectedErrors
        var directory: DirectoryContents
        /// The generation of page tokens. Tokens of another generation have expired.
        var generation = 0
        var quotas = Bounded<QuotaWindow>(limit: 1_000)
    }

    let configuration: ProviderConfiguration
    let state: SharedState
    var authority = ProviderAuthority()

    init(_ configuration: ProviderConfiguration) {
        self.configuration = configuration
        state = SharedState(
            State(
                injectedErrors: configuration.injectedErrors,
                directory: DirectoryContents(UserTable(count: configuration.userCount, seed: configuration.seed))))
    }

    var contents: DirectoryContents { state.withLock { $0.directory } }

    /// Returns the configured or registered client with this identifier.
    func client(id: String?) -> LocalClient? {
        guard let id else { return nil }
        if let client = configuration.clients.first(where: { $0.id == id }) { return client }
        return id == LocalClient.workload.id ? .workload : state.withLock { $0.grants.registrations[id]?.client }
    }

    /// The scheme, host and port of the request.
    var origin: String { authority.origin }

    var issuer: String { authority.issuer }

    func signingKey() async throws -> JWK { try await createKey().value }

    /// Starts to create the key, at most once. Call it early if a response will need the key.
    @discardableResult
    func createKey() -> Task<JWK, any Error> {
        state.key.withLock { key in
            if let key { return key }
            let configuration = configuration
            let task = Task.detached {
                // A client that has the keys of an earlier provider on this port sees that it needs the new one.
                try configuration.signingKey
                    ?? JWK.generate(for: .rs256, keyID: "local-\(Base64URL.encode(configuration.randomBytes(6)))")
            }
            key = task
            return task
        }
    }

    /// The current time in seconds since 1970, limited to years with 32 bits.
    var now: Int {
        let seconds = configuration.now().timeIntervalSince1970
        return seconds.isFinite ? Int(min(max(seconds, 0), 1e11)) : 0
    }

    /// Returns a new token: 32 random bytes in base64url.
    func newToken() throws(OAuthFailure) -> String {
        do {
            return Base64URL.encode(try configuration.randomBytes(32))
        } catch {
            throw .server
        }
    }

    /// Deducts the units of a request from the application's quota.
    func charge(_ units: Int, to application: String) -> QuotaCharge {
        guard let quota = configuration.quota.map({ max(1, $0) }) else { return QuotaCharge(units: units) }
        let now = now
        return state.withLock { state in
            var window = state.quotas[application] ?? QuotaWindow(start: now)
            defer { state.quotas[application] = window }
            return window.charge(units, of: quota, now: now)
        }
    }
}

/// The state shared by all requests.
final class SharedState: Sendable {
    private let state: Mutex<ProviderState.State>
    /// The signing key. Creating an RSA key takes about 0.1 s, in which the user reads the page.
    let key = Mutex<Task<JWK, any Error>?>(nil)
    /// The key of the stand-in for GitHub.
    let federationKey = Mutex<JWK?>(nil)

    init(_ state: ProviderState.State) { self.state = Mutex(state) }

    func withLock<Result: Sendable, Failure: Error>(
        _ body: (inout ProviderState.State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try state.withLock { state throws(Failure) in try body(&state) }
    }
}

/// The parts of a log entry from the endpoint.
struct RequestNote {
    var grantType: String?
    var injectedError: InjectedErrors.Name?
}

extension LoopbackResponse {
    private init(_ status: Int, _ type: String, _ body: some Sequence<UInt8>) {
        self.init(status: status, fields: ["Content-Type": "\(type); charset=utf-8"], body: Data(body))
    }

    static func json(
        _ object: JSONObject, status: Int = 200, type: String = "application/json"
    ) -> LoopbackResponse {
        LoopbackResponse(status, type, JSONValue.object(object).serialized())
    }

    static func text(_ status: Int, _ text: String) -> LoopbackResponse {
        LoopbackResponse(status, "text/plain", text.utf8)
    }

    static func html(_ page: String, status: Int = 200) -> LoopbackResponse {
        LoopbackResponse(status, "text/html", page.utf8)
    }
}
