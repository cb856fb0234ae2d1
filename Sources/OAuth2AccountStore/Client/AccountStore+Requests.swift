import HTTPTransport
import OAuth2

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension AccountStore {
    /// A request in an account's name: with its access token, renewed when need be, as a Bearer token or with a DPoP proof.
    ///
    /// The token goes to https addresses, and to plain http on this machine. Where the type's settings name hosts (`graphAPI`,
    /// `resourceHosts`), it goes to these only. A proof is good for one request: for a repeated one, call this again.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - id: the account.
    ///   - scopes: what the token must be good for; nil: whatever was granted.
    ///   - resource: the service that the token is for (RFC 8707); nil: those of the settings.
    ///   - rejected: a token that the resource refused: it counts as used up.
    /// - Throws: ``AccountStoreError`` as ``accessToken(for:minimumValidity:scopes:resource:claims:rejected:)`` does; `settings` when the token may
    ///   not go to the address.
    public func authorized(
        _ request: HTTPRequest, for id: Account.ID, scopes: Scope? = nil, resource: String? = nil,
        rejected: Secret? = nil
    ) async throws -> HTTPRequest {
        try await signed(request, id, TokenWish(scope: scopes, resource: resource), rejected).request
    }

    /// Sends a request in an account's name.
    ///
    /// When the resource refuses the token, it is renewed and the request sent again, once; when the resource wants its nonce in
    /// the DPoP proof, or its refusal tells that the proof was dated wrongly, likewise. A redirect to another origin loses the token.
    ///
    /// A claims challenge of the resource, as Microsoft's services send it, is answered with a token that has these claims, if the
    /// provider gives it without asking the person; if not, `signInNeeded` has the claims.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - id: the account.
    ///   - scopes: what the token must be good for; nil: whatever was granted.
    ///   - resource: the service that the token is for (RFC 8707); nil: those of the settings.
    /// - Returns: The answer, whatever its status.
    /// - Throws: ``AccountStoreError`` as ``authorized(_:for:scopes:resource:rejected:)`` does; `HTTPTransportError`; `CancellationError`.
    public func send(
        _ request: HTTPRequest, for id: Account.ID, scopes: Scope? = nil, resource: String? = nil
    ) async throws -> HTTPResponse {
        var wish = TokenWish(scope: scopes, resource: resource)
        var (signed, token, type) = try await signed(request, id, wish, nil)
        var hasNonce = false, hasRenewed = false, hasRightTime = false
        while true {
            let before = providers.memory.offset(of: signed.url)
            let response = try await providers.transport(for: type).send(signed)
            providers.memory.note(response, from: signed.url, now: surroundings.now())
            if !hasRightTime, token.type == "dpop",
                providers.memory.hasRightTime(response, from: signed.url, before: before)
            {
                hasRightTime = true
                (signed, token, type) = try await self.signed(request, id, wish, nil)
                continue
            }
            let canRefresh = loaded[id]?.record.canRenew ?? true
            switch ResourceAnswer.decide(
                response, tokenType: token.type, hasRefreshToken: canRefresh, isRetry: hasNonce && hasRenewed)
            {
            case .retryWithNonce where !hasNonce:
                hasNonce = true
                (signed, token, type) = try await self.signed(request, id, wish, nil)
            case .refreshAndRetry where !hasRenewed:
                hasRenewed = true
                (signed, token, type) = try await self.signed(request, id, wish, token.secret)
            case .needsSignIn(let challenge, _, _) where challenge.claims != nil && !hasRenewed && canRefresh:
                hasRenewed = true
                wish.claims = challenge.claims
                (signed, token, type) = try await self.signed(request, id, wish, token.secret)
                wish.claims = nil
            default: return response
            }
        }
    }

    private func signed(
        _ request: HTTPRequest, _ id: Account.ID, _ wish: TokenWish, _ rejected: Secret?
    ) async throws -> (request: HTTPRequest, token: AccessToken, type: AccountType) {
        try await failing("cannot sign the request") {
            let token = try await accessToken(
                for: id, scopes: wish.scope, resource: wish.resource, claims: wish.claims, rejected: rejected)
            var found = loaded[id]?.record
            if found == nil { found = try await read(id)?.record }
            guard let record = found else { throw unknown(id) }
            let type = try self.type(of: record)
            try Self.check(request.url, type)
            guard token.type == "dpop" else {
                return (
                    try ResourceRequest.authorized(request, accessToken: token.secret, allowsLoopbackHTTP: true), token,
                    type
                )
            }
            let memory = providers.memory
            guard let key = record.senderKey.flatMap(SenderKey.key) else { throw Self.senderKeyMissing(id) }
            let signed = try DPoP.signed(
                request, key: key, accessToken: token.secret, nonce: memory.nonce(for: request.url),
                now: surroundings.now().timeIntervalSince1970 + memory.offset(of: request.url),
                allowsLoopbackHTTP: true,
                random: surroundings.random)
            return (signed, token, type)
        }
    }

    static func senderKeyMissing(_ id: Account.ID) -> AccountStoreError {
        AccountStoreError(
            .damagedRecord, what: "cannot use account \(id)", reason: "the key that its tokens are bound to is missing",
            remedy: .signInAgain)
    }

    /// A token goes only where the settings let it go.
    private static func check(_ url: URL, _ type: AccountType) throws {
        let graph = type.graphAPI?.host(percentEncoded: true)
        let hosts = (graph.map { [$0] } ?? []) + type.resourceHosts
        guard !hosts.isEmpty else { return }
        let host = url.host(percentEncoded: true)?.lowercased()
        guard let host, hosts.contains(where: { $0.lowercased() == host }) else {
            throw AccountStoreError(
                .settings, what: "the request is not sent",
                reason: "\(url.host(percentEncoded: true) ?? "the address") may not have the tokens of \(type.name)",
                remedy: .changeSettings, hint: "add the host to resourceHosts")
        }
    }
}
