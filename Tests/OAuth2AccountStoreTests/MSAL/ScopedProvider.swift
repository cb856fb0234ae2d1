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
import Platform

/// A provider whose tokens are for the scopes that are asked for, as far as the person has consented. Refresh tokens are good
/// once; who uses one twice loses them all.
final class ScopedProvider: Sendable {
    struct State {
        var issued = 0
        var good: Set<String> = []
        var reuses = 0
        var subject = "ada"
        var nonce: String?
        var consented: Set<String> = ["openid", "read"]
        /// What a sign-in gives.
        var signedInScope = "openid read"
        /// Whether answers say what they are good for.
        var namesScope = true
        /// Laid over every answer.
        var overlay = JSONObject()
        /// Laid over every ID token.
        var claims = JSONObject()
        var sendsIDToken = true
        /// What a refresh is refused with.
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

    /// A store with these types in its settings, and further keys beside them.
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

    /// A store with one type named `t` at this provider, and further keys of it.
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

    /// Signs a person in.
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

    /// Where a sign-in with these options sends the person.
    func query(_ store: AccountStore, to type: String = "t", _ options: SignInOptions) async throws -> [String: String]
    {
        GrantProvider.query(try await store.prepareSignIn(to: type, options: options).url)
    }
}

extension AccountStore {
    /// The record as it is saved.
    func saved(_ id: Account.ID) async throws -> AccountRecord? {
        try await storage.record(id.rawValue).flatMap { repository.seal.open($0) }
    }
}
