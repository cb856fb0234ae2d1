import HTTPExchange
import OAuth2Protocol
import LodgePlatform

extension AccountStore {
    /// Returns a request with an account's access token, as a bearer token or with a DPoP proof. Refreshes the token if
    /// necessary.
    ///
    /// The request must go to a host of `AccountType/tokenHosts`, over HTTPS or over HTTP on loopback. A DPoP proof is
    /// valid for one request: to repeat the request, sign it again.
    ///
    /// - Parameters:
    ///   - request: The request. The token replaces its `Authorization` field.
    ///   - id: The account. If it is `nil`, the call throws `unknownAccount`.
    ///   - scopes: The scope that the token must cover. The default is any granted scope.
    ///   - resource: The URL of the service (RFC 8707 section 2). The default is the resources of the settings.
    ///   - rejected: A token that the resource rejected. It counts as expired.
    /// - Throws: ``AccountStoreError``, like
    ///   ``accessToken(for:minimumValidity:scopes:resource:claims:policy:rejected:)``; `settings` if the token must not
    ///   be sent to this URL.
    public func sign(
        _ request: HTTPRequest, for id: Account.ID?, scopes: Scope? = nil, resource: String? = nil,
        rejected: Secret? = nil
    ) async throws -> HTTPRequest {
        guard let id else { throw AccountStoreError.noAccount }
        return try await signer.signed(
            request, id, TokenKey(scope: scopes, resource: resource), rejected
        ).request
    }

    /// Sends a request with an account's access token.
    ///
    /// If the resource rejects the token with 401, the store refreshes it and repeats the request once. Simultaneous
    /// requests share this refresh. The store also repeats the request once with the DPoP nonce of the resource, and
    /// once with the corrected time of the proof. It follows a redirect within the origin with the token and a new
    /// proof, and a redirect to another origin without the token.
    ///
    /// If the resource sends a claims challenge, as Microsoft's services do, the store requests a token with these
    /// claims and repeats the request. If the provider requires the user for it, the call throws `signInNeeded` with
    /// the claims.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - id: The account. If it is `nil`, the call throws `unknownAccount`: see ``sendUnsigned(_:)``.
    ///   - scopes: The scope that the token must cover. The default is any granted scope.
    ///   - resource: The URL of the service (RFC 8707 section 2). The default is the resources of the settings.
    /// - Returns: The response with any status, including a second 401 and a 403. Its `scopeNeeded` is the scope to
    ///   sign in with.
    /// - Throws: ``AccountStoreError``, like ``sign(_:for:scopes:resource:rejected:)``; `signInNeeded` if the resource
    ///   requires a new sign-in; `cancelled`; `HTTPTransportError`.
    public func send(
        _ request: HTTPRequest, for id: Account.ID?, scopes: Scope? = nil, resource: String? = nil
    ) async throws -> HTTPResponse {
        try await AccountStoreError.convertingCancellation("cannot send the request") {
            try await transport(for: id, scopes: scopes, resource: resource).send(request)
        }
    }

    /// Sends a request without a token, to a public part of an API.
    ///
    /// - Returns: The response with any status.
    /// - Throws: `HTTPTransportError`; ``AccountStoreError`` of the kind `cancelled`.
    public func sendUnsigned(_ request: HTTPRequest) async throws -> HTTPResponse {
        try await AccountStoreError.convertingCancellation("cannot send the request") {
            try await context.providers.plainTransport.send(request)
        }
    }

    /// Returns a transport that sends requests with an account's access token.
    ///
    /// - Parameters:
    ///   - id: The account. If it is `nil`, each request throws `unknownAccount`.
    ///   - scopes: The scope that the token must cover. The default is any granted scope.
    ///   - resource: The URL of the service (RFC 8707 section 2). The default is the resources of the settings.
    public nonisolated func transport(
        for id: Account.ID?, scopes: Scope? = nil, resource: String? = nil
    ) -> AccountTransport {
        AccountTransport(signer: signer, id: id, scopes: scopes, resource: resource)
    }
}

extension Account {
    /// Sends a request with this account's access token, like ``AccountStore/send(_:for:scopes:resource:)``.
    ///
    /// An account is a value without a reference to its store, so the call names the store.
    ///
    /// - Returns: The response with any status.
    /// - Throws: ``AccountStoreError``; `HTTPTransportError`.
    public func send(
        _ request: HTTPRequest, in store: AccountStore, scopes: Scope? = nil, resource: String? = nil
    ) async throws -> HTTPResponse {
        try await store.send(request, for: id, scopes: scopes, resource: resource)
    }

    /// Returns a request with this account's access token, like ``AccountStore/sign(_:for:scopes:resource:rejected:)``.
    ///
    /// - Throws: ``AccountStoreError``
    public func sign(
        _ request: HTTPRequest, in store: AccountStore, scopes: Scope? = nil, resource: String? = nil
    ) async throws -> HTTPRequest {
        try await store.sign(request, for: id, scopes: scopes, resource: resource)
    }
}

extension Account {
    /// Returns a transport that sends requests with this account's access token, like
    /// ``AccountStore/transport(for:scopes:resource:)``.
    public func transport(in store: AccountStore, scopes: Scope? = nil, resource: String? = nil) -> AccountTransport {
        store.transport(for: id, scopes: scopes, resource: resource)
    }
}
