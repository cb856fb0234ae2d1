import HTTPExchange
import OAuth2Protocol
import Platform

extension AccountStore {
    /// A request in an account's name: with its access token, renewed when need be, as a Bearer token or with a DPoP proof.
    ///
    /// The token goes only to the hosts of `AccountType/tokenHosts`, by https, or by plain http on this machine. A proof is good for
    /// one request: for a repeated one, call this again.
    ///
    /// - Parameters:
    ///   - request: the request. An `Authorization` field that it has is replaced.
    ///   - id: The account. Without one, the call throws `unknownAccount`.
    ///   - scopes: what the token must be good for; nil: whatever was granted.
    ///   - resource: the service that the token is for (RFC 8707); nil: those of the settings.
    ///   - rejected: a token that the resource refused: it counts as used up.
    /// - Throws: ``AccountStoreError`` as ``accessToken(for:minimumValidity:scopes:resource:claims:policy:rejected:)`` does; `settings` when the token may
    ///   not go to the address.
    public func sign(
        _ request: HTTPRequest, for id: Account.ID?, scopes: Scope? = nil, resource: String? = nil,
        rejected: Secret? = nil
    ) async throws -> HTTPRequest {
        guard let id else { throw AccountStoreError.noAccount }
        return try await signer.signed(
            request, id, TokenKey(scope: scopes, resource: resource), rejected
        ).request
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
    ///   - id: The account. Without one, the call throws `unknownAccount`: see ``sendUnsigned(_:)``.
    ///   - scopes: what the token must be good for; nil: whatever was granted.
    ///   - resource: the service that the token is for (RFC 8707); nil: those of the settings.
    /// - Returns: The answer, whatever its status: a second 401 too, and a 403, whose `scopeNeeded` says what
    ///   to sign in with.
    /// - Throws: ``AccountStoreError`` as ``sign(_:for:scopes:resource:rejected:)`` does, and `signInNeeded` when the resource wants the
    ///   person to sign in once more; `cancelled`; `HTTPTransportError`.
    public func send(
        _ request: HTTPRequest, for id: Account.ID?, scopes: Scope? = nil, resource: String? = nil
    ) async throws -> HTTPResponse {
        try await AccountStoreError.convertingCancellation("cannot send the request") {
            try await transport(for: id, scopes: scopes, resource: resource).send(request)
        }
    }

    /// Sends a request without a token, to a public part of an API.
    ///
    /// - Returns: The response, whatever its status.
    /// - Throws: `HTTPTransportError`; ``AccountStoreError`` of the kind `cancelled`.
    public func sendUnsigned(_ request: HTTPRequest) async throws -> HTTPResponse {
        try await AccountStoreError.convertingCancellation("cannot send the request") {
            try await context.providers.plainTransport.send(request)
        }
    }

    /// Returns a transport that sends requests in an account's name. Without an account, each request throws `unknownAccount`.
    ///
    /// - Parameters:
    ///   - scopes: what the token must be good for; nil: whatever was granted.
    ///   - resource: the service that the token is for (RFC 8707); nil: those of the settings.
    public nonisolated func transport(
        for id: Account.ID?, scopes: Scope? = nil, resource: String? = nil
    ) -> AccountTransport {
        AccountTransport(signer: signer, id: id, scopes: scopes, resource: resource)
    }
}

extension Account {
    /// Sends a request in this account's name. The same as ``AccountStore/send(_:for:scopes:resource:)``.
    ///
    /// An account is a value and does not hold its store, so that it can be passed around and kept; that is why the store is named.
    ///
    /// - Returns: The answer, whatever its status.
    /// - Throws: ``AccountStoreError``; `HTTPTransportError`.
    public func send(
        _ request: HTTPRequest, in store: AccountStore, scopes: Scope? = nil, resource: String? = nil
    ) async throws -> HTTPResponse {
        try await store.send(request, for: id, scopes: scopes, resource: resource)
    }

    /// A request in this account's name, for somebody else to send. The same as ``AccountStore/sign(_:for:scopes:resource:rejected:)``.
    ///
    /// - Throws: ``AccountStoreError``
    public func sign(
        _ request: HTTPRequest, in store: AccountStore, scopes: Scope? = nil, resource: String? = nil
    ) async throws -> HTTPRequest {
        try await store.sign(request, for: id, scopes: scopes, resource: resource)
    }
}

extension Account {
    /// A transport that sends in this account's name. The same as ``AccountStore/transport(for:scopes:resource:)``.
    public func transport(in store: AccountStore, scopes: Scope? = nil, resource: String? = nil) -> AccountTransport {
        store.transport(for: id, scopes: scopes, resource: resource)
    }
}
