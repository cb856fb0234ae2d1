import Foundation
import HTTPExchange
import OAuth2Protocol
import StoreTestSupport
import StrictJSON
import Synchronization

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import LodgePlatform

/// A provider that issues tokens for the requested scopes with consent. A refresh token is valid once; using it again
/// revokes all refresh tokens.
final class ScopedProvider: Sendable {
    struct State {
        var issued = 0
        var good: Set<String> = []
        var reuses = 0
        var subject = "ada"
        var nonce: String?
        var consented: Set<String> = ["openid", "read"]
        /// The scope that a sign-in grants.
        var signedInScope = "openid read"
        /// Whether token responses have a scope.
        var namesScope = true
        /// Members that are added to every token response.
        var overlay = JSONObject()
        /// Members that are added to every ID token.
        var claims = JSONObject()
        var sendsIDToken = true
        /// The error response to a refresh.
        var refusal: JSONObject?
        var refusalStatus = 400
        var gate: Gate?
    }
    let provider: GrantProvider
    private let state = Mutex(State())

    init(_ metadata: JSONObject = [:]) throws {
        provider = try GrantProvider(metadata)
        serve("/token")
    }

    /// Makes this path a token endpoint.
    func serve(_ path: String) {
        provider.answer(path) { [weak self] in try await self?.token($0) ?? HTTPResponse(status: 500) }
    }

    func change(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }
    var reuses: Int { state.withLock { $0.reuses } }
    var tokenRequests: [GrantProvider.Received] { provider.requests(to: "/token") }
    var refreshes: [GrantProvider.Received] { tokenRequests.filter { $0.form["grant_type"] == "refresh_token" } }

    private func token(_ request: GrantProvider.Received) async throws -> HTTPResponse {
        let form = request.form
        let isRefresh = form["grant_type"] == "refresh_token"
        if isRefresh, let gate = state.withLock({ $0.gate }) { try await gate.pass() }
        let nonce = state.withLock { $0.nonce }
        let (subject, claims) = state.withLock { ($0.subject, $0.claims) }
        var identity: JSONObject = [
            "sub": .string(subject), "preferred_username": .string("\(subject)@contoso.example"),
        ]
        for member in claims.members { identity[member.name] = member.value }
        let idToken = try provider.idToken(identity, nonce: isRefresh ? nil : nonce)
        return state.withLock { state in
            if isRefresh {
                if let refusal = state.refusal { return .grant(refusal, status: state.refusalStatus) }
                guard state.good.contains(form["refresh_token"] ?? "") else {
                    state.reuses += 1
                    state.good = []
                    return .grantError("invalid_grant")
                }
                if let asked = form["scope"],
                    !Set(asked.split(separator: " ").map(String.init)).isSubset(of: state.consented)
                {
                    return .grantError("consent_required")
                }
                state.good.remove(form["refresh_token"] ?? "")
            }
            state.issued += 1
            var answer: JSONObject = [
                "access_token": .string("at-\(state.issued)"), "token_type": "Bearer", "expires_in": 3600,
            ]
            if form["grant_type"] != "client_credentials" {
                state.good.insert("rt-\(state.issued)")
                answer["refresh_token"] = .string("rt-\(state.issued)")
                if state.sendsIDToken { answer["id_token"] = idToken }
            }
            if state.namesScope { answer["scope"] = .string(form["scope"] ?? state.signedInScope) }
            for member in state.overlay.members { answer[member.name] = member.value == .null ? nil : member.value }
            return .grant(answer)
        }
    }

    /// Returns a store with these types and additional keys in its settings.
    func store(
        types: JSONObject, _ keys: JSONObject = [:], storage: any AccountStorage = MemoryStorage(),
        custody: (any KeyCustody)? = nil, dependencies: Dependencies? = nil
    ) async throws -> AccountStore {
        var object: JSONObject = ["types": .object(types)]
        for member in keys.members { object[member.name] = member.value }
        return try await AccountStore(
            settings: Settings(bytes: JSONValue.object(object).serialized(), source: "test"), storage: storage,
            custody: try custody ?? MemoryKey(), dependencies: dependencies ?? provider.dependencies(),
            watchesOtherProcesses: false)
    }

    /// Returns a store with one type named `t` at this provider and additional keys of the type.
    func store(
        _ keys: JSONObject = [:], storage: any AccountStorage = MemoryStorage(), custody: (any KeyCustody)? = nil
    ) async throws -> AccountStore {
        try await store(types: ["t": .object(Self.type(keys))], storage: storage, custody: custody)
    }

    static func type(_ keys: JSONObject = [:]) -> JSONObject {
        var type: JSONObject = [
            "issuer": .string(GrantProvider.issuer), "clientId": "client", "redirectUri": "http://127.0.0.1/callback",
            "scopes": ["openid", "read"],
        ]
        for member in keys.members {
            type[member.name] = member.value == .null ? Optional<JSONValue>.none : member.value
        }
        return type
    }

    /// Signs a user in.
    @discardableResult
    func signIn(
        _ store: AccountStore, as subject: String = "ada", to type: String = "t", options: SignInOptions = .init()
    ) async throws -> Account {
        let prepared = try await store.prepareSignIn(to: type, options: options)
        change {
            $0.subject = subject
            $0.nonce = GrantProvider.query(prepared.url)["nonce"]
        }
        let address = "\(prepared.redirectURI.text)?code=c-1&state=\(prepared.id)"
        return try await store.handleRedirect(URL(string: address) ?? URL(filePath: "/"))
    }

    /// Returns the query of the authorization URL for these options.
    func query(_ store: AccountStore, to type: String = "t", _ options: SignInOptions) async throws -> [String: String]
    {
        GrantProvider.query(try await store.prepareSignIn(to: type, options: options).url)
    }
}

extension AccountStore {
    /// Returns the saved record.
    func saved(_ id: Account.ID) async throws -> AccountRecord? {
        try await storage.record(id.rawValue).flatMap { repository.seal.open($0) }
    }
}
