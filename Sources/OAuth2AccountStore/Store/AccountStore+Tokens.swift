import JOSE
import OAuth2Protocol
import LodgePlatform
public import StrictJSON

extension AccountStore {
    /// Returns a valid access token, refreshing it if necessary.
    ///
    /// If a valid token is in memory, the store returns it. Otherwise all callers share one refresh, in this process
    /// and in all others. The store saves new tokens before it returns them.
    ///
    /// An account can have several access tokens. If the main token does not cover the scopes or the resource, the
    /// store requests another one with the refresh token and saves it too, at most 16. It also requests scopes that
    /// were never granted, because some providers grant them after the user's consent in another program. The store
    /// repeats a request that the provider denied only after ten minutes, or after a sign-in; the account remains
    /// signed in.
    ///
    /// If the provider does not respond within ten seconds, a call returns the current token if it is still valid.
    /// Otherwise it throws `network` after `Dependencies.refreshTimeout`.
    ///
    /// After a response with status 429 or 5xx, or without a response, no process repeats the request until the end of
    /// the provider's `Retry-After`, at most 15 minutes. Without `Retry-After` the delay is five seconds. During the
    /// delay, calls that need new tokens throw the same error.
    ///
    /// If the provider sends the time of an early refresh (`refresh_in`), the store refreshes then, and returns the old
    /// token until then. A failed early refresh is not an error.
    ///
    /// - Parameters:
    ///   - id: The account.
    ///   - minimumValidity: The minimum remaining lifetime. The default is a minute, or a fifth of a short lifetime.
    ///     The maximum is four fifths of the lifetime.
    ///   - scopes: The scope that the token must cover. The default is any. `openid`, `profile` and `offline_access` do
    ///     not count.
    ///   - resource: The URL of the service, absolute and without fragment (RFC 8707 section 2). The default is the
    ///     resources of the settings.
    ///   - claims: The claims of a claims challenge, a JSON object. The store then always requests a new token.
    ///   - policy: The policy of Azure AD B2C that issues the token, by its name in the settings. The default is the
    ///     policy of the account. The user must have signed in with it, using ``SignInOptions/policy``.
    ///   - rejected: A token that a resource rejected with 401. It counts as expired. If it cannot be refreshed, the
    ///     account needs a sign-in.
    /// - Throws: ``AccountStoreError``: `signInNeeded` only if the provider rejected the refresh or there is no refresh
    ///   token, never because of an error of the network or the server. If claims are missing,
    ///   ``AccountStoreError/provider`` has them for ``SignInOptions/claims``. `cancelled` if the task is cancelled;
    ///   the refresh continues for other callers.
    public nonisolated(nonsending) func accessToken(
        for id: Account.ID, minimumValidity: Duration? = nil, scopes: Scope? = nil, resource: String? = nil,
        claims: String? = nil, policy: String? = nil, rejected: Secret? = nil
    ) async throws -> AccessToken {
        try await AccountStoreError.convertingCancellation(RefreshOutcome.failure) {
            try await broker.accessToken(
                for: id, TokenKey(scope: scopes, resource: resource, claims: claims), policy: policy,
                FreshnessRequirement(validity: minimumValidity.map { $0 / .seconds(1) }, rejected: rejected))
        }
    }

    /// Removes an access token that a resource rejected with a claims challenge although it is new, so that no caller gets
    /// it again, and saves the claims for the next sign-in: ``Account/requiredClaims``.
    package func discardToken(_ rejected: Secret, of id: Account.ID, claims: String) async throws {
        try await AccountStoreError.wrappingErrors("cannot remove the rejected token") {
            try await broker.discard(rejected, of: id, claims: claims)
        }
    }

    /// Returns the scope tokens that the provider did not grant to an account.
    ///
    /// `openid`, `profile` and `offline_access` do not count, because many providers omit them from their responses.
    /// Alternative spellings of a scope token at Google and Microsoft count as the same token.
    ///
    /// - Parameters:
    ///   - account: The account.
    ///   - requested: The requested scope. The default is the scope of the settings.
    package nonisolated func scopeNotGranted(to account: Account, of requested: Scope? = nil) -> Scope {
        guard let type = settings[account.type] else { return [] }
        return Scope(ScopeCoverage(type).missing(requested ?? type.scope, in: account.scope))
    }

