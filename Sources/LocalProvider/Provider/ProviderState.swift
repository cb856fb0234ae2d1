import Platform
import HTTPExchange
import JOSE
import LoopbackHTTP
import StrictJSON
import Synchronization

/// What the endpoints share.
final class ProviderState: Sendable {
    struct State {
        var port: UInt16 = 0
        var grants = Grants()
        var log = RequestLog()
        var faults: InjectedErrors
        var directory: DirectoryContents
        /// Page tokens of another generation have expired.
        var generation = 0
        var quotas = Bounded<QuotaWindow>(limit: 1_000)
    }

    let configuration: LoopbackProvider.Configuration
    let state: Mutex<State>
    /// The signing key. An RSA key takes a tenth of a second or so, which is spent while the person looks at the page.
    private let key = Mutex<Task<JWK, any Error>?>(nil)

    init(_ configuration: LoopbackProvider.Configuration) {
        self.configuration = configuration
        state = Mutex(
            State(
                faults: configuration.faults,
                directory: DirectoryContents(UserTable(count: configuration.people, seed: configuration.seed))))
    }

    /// The directory as it is now.
    var contents: DirectoryContents { state.withLock { $0.directory } }

    func begin(port: UInt16) { state.withLock { $0.port = port } }

    var issuer: String { "http://127.0.0.1:\(state.withLock { $0.port })" }

    func signingKey() async throws -> JWK { try await startMakingKey().value }

    /// Begins to make the key, once. Whoever will need it soon calls this early.
    @discardableResult
    func startMakingKey() -> Task<JWK, any Error> {
        key.withLock { key in
            if let key { return key }
            let given = configuration.signingKey
            let task = Task.detached { try given ?? JWK.generate(for: .rs256, keyID: "local-1") }
            key = task
            return task
        }
    }

    /// Seconds since 1970; within 32-bit years, whatever the clock says.
    var now: Int {
        let seconds = configuration.now().timeIntervalSince1970
        return seconds.isFinite ? Int(min(max(seconds, 0), 1e11)) : 0
    }

    /// A new token: 32 random bytes in base64url.
    func newToken() throws(OAuthFailure) -> String {
        do {
            return Base64URL.encode(try configuration.randomBytes(32))
        } catch {
            throw .server
        }
    }

    // MARK: Routing

    func answer(_ request: LoopbackRequest) async -> LoopbackResponse {
        var note = Note()
        let response = await route(request, &note)
        let isDirectory = ["/v1.0/", "/beta/", "/scim/v2/", "/admin/directory/v1/"].contains {
            request.path.hasPrefix($0)
        }
        let gaveNothing = response.fault == .closeWithoutAnswer || response.fault == .stall
        let entry = LoggedRequest(
            method: request.method.rawValue, path: request.path, query: isDirectory ? request.query : nil,
            grantType: note.grantType, status: gaveNothing ? nil : response.status, fault: note.fault)
        state.withLock { $0.log.add(entry) }
        configuration.onRequest?(entry)
        return response
    }

    /// What the log wants to know beyond request and answer.
    struct Note {
        var grantType: String?
        var fault: InjectedErrors.Name?
    }

    private func route(_ request: LoopbackRequest, _ note: inout Note) async -> LoopbackResponse {
        if request.path.hasPrefix("/v1.0/") || request.path.hasPrefix("/beta/") {
            return directory(request, &note)
        }
        if request.path.hasPrefix("/scim/v2/") { return scim(request, &note) }
        if request.path.hasPrefix("/admin/directory/v1/") { return google(request, &note) }
        let method = request.method == .head ? .get : request.method
        switch (request.path, method) {
        case ("/", .get): return welcomePage()
        case ("/.well-known/openid-configuration", .get), ("/.well-known/oauth-authorization-server", .get):
            return .json(.object(metadata()))
        case ("/jwks", .get): return await jwks()
        case ("/authorize", .get): return authorize(query: request.query ?? "")
        case ("/authorize", .post): return authorize(post: request)
        case ("/token", .post): return await token(request, &note)
        case ("/device_authorization", .post): return deviceAuthorization(request)
        case ("/device", .get): return devicePage(FormFields(parsing: request.query ?? ""))
        case ("/device", .post): return decideDevice(request)
        case ("/userinfo", .get), ("/userinfo", .post): return userInfo(request)
        case ("/revoke", .post): return revoke(request)
        case ("/logout", .get): return await logout(FormFields(parsing: request.query ?? ""))
        case ("/logout", .post): return await logout(FormFields(parsing: String(decoding: request.body, as: UTF8.self)))
        default: break
        }
        guard let methods = Self.methods[request.path] else {
            return .text(404, "Nothing is here. The endpoints are named at /.well-known/openid-configuration\n")
        }
        var response = LoopbackResponse.text(405, "This takes \(methods)\n")
        response.fields["Allow"] = methods
        return response
    }

    private static let methods = [
        "/": "GET", "/.well-known/openid-configuration": "GET", "/.well-known/oauth-authorization-server": "GET",
        "/jwks": "GET", "/authorize": "GET, POST", "/token": "POST", "/userinfo": "GET, POST", "/revoke": "POST",
        "/device_authorization": "POST", "/device": "GET, POST",
        "/logout": "GET, POST",
    ]
}

extension LoopbackResponse {
    /// A JSON answer.
    static func json(_ value: JSONValue, status: Int = 200) -> LoopbackResponse {
        LoopbackResponse(
            status: status, fields: ["Content-Type": "application/json; charset=utf-8"], body: Data(value.serialized()))
    }

    /// A plain text answer.
    static func text(_ status: Int, _ text: String) -> LoopbackResponse {
        LoopbackResponse(
            status: status, fields: ["Content-Type": "text/plain; charset=utf-8"], body: Data(text.utf8))
    }

    /// A page.
    static func html(_ page: String, status: Int = 200) -> LoopbackResponse {
        LoopbackResponse(
            status: status, fields: ["Content-Type": "text/html; charset=utf-8"], body: Data(page.utf8))
    }
}
