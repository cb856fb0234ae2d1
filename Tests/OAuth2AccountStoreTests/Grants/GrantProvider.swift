import Foundation
import HTTPExchange
import JOSE
import OAuth2Protocol
import StrictJSON
import Synchronization

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import LodgePlatform

/// A provider whose metadata, responses and time the test sets.
final class GrantProvider: HTTPTransport {
    typealias Handler = @Sendable (Received) async throws -> HTTPResponse

    /// A request that the provider received.
    struct Received: Sendable {
        let request: HTTPRequest
        let form: [String: String]
        var path: String { request.url.path() }

        init(_ request: HTTPRequest) {
            self.request = request
            let body = request.body.map { String(decoding: $0, as: UTF8.self) } ?? ""
            form = Dictionary(
                (FormEncoding.decode(body) ?? []).map { ($0.name, $0.value) }, uniquingKeysWith: { "\($0), \($1)" })
        }

        /// Returns the claims of a proof or an assertion, verified with the given key or the key in its header.
        func claims(of text: String?, key: JWK? = nil) throws -> JSONObject? {
            guard let text else { return nil }
            let token = try JWT(parsing: text)
            let key = try key ?? token.header["jwk"]?.object.map { try JWK($0) }
            guard let key else { return nil }
            return try token.verified(with: key, algorithms: JWSAlgorithm.asymmetric).claims.members
        }
        func proof() throws -> JSONObject? { try claims(of: request.fields["DPoP"]) }
    }

    private struct State {
        var metadata: JSONObject
        var handlers: [String: Handler] = [:]
        var requests: [Received] = []
        var now = Date(timeIntervalSince1970: 1_800_000_000)
        var uptime = 1000.0
        var waits: [Double] = []
        var keys: [JWK] = []
        var refusesWaits = false
    }

    static let issuer = "https://id.example"
    private let state: Mutex<State>
    let signingKey: JWK

    init(_ metadata: JSONObject = [:]) throws {
        signingKey = try JWK.generate(for: .es256, keyID: "first")
        var all: JSONObject = [
            "issuer": .string(Self.issuer), "authorization_endpoint": "https://id.example/authorize",
            "token_endpoint": "https://id.example/token", "jwks_uri": "https://id.example/keys",
            "device_authorization_endpoint": "https://id.example/device",
            "pushed_authorization_request_endpoint": "https://id.example/par",
            "id_token_signing_alg_values_supported": ["ES256"],
        ]
        for member in metadata.members { all[member.name] = member.value }
        state = Mutex(State(metadata: all))
        publish([signingKey])
    }

    // MARK: The provider

    func answer(_ path: String, _ handler: @escaping Handler) { state.withLock { $0.handlers[path] = handler } }

    /// Responds to this path with these responses in turn, then repeats the last one.
    func answer(_ path: String, inTurn answers: HTTPResponse...) {
        let left = Mutex(answers)
        answer(path) { _ in left.withLock { $0.count > 1 ? $0.removeFirst() : $0.first ?? HTTPResponse(status: 500) } }
    }

    func publish(_ keys: [JWK]) { state.withLock { $0.keys = keys } }