    /// Refreshes an access token that has not expired, for example after the permissions of the user changed, and
    /// returns the new one.
    ///
    /// Simultaneous calls share the refresh, including the calls of other processes. While the store waits after a
    /// provider error, the call throws that error without a request.
    ///
    /// - Parameters:
    ///   - id: The account.
    ///   - scopes: The scope that the token must cover. The default is any.
    ///   - resource: The URL of the service (RFC 8707 section 2). The default is the resources of the settings.
    ///   - policy: The policy of Azure AD B2C that issues the token. The default is the policy of the account.
    /// - Throws: ``AccountStoreError``, like
    ///   ``accessToken(for:minimumValidity:scopes:resource:claims:policy:rejected:)``.
    @discardableResult
    public func refreshAccessToken(
        for id: Account.ID, scopes: Scope? = nil, resource: String? = nil, policy: String? = nil
    ) async throws -> AccessToken {
        try await AccountStoreError.convertingCancellation(RefreshOutcome.failure) {
            try await broker.refreshedToken(for: id, TokenKey(scope: scopes, resource: resource), policy: policy)
        }
    }

    /// Returns the ID token of the last sign-in or refresh as the provider sent it, for a service that requires it.
    ///
    /// The store validated it when it arrived; it can have expired since. ``Account/claims`` are its claims.
    ///
    /// - Parameters:
    ///   - id: The account.
    ///   - policy: The policy of Azure AD B2C that issued it. The default is the policy of the account.
    /// - Returns: The ID token, or `nil` if the provider did not send one.
    /// - Throws: ``AccountStoreError``
    public func idToken(for id: Account.ID, policy: String? = nil) async throws -> Secret? {
        try await AccountStoreError.wrappingErrors("cannot read the ID token") {
            guard let record = try await repository.read(id)?.record else { throw AccountStoreError.unknownAccount(id) }
            return try (policy.map { try record.selected($0) } ?? record).tokens.idToken
        }
    }

    /// Returns an ID token that is valid for this time, for a service that requires it, and refreshes the tokens if
    /// necessary.
    ///
    /// - Parameters:
    ///   - id: The account.
    ///   - minimumValidity: The minimum validity. The default is a minute.
    ///   - refreshes: Whether to refresh also a token that is valid.
    ///   - policy: The policy of Azure AD B2C that issued it. The default is the policy of the account.
    /// - Returns: The ID token and its expiry, or `nil` if the provider did not send one.
    /// - Throws: ``AccountStoreError``: `signInNeeded` if the ID token expires and a refresh brings no other one.
    package func validIDToken(
        for id: Account.ID, minimumValidity: Duration = .seconds(60), refreshes: Bool = false, policy: String? = nil
    ) async throws -> (secret: Secret, expiry: Date)? {
        func current() async throws -> (secret: Secret, expiry: Date)? {
            guard let secret = try await idToken(for: id, policy: policy) else { return nil }
            let expiry = try? JWT(parsing: secret.value).unverifiedClaims.expiration
            return (secret, Date(timeIntervalSince1970: expiry ?? 0))
        }
        guard let found = try await current() else { return nil }
        let margin = minimumValidity / .seconds(1)
        if !refreshes, found.expiry.timeIntervalSince(dependencies.now()) >= margin { return found }
        try await refreshAccessToken(for: id, policy: policy)
        // The minimum can be longer than the lifetime of every token.
        guard let new = try await current(), new.expiry > dependencies.now() else {
            throw AccountStoreError(
                .signInNeeded(.interactionRequired), what: "the ID token has expired",
                reason: "the provider sends an ID token only at a sign-in", remedy: .signInAgain)
        }
        return new
    }

    /// Waits until no refresh is in progress. Call it before the process ends: otherwise a refresh token that the
    /// provider has rotated, but the store has not saved yet, is lost.
    public func finishPendingRefreshes() async {
        // Unstructured, because the task that ends is usually cancelled and could not wait.
        await Task { await broker.finishPendingRefreshes() }.value
    }

    /// Prevents new refreshes, and waits until the tokens of sent requests are saved. A refresh that still waits for
    /// the account's lock ends without a request.
    ///
    /// After the first error of a save, the store writes the tokens to a rescue file.
    package nonisolated func endRefreshes() async -> EndedRefreshes {
        // Unstructured, because the caller's task is usually cancelled.
        await Task { await broker.endRefreshes() }.value
    }

