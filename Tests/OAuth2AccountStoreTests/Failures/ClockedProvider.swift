import Foundation
import HTTPExchange
import JOSE
import OAuth2Protocol
import StrictJSON
import Synchronization
import TestSupport

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import LodgePlatform

/// A provider with the correct time, used from a machine whose clock the test sets. It dates its responses, and rejects
/// assertions and proofs that are off by more than a minute. Its resource rejects expired tokens.
final class ClockedProvider: HTTPTransport {
    private struct State {
        /// The correct time, in seconds since 1970.
        var time = 1_800_000_000.0
        /// The number of seconds by which the machine's clock is ahead.
        var error = 0.0
        var uptime = 1000.0
        var issued = 0
        var grants: Set<String> = []
        var ends: [String: Double] = [:]
        var refusals = 0
        var refreshes = 0
        var nonce: String?
    }
    private let state = Mutex(State())
    let signingKey: JWK
    let clientKey: JWK
    static let issuer = "https://id.example"

    init(machineAhead error: Double = 0) throws {
        signingKey = try JWK.generate(for: .es256, keyID: "first")
        clientKey = try JWK.generate(for: .es256, keyID: "mine")
        state.withLock { $0.error = error }
    }

    /// Advances the time. With `asleep`, the machine's uptime does not advance.
    func pass(_ seconds: Double, asleep: Bool = false) {
        state.withLock {
            $0.time += seconds
            if !asleep { $0.uptime += seconds }
        }
    }
    /// Sets the machine's clock to this number of seconds ahead of the correct time.
    func setMachine(ahead error: Double) { state.withLock { $0.error = error } }

    var refreshes: Int { state.withLock { $0.refreshes } }
    var refusals: Int { state.withLock { $0.refusals } }

    func store(
        _ keys: JSONObject = [:], storage: any AccountStorage = MemoryStorage(), custody: (any KeyCustody)? = nil
    ) async throws -> AccountStore {
        var dependencies = Dependencies(
            transport: self, environment: ["KEY": JSONValue.object(try clientKey.privateJSON()).text()])
        dependencies.useTestTime()
        dependencies.now = { self.state.withLock { Date(timeIntervalSince1970: $0.time + $0.error) } }
        dependencies.uptime = { .seconds(self.state.withLock { $0.uptime }) }
        var type: JSONObject = [
            "issuer": .string(Self.issuer), "clientId": "client", "redirectUri": "http://127.0.0.1/callback",
            "scopes": ["openid", "read"],
        ]
        for member in keys.members { type[member.name] = member.value }
        let settings = JSONValue.object(["types": .object(["t": .object(type)])])
        return try await AccountStore(
            settings: Settings(bytes: settings.serialized(), source: "test"), storage: storage,
            custody: try custody ?? MemoryKey(), dependencies: dependencies, watchesOtherProcesses: false)
    }

    func signIn(_ store: AccountStore) async throws -> Account {
        let prepared = try await store.prepareSignIn(to: "t")
        state.withLock { $0.nonce = GrantProvider.query(prepared.url)["nonce"] }
        let address = "\(prepared.redirectURI.text)?code=c-1&state=\(prepared.id)"
        return try await store.handleRedirect(URL(string: address) ?? URL(filePath: "/"))
    }

    /// Sends a request to the resource and returns the status.
    func use(_ store: AccountStore, _ account: Account) async throws -> Int {
        let url = URL(string: "https://id.example/api") ?? URL(filePath: "/")
        return try await store.send(HTTPRequest(.get, url), for: account.id).status
    }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        var response = try answer(GrantProvider.Received(request))
        response.fields["Date"] = HTTPDateText.text(Date(timeIntervalSince1970: state.withLock { $0.time }))
        return response
    }

    private func answer(_ received: GrantProvider.Received) throws -> HTTPResponse {
        switch received.path {
        case "/.well-known/openid-configuration":
            return .grant([
                "issuer": .string(Self.issuer), "authorization_endpoint": "https://id.example/authorize",
                "token_endpoint": "https://id.example/token", "jwks_uri": "https://id.example/keys",
                "id_token_signing_alg_values_supported": ["ES256"], "dpop_signing_alg_values_supported": ["ES256"],
                "token_endpoint_auth_methods_supported": ["private_key_jwt", "none"],
            ])
        case "/keys": return .grant(JWKSet([signingKey]).json)
        case "/token": return try token(received)
        case "/api": return try resource(received)
        default: return HTTPResponse(status: 404)
        }
    }

    private func isNow(_ claims: JSONObject?, _ name: String) -> Bool {
        guard let claims else { return true }
        let time = state.withLock { $0.time }
        guard let issued = claims["iat"]?.number?.double, abs(issued - time) <= 60 else { return false }
        return claims["exp"]?.number?.double.map { $0 > time } ?? true
    }

    private func refuse(_ code: String, _ status: Int) -> HTTPResponse {
        state.withLock { $0.refusals += 1 }
        return .grantError(code, status: status)
    }

    private func token(_ received: GrantProvider.Received) throws -> HTTPResponse {
        let assertion = try received.claims(of: received.form["client_assertion"], key: clientKey.publicKey)
        guard isNow(assertion, "assertion") else { return refuse("invalid_client", 401) }
        let proof = try received.proof()
        guard isNow(proof, "proof") else { return refuse("invalid_dpop_proof", 400) }
        if received.form["grant_type"] == "refresh_token" {
            let sent = received.form["refresh_token"] ?? ""
            let isGood = state.withLock { state in
                state.refreshes += 1
                return state.grants.remove(sent) != nil
            }
            guard isGood else { return .grantError("invalid_grant") }
        }
        let (number, time, nonce) = state.withLock { state in
            state.issued += 1
            state.grants.insert("rt-\(state.issued)")
            state.ends["at-\(state.issued)"] = state.time + 3600
            return (state.issued, state.time, state.nonce)
        }
        var claims: JSONObject = [
            "iss": .string(Self.issuer), "aud": "client", "sub": "ada", "iat": .number(JSONNumber(Int64(time))),
            "exp": .number(JSONNumber(Int64(time) + 600)),
        ]
        if let nonce { claims["nonce"] = .string(nonce) }
        return .grant([
            "access_token": .string("at-\(number)"), "token_type": proof == nil ? "Bearer" : "DPoP",
            "expires_in": 3600, "refresh_token": .string("rt-\(number)"),
            "id_token": .string(try JWT.sign(claims, with: signingKey, algorithm: .es256)),
        ])
    }

    private func resource(_ received: GrantProvider.Received) throws -> HTTPResponse {
        let token = received.request.fields["Authorization"]?.split(separator: " ").last.map(String.init) ?? ""
        let isAlive = state.withLock { ($0.ends[token] ?? 0) > $0.time }
        let proof = try received.proof(), isRight = isNow(proof, "proof")
        guard isAlive, isRight else {
            state.withLock { $0.refusals += 1 }
            let error = isRight ? "invalid_token" : "invalid_dpop_proof"
            return HTTPResponse(
                status: 401,
                fields: ["WWW-Authenticate": "\(proof == nil ? "Bearer" : "DPoP") error=\"\(error)\""])
        }
        return HTTPResponse(status: 200)
    }
}