    func requests(to path: String) -> [Received] { state.withLock { $0.requests.filter { $0.path == path } } }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        try Task.checkCancellation()
        let received = Received(request)
        let (handler, metadata, keys) = state.withLock { state in
            state.requests.append(received)
            return (state.handlers[received.path], state.metadata, state.keys)
        }
        if let handler { return try await handler(received) }
        switch received.path {
        case "/.well-known/openid-configuration": return .grant(metadata)
        case "/keys": return .grant(JWKSet(keys).json)
        default: return HTTPResponse(status: 404)
        }
    }

    func idToken(
        _ claims: JSONObject = [:], key: JWK? = nil, algorithm: JWSAlgorithm = .es256, nonce: String? = nil
    ) throws -> JSONValue {
        let now = Int64(self.now.timeIntervalSince1970)
        var all: JSONObject = [
            "iss": .string(Self.issuer), "aud": "client", "sub": "ada", "name": "Ada",
            "preferred_username": "ada@contoso.example", "iat": .number(JSONNumber(now)),
            "exp": .number(JSONNumber(now + 600)),
        ]
        if let nonce { all["nonce"] = .string(nonce) }
        for member in claims.members { all[member.name] = member.value }
        return .string(try JWT.sign(all, with: key ?? signingKey, algorithm: algorithm))
    }

    // MARK: Time

    var now: Date { state.withLock { $0.now } }
    var uptime: Double { state.withLock { $0.uptime } }
    var waits: [Double] { state.withLock { $0.waits } }

    func advance(_ seconds: Double) {
        state.withLock {
            $0.now += seconds
            $0.uptime += seconds
        }
    }

    /// Cancels every later wait, like a user who cancels.
    func refuseWaits() { state.withLock { $0.refusesWaits = true } }

    func dependencies(_ environment: [String: String] = [:]) -> Dependencies {
        var dependencies = Dependencies(transport: self, environment: environment)
        dependencies.useTestTime()
        dependencies.now = { self.now }
        dependencies.uptime = { .seconds(self.uptime) }
        dependencies.sleep = { duration in
            let seconds = duration / .seconds(1)
            if self.state.withLock({ $0.refusesWaits }) { throw CancellationError() }
            self.state.withLock { $0.waits.append(seconds) }
            self.advance(seconds)
        }
        return dependencies
    }

    // MARK: Stores

    /// Returns a store with one type named `t` that has these keys in addition to the default ones, without the omitted
    /// ones.
    func store(
        _ keys: JSONObject = [:], storage: any AccountStorage = MemoryStorage(), custody: (any KeyCustody)? = nil,
        environment: [String: String] = [:], omitting omitted: [String] = []
    ) async throws -> AccountStore {
        var type: JSONObject = [
            "issuer": .string(Self.issuer), "clientId": "client", "redirectUri": "http://127.0.0.1/callback",
            "scopes": ["openid", "read"],
        ]
        for member in keys.members { type[member.name] = member.value }
        for name in omitted { type[name] = nil }
        let settings = JSONValue.object(["types": .object(["t": .object(type)])])
        return try await AccountStore(
            settings: Settings(bytes: settings.serialized(), source: "test"), storage: storage,
            custody: try custody ?? MemoryKey(), dependencies: dependencies(environment), watchesOtherProcesses: false)
    }

    /// Signs in with the browser flow. The token endpoint returns an ID token and these members.
    func signIn(
        _ store: AccountStore, options: SignInOptions = .init(), claims: JSONObject = [:],
        answer members: JSONObject = [:], idToken: (@Sendable (String?) throws -> JSONValue)? = nil
    ) async throws -> Account {
        let prepared = try await store.prepareSignIn(to: "t", options: options)
        let query = Self.query(prepared.url)
        // The parameters of a pushed request are not in the URL.
        let nonce = query["nonce"] ?? requests(to: "/par").last?.form["nonce"]
        var tokens: JSONObject = [
            "access_token": "at-1", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "rt-1",
            "id_token": try idToken?(nonce) ?? self.idToken(claims, nonce: nonce),
        ]
        for member in members.members { tokens[member.name] = member.value == .null ? nil : member.value }
        if state.withLock({ $0.handlers["/token"] == nil }) { answer("/token", inTurn: .grant(tokens)) }
        let address = "\(prepared.redirectURI.text)?code=c-1&state=\(prepared.id)"
        return try await store.handleRedirect(URL(string: address) ?? URL(filePath: "/"))
    }

    static func query(_ url: URL) -> [String: String] {
        let items = URLComponents(url: url, resolvingAgainstBaseURL: false)?.queryItems ?? []
        return Dictionary(items.map { ($0.name, $0.value ?? "") }, uniquingKeysWith: { "\($0), \($1)" })
    }
}

extension HTTPResponse {
    static func grant(_ object: JSONObject, status: Int = 200, _ fields: HTTPFields = [:]) -> HTTPResponse {
        var fields = fields
        fields["Content-Type"] = fields["Content-Type"] ?? "application/json"
        return HTTPResponse(status: status, fields: fields, body: Data(JSONValue.object(object).serialized()))
    }

    static func grantError(_ code: String, status: Int = 400, _ fields: HTTPFields = [:]) -> HTTPResponse {
        grant(["error": .string(code)], status: status, fields)
    }
}

/// Returns the error of a call, or `nil` if it succeeds.
func grantFailure(_ body: () async throws -> some Any) async throws -> AccountStoreError? {
    do {
        _ = try await body()
        return nil
    } catch let error as AccountStoreError {
        return error
    }
}