    /// Returns the provider's introspection response for a token of an account: whether the token is active, and its
    /// metadata.
    ///
    /// The client authenticates as at the token endpoint. Most providers require a client secret or a key.
    ///
    /// See [RFC 7662 section 2](https://www.rfc-editor.org/rfc/rfc7662#section-2).
    ///
    /// - Parameters:
    ///   - token: The access token from ``accessToken(for:minimumValidity:scopes:resource:claims:policy:rejected:)``.
    ///   - id: The account.
    /// - Throws: ``AccountStoreError``: `settings` if the provider has no introspection endpoint; the errors of
    ///   provider and network.
    public func introspect(_ token: AccessToken, of id: Account.ID) async throws -> Introspection {
        try await AccountStoreError.wrappingErrors("cannot ask about the token") {
            try await exchanger.introspect(token, of: id)
        }
    }

    /// Returns the claims of the provider's userinfo response. If the provider rejects the token, the store refreshes
    /// it once.
    ///
    /// The store does not save these claims: ``Account/claims`` are the claims of the last sign-in or refresh.
    ///
    /// See OpenID Connect Core 1.0 section 5.3.
    ///
    /// - Returns: The claims, or `nil` if the provider has no userinfo endpoint.
    /// - Throws: ``AccountStoreError``, like
    ///   ``accessToken(for:minimumValidity:scopes:resource:claims:policy:rejected:)``; `invalidAnswer` if the claims
    ///   belong to another user.
    public func userInfo(for id: Account.ID) async throws -> JSONObject? {
        try await AccountStoreError.wrappingErrors("cannot get the user's claims") {
            try await exchanger.userInfo(of: id)
        }
    }

    /// Exchanges a token for another one, as the client of an account type. The store does not save the new token.
    ///
    /// See [RFC 8693 section 2](https://www.rfc-editor.org/rfc/rfc8693#section-2).
    ///
    /// - Parameters:
    ///   - exchange: The token to exchange, and the services of the new one. The default resources are the resources of
    ///     the type.
    ///   - type: The name of the account type.
    ///   - parameters: Additional parameters that the provider requires.
    /// - Throws: ``AccountStoreError``
    package func exchange(
        _ exchange: TokenExchange, at type: String, parameters: [String: String] = [:]
    ) async throws -> ExchangedToken {
        try await AccountStoreError.wrappingErrors("cannot exchange the token") {
            try await exchanger.exchange(exchange, at: context.type(type), parameters: parameters)
        }
    }

    /// Exchanges an account's access token for a token of another service, refreshing it if necessary. The store does
    /// not save the new token.
    ///
    /// See [RFC 8693 section 2](https://www.rfc-editor.org/rfc/rfc8693#section-2).
    ///
    /// - Parameters:
    ///   - id: The account.
    ///   - resources: The URLs of the services, absolute and without fragment. The default is the resources of the
    ///     type, unless there are `audiences`.
    ///   - audiences: The logical names of the services at the provider.
    ///   - scope: The requested scope.
    ///   - requestedType: The requested type of token. The default is the choice of the provider.
    /// - Throws: ``AccountStoreError``; `signInNeeded` only if the store cannot get the account's own token.
    public func exchange(
        tokenOf id: Account.ID, resources: [String] = [], audiences: [String] = [], scope: Scope? = nil,
        requestedType: String? = nil
    ) async throws -> ExchangedToken {
        try await AccountStoreError.wrappingErrors("cannot exchange the token") {
            try await exchanger.exchange(tokenOf: id) {
                $0.resources = resources
                $0.audiences = audiences
                $0.scope = scope
                $0.requestedType = requestedType
            }
        }
    }

    /// Exchanges the access token of a caller of this service for a token of another service: Microsoft Entra's
    /// on-behalf-of flow. The store does not save the new token.
    ///
    /// If the provider requires the user, the error's ``AccountStoreError/provider`` has the claims that the caller
    /// must request.
    ///
    /// - Parameters:
    ///   - assertion: The access token that the caller sent, issued for this client.
    ///   - type: The name of the account type.
    ///   - scope: The requested scope.
    /// - Throws: ``AccountStoreError``
    public func exchange(onBehalfOf assertion: Secret, at type: String, scope: Scope) async throws -> ExchangedToken {
        try await AccountStoreError.wrappingErrors("cannot get a token on behalf of the caller") {
            try await exchanger.exchange(onBehalfOf: assertion, at: context.type(type), scope: scope)
        }
    }

    /// Returns the difference between this machine's clock and the clock of a type's provider, from its last response.
    ///
    /// Sends no request. Returns `nil` if the provider has not responded since this store was opened, or its responses
    /// have no `Date` field.
    ///
    /// - Parameter name: The name of the account type.
    public func clockSkew(ofType name: String) async -> ClockSkew? {
        await context.clockSkew(ofType: name)
    }
}
