import Platform
import HTTPExchange
import JOSE
import LoopbackHTTP
import StrictJSON
import Synchronization

final class ProviderState: Sendable {
    struct State {
        var port: UInt16 = 0
        var grants = Grants()
        var log = RequestLog()
        var injectedErrors: InjectedErrors
        var directory: DirectoryContents
        /// Page tokens of another generation have expired.
        var generation = 0
        var quotas = Bounded<QuotaWindow>(limit: 1_000)
    }

    let configuration: ProviderConfiguration
    let state: Mutex<State>
    /// The signing key. Creating an RSA key takes about 0.1 s, which pass while the user reads the page.
    private let key = Mutex<Task<JWK, any Error>?>(nil)

    init(_ configuration: ProviderConfiguration) {
        self.configuration = configuration
        state = Mutex(
            State(
                injectedErrors: configuration.injectedErrors,
                directory: DirectoryContents(UserTable(count: configuration.userCount, seed: configuration.seed))))
    }

    var contents: DirectoryContents { state.withLock { $0.directory } }

    func client(id: String?) -> LocalClient? { configuration.clients.first { $0.id == id } }

    func setPort(_ port: UInt16) { state.withLock { $0.port = port } }

    var issuer: String { "http://127.0.0.1:\(state.withLock { $0.port })" }

    func signingKey() async throws -> JWK { try await createKey().value }

    /// Starts to create the key, once. Call it early if a response will need the key.
    @discardableResult
    func createKey() -> Task<JWK, any Error> {
        key.withLock { key in
            if let key { return key }
            let configured = configuration.signingKey
            let task = Task.detached { try configured ?? JWK.generate(for: .rs256, keyID: "local-1") }
            key = task
            return task
        }
    }

    /// Seconds since 1970; within 32-bit years, whatever the clock says.
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

    /// Takes the units of a request from the application's quota.
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

/// The parts of a log entry that only the endpoint knows.
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
