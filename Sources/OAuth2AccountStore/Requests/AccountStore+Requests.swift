import Platform
import HTTPExchange
import OAuth2Protocol

extension AccountStore {
    /// A request in an account's name: with its access token, renewed when need be, as a Bearer token or with a DPoP proof.
    ///
    /// The token goes only to the hosts of ``AccountType/tokenHosts``, by https, or by plain http on this machine. A proof is good for
    /// one request: for a repeated one, call this again.
    ///
    /// - Parameters:
    ///   - request: the request. An `Authorization` field that it has is replaced.
    ///   - id: the account; nil: nobody's. The request is given back as it is.
    ///   - scopes: what the token must be good for; nil: whatever was granted.
    ///   - resource: the service that the token is for (RFC 8707); nil: those of the settings.
    ///   - rejected: a token that the resource refused: it counts as used up.
    /// - Throws: ``AccountStoreError`` as ``accessToken(for:minimumValidity:scopes:resource:claims:rejected:)`` does; `settings` when the token may
    ///   not go to the address.
    public func sign(
        _ request: HTTPRequest, for id: Account.ID?, scopes: Scope? = nil, resource: String? = nil,
        rejected: Secret? = nil
    ) async throws -> HTTPRequest {
        guard let id else { return request }
        return try await signed(request, id, SilentTokenParameters(scope: scopes, resource: resource), rejected).request
    }

    /// Sends a request in an account's name.
    ///
    /// When the resource refuses the token with a 401, it is renewed and the request sent again, once; when the resource wants its
    /// nonce in the DPoP proof, or its refusal tells that the proof was dated wrongly, likewise. However many requests meet a 401 at
    /// once, there is one renewal. A redirect to another origin loses the token; one within the origin keeps it, with a proof of its own.
    ///
    /// A claims challenge of the resource, as Microsoft's services send it, is answered with a token that has these claims, if the
    /// provider gives it without asking the person; if not, `signInNeeded` has the claims.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - id: the account; nil: nobody's. The request is sent without a token.
    ///   - scopes: what the token must be good for; nil: whatever was granted.
    ///   - resource: the service that the token is for (RFC 8707); nil: those of the settings.
    /// - Returns: The answer, whatever its status: a second 401 too, and a 403, whose `scopeNeeded` says what
    ///   to sign in with.
    /// - Throws: ``AccountStoreError`` as ``sign(_:for:scopes:resource:rejected:)`` does, and `signInNeeded` when the resource wants the
    ///   person to sign in once more; `HTTPTransportError`; `CancellationError`.
    public func send(
        _ request: HTTPRequest, for id: Account.ID?, scopes: Scope? = nil, resource: String? = nil
    ) async throws -> HTTPResponse {
        try await transport(for: id, scopes: scopes, resource: resource).send(request)
    }

    /// A request with its token, and what is needed to judge the answer.
    struct Signed: Sendable {
        let request: HTTPRequest
        let token: AccessToken
        let type: AccountType
    }

    func signed(
        _ request: HTTPRequest, _ id: Account.ID, _ wish: SilentTokenParameters, _ rejected: Secret?
    ) async throws -> Signed {
        try await failing("cannot sign the request") {
            // Looked at before a token is got: what may not be sent needs none.
            var found = loaded[id]?.record
            if found == nil { found = try await read(id)?.record }
            guard let before = found else { throw unknown(id) }
            try self.type(of: before).checkTokenHost(of: request.url)
            let token = try await accessToken(
                for: id, scopes: wish.scope, resource: wish.resource, claims: wish.claims, rejected: rejected)
            guard let record = loaded[id]?.record ?? found else { throw unknown(id) }
            let type = try self.type(of: record)
            guard token.type == "dpop" else {
                let signed = try ResourceRequest.authorized(
                    request, accessToken: token.secret, allowsLoopbackHTTP: true)
                return Signed(request: signed, token: token, type: type)
            }
            let memory = providers.memory
            guard let key = record.senderKey.flatMap(DPoPKey.key) else { throw Self.senderKeyMissing(id) }
            let signed = try DPoP.signed(
                request, key: key, accessToken: token.secret, nonce: memory.nonce(for: request.url),
                now: dependencies.now().timeIntervalSince1970 + memory.offset(of: request.url),
                allowsLoopbackHTTP: true, random: dependencies.random)
            return Signed(request: signed, token: token, type: type)
        }
    }

    static func senderKeyMissing(_ id: Account.ID) -> AccountStoreError {
        AccountStoreError(
            .damagedRecord, what: "cannot use account \(id)", reason: "the key that its tokens are bound to is missing",
            remedy: .signInAgain)
    }

    /// Whether a token of the account can be renewed, as far as it is known in memory.
    func canRefresh(_ id: Account.ID) -> Bool { loaded[id]?.record.canRefresh ?? true }
}

extension Account {
    /// Sends a request in this account's name. The same as ``AccountStore/send(_:for:scopes:resource:)``.
    ///
    /// An account is a value and does not hold its store, so that it can be passed around and kept; that is why the store is named.
    ///
    /// - Returns: The answer, whatever its status.
    /// - Throws: ``AccountStoreError``; `HTTPTransportError`; `CancellationError`.
    public func send(
        _ request: HTTPRequest, in store: AccountStore, scopes: Scope? = nil, resource: String? = nil
    ) async throws -> HTTPResponse {
        try await store.send(request, for: id, scopes: scopes, resource: resource)
    }

    /// A request in this account's name, for somebody else to send. The same as ``AccountStore/sign(_:for:scopes:resource:rejected:)``.
    ///
    /// - Throws: ``AccountStoreError``; `CancellationError`.
    public func sign(
        _ request: HTTPRequest, in store: AccountStore, scopes: Scope? = nil, resource: String? = nil
    ) async throws -> HTTPRequest {
        try await store.sign(request, for: id, scopes: scopes, resource: resource)
    }
}
