import HTTPExchange
import OAuth2Protocol
import LodgePlatform
import ProviderSettings

/// A request with its token, and the account type whose transport sends it.
struct SignedRequest: Sendable {
    let request: HTTPRequest
    let token: AccessToken
    let type: AccountType

    /// Whether the token is bound to a key, so that each attempt needs a new proof.
    var isBound: Bool { token.type == "dpop" }
}

/// Adds an account's access token to requests, and its DPoP proof if the token is bound to a key.
struct RequestSigner: StoreCollaborator {
    let context: StoreContext
    let broker: TokenBroker

    func signed(
        _ request: HTTPRequest, _ id: Account.ID, _ key: TokenKey, _ rejected: Secret?
    ) async throws -> SignedRequest {
        try await AccountStoreError.wrappingErrors("cannot sign the request") {
            // Check the host before getting a token, because a request to another host needs no token.
            var found = repository.cache[id]?.record
            if found == nil { found = try await repository.read(id)?.record }
            guard let before = found else { throw AccountStoreError.unknownAccount(id) }
            try self.type(of: before).checkTokenHost(of: request.url)
            let token = try await broker.accessToken(for: id, key, FreshnessRequirement(rejected: rejected))
            guard let record = repository.cache[id]?.record ?? found else { throw AccountStoreError.unknownAccount(id) }
            let type = try self.type(of: record)
            guard token.type == "dpop" else {
                let signed = try ResourceRequest.authorized(
                    request, accessToken: token.secret, allowsLoopbackHTTP: true)
                return SignedRequest(request: signed, token: token, type: type)
            }
            let hints = providers.hints
            guard let key = record.senderKey.flatMap(DPoPKey.key) else { throw AccountStoreError.dpopKeyMissing(id) }
            let signed = try DPoP.signed(
                request, key: key, accessToken: token.secret, nonce: hints.nonce(for: request.url),
                now: dependencies.now().timeIntervalSince1970 + hints.offset(of: request.url),
                allowsLoopbackHTTP: true, random: dependencies.random)
            return SignedRequest(request: signed, token: token, type: type)
        }
    }

    /// Returns whether a token of the account can be refreshed, according to the records in memory.
    func canRefresh(_ id: Account.ID) -> Bool { repository.cache[id]?.record.canRefresh ?? true }

    /// Returns whether the account belongs to the client itself, according to the records in memory.
    func isClient(_ id: Account.ID) -> Bool { repository.cache[id]?.record.serviceGrant != nil }
}
