import OAuth2Protocol
import Platform
public import StrictJSON

extension AccountStore {
    /// Returns a valid access token, refreshing it if necessary.
    ///
    /// The store returns a valid token from memory. Otherwise all callers share one refresh, in this process and in all others. The store
    /// saves new tokens before it returns them.
    ///
    /// An account can have several access tokens. If the main one does not cover the scopes or the resource, the store requests another
    /// one with the refresh token and saves it too, at most 16. It also requests scopes that were never granted, because some providers
    /// grant them after consent elsewhere. It repeats a request that the provider denied only after ten minutes, or after a sign-in; the
    /// account remains signed in.
    ///
    /// While the provider does not respond, a call returns a token that is still valid after ten seconds, and throws
    /// `network` after `Dependencies.refreshTimeout`. After a response 429 or 5xx, or none, no process repeats the request while
    /// the provider's `Retry-After` applies, at most 15 minutes, or for five seconds: all calls get the error.
    ///
    /// If the provider sends the time of an early refresh (`refresh_in`), the store refreshes then and returns the old token until then.
    /// A failure of this refresh is no error.
    ///
    /// - Parameters:
    ///   - id: The account.
    ///   - minimumValidity: The minimum validity. The default is a minute, or a fifth of a short lifetime. More than four fifths of the
    ///     lifetime count as four fifths.
    ///   - scopes: The scope that the token must cover. The default is any. `openid`, `profile` and `offline_access` do not count.
    ///   - resource: The URL of the service, absolute and without fragment (RFC 8707 section 2). The default is that of the settings.
    ///   - claims: The claims of a claims challenge, a JSON object. The store then always requests a new token.
    ///   - policy: The policy of Azure AD B2C that issues the token, by its name in the settings. The default is the policy of the account.
    ///     The user must have signed in with it, by ``SignInOptions/policy``.
    ///   - rejected: A token that a resource rejected with 401. It counts as expired. If it cannot be refreshed, the account needs a
    ///     sign-in.
    /// - Throws: ``AccountStoreError``: `signInNeeded` only if the provider rejected the refresh or there is no refresh token, never for
    ///   an error of network or server. If claims are missing, ``AccountStoreError/provider`` has them for ``SignInOptions/claims``.
    ///   `cancelled` if the task is cancelled; the refresh continues for other callers.
    public func accessToken(
        for id: Account.ID, minimumValidity: Duration? = nil, scopes: Scope? = nil, resource: String? = nil,
        claims: String? = nil, policy: String? = nil, rejected: Secret? = nil
    ) async throws -> AccessToken {
        try await AccountStoreError.convertingCancellation(RefreshOutcome.failure) {
            try await broker.accessToken(
                for: id, TokenKey(scope: scopes, resource: resource, claims: claims), policy: policy,
                FreshnessRequirement(validity: minimumValidity.map { $0 / .seconds(1) }, rejected: rejected))
        }
    }

    /// Returns the scope tokens that the provider did not grant to an account.
    ///
    /// `openid`, `profile` and `offline_access` do not count, because many providers omit them from their responses. Google's and
    /// Microsoft's other spellings of a scope token count as the same one.
    ///
    /// - Parameters:
    ///   - account: The account.
    ///   - requested: The requested scope. The default is the scope of the settings.
    package nonisolated func scopeNotGranted(to account: Account, of requested: Scope? = nil) -> Scope {
        guard let type = settings[account.type] else { return [] }
        return Scope(ScopeCoverage(type).missing(requested ?? type.scope, in: account.scope))
    }

    /// Refreshes an access token that has not expired, for example after the permissions of the user changed, and returns the new one.
    ///
    /// Simultaneous calls share the refresh, also calls of other processes. The store sends no request while it waits for a failing
    /// provider.
    ///
    /// - Parameters:
    ///   - id: The account.
    ///   - scopes: The scope that the token must cover. The default is any.
    ///   - resource: The URL of the service (RFC 8707 section 2). The default is that of the settings.
    ///   - policy: The policy of Azure AD B2C that issues the token. The default is the policy of the account.
    /// - Throws: ``AccountStoreError``, as ``accessToken(for:minimumValidity:scopes:resource:claims:policy:rejected:)``.
    @discardableResult
    public func refreshAccessToken(
        for id: Account.ID, scopes: Scope? = nil, resource: String? = nil, policy: String? = nil
    ) async throws -> AccessToken {
        try await AccountStoreError.convertingCancellation(RefreshOutcome.failure) {
            try await broker.refreshedToken(for: id, TokenKey(scope: scopes, resource: resource), policy: policy)
        }
    }

    /// Returns the ID token of the last sign-in or refresh as the provider sent it, for a service that requires it. The store validated it
    /// then; it can have expired since. ``Account/claims`` are its claims.
    ///
    /// - Parameters:
    ///   - id: The account.
    ///   - policy: The policy of Azure AD B2C that issued it. The default is the policy of the account.
    /// - Returns: `nil` if the provider sent none.
    /// - Throws: ``AccountStoreError``
    public func idToken(for id: Account.ID, policy: String? = nil) async throws -> Secret? {
        try await AccountStoreError.wrappingErrors("cannot read the ID token") {
            guard let record = try await repository.read(id)?.record else { throw AccountStoreError.unknownAccount(id) }
            return try (policy.map { try record.selected($0) } ?? record).tokens.idToken
        }
    }

    /// Waits until no refresh is in progress. If the process ends during a refresh, a refresh token that the provider has rotated but
    /// that is not saved yet is lost.
    public func finishPendingRefreshes() async {
        // Unstructured, because the task that ends is usually cancelled and could not wait.
        await Task { await broker.finishPendingRefreshes() }.value
    }

    /// Prevents new refreshes and waits until the tokens of sent requests are saved. A refresh that still waits for the account's lock
    /// ends without a request.
    ///
    /// Tokens that cannot be saved are written to a rescue file after the first error.
    package nonisolated func endRefreshes() async -> EndedRefreshes {
        // Unstructured, because the caller's task is usually cancelled.
        await Task { await broker.endRefreshes() }.value
    }

    /// Asks the provider what a token of an account is worth. The client authenticates as for the token endpoint; most providers
    /// answer only clients that have a secret or a key.
    ///
    /// [RFC 7662](https://www.rfc-editor.org/rfc/rfc7662)
    ///
    /// - Parameters:
    ///   - token: the access token, as ``accessToken(for:minimumValidity:scopes:resource:claims:policy:rejected:)`` gave it.
    ///   - id: the account.
    /// - Throws: ``AccountStoreError``: `settings` when the provider does not offer it, else what the provider or the network bring.
    public func introspect(_ token: AccessToken, of id: Account.ID) async throws -> Introspection {
        try await AccountStoreError.wrappingErrors("cannot ask about the token") {
            try await exchanger.introspect(token, of: id)
        }
    }

    /// Returns the claims of the provider's userinfo response. It is not saved: `Account/claims` are the claims of the last
    /// sign-in or refresh. If the provider rejects the token, the store refreshes it once.
    ///
    /// See OpenID Connect Core 1.0 section 5.3.
    ///
    /// - Returns: `nil` if the provider has no userinfo endpoint.
    /// - Throws: ``AccountStoreError`` as ``accessToken(for:minimumValidity:scopes:resource:claims:policy:rejected:)``; `invalidAnswer` if
    ///   the claims belong to another user.
    public func userInfo(for id: Account.ID) async throws -> JSONObject? {
        try await AccountStoreError.wrappingErrors("cannot get the user's claims") {
            try await exchanger.userInfo(of: id)
        }
    }

    /// Exchanges a token for another one, in the name of a type's client. Nothing is kept.
    ///
    /// [RFC 8693](https://www.rfc-editor.org/rfc/rfc8693)
    ///
    /// - Parameters:
    ///   - exchange: what is exchanged, and for what. Without resources of its own it has those of the type.
    ///   - type: the name of the account type.
    ///   - parameters: further parameters of the provider.
    /// - Throws: ``AccountStoreError``
    package func exchange(
        _ exchange: TokenExchange, at type: String, parameters: [String: String] = [:]
    ) async throws -> ExchangedToken {
        try await AccountStoreError.wrappingErrors("cannot exchange the token") {
            try await exchanger.exchange(exchange, at: context.type(type), parameters: parameters)
        }
    }

    /// Exchanges an account's access token, renewed when need be, for one of another service. Nothing is kept.
    ///
    /// - Parameters:
    ///   - id: the account.
    ///   - resources: the services that the token is for, by address; absolute, without fragment.
    ///   - audiences: the services by the names that the provider gives them.
    ///   - scope: what is asked for.
    ///   - requestedType: the type of token that is wanted; the provider chooses when nil.
    /// - Throws: ``AccountStoreError``; `signInNeeded` only when the account's own token cannot be had.
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

    /// Exchanges the access token that a caller of this service sent for one of another service, as Microsoft Entra does it:
    /// on behalf of the caller. Nothing is kept.
    ///
    /// When the provider wants the person, the error's ``AccountStoreError/provider`` has the claims that the caller must ask for.
    ///
    /// - Parameters:
    ///   - assertion: the token that the caller sent, issued for this client.
    ///   - type: the name of the account type.
    ///   - scope: what is asked for.
    /// - Throws: ``AccountStoreError``
    public func exchange(onBehalfOf assertion: Secret, at type: String, scope: Scope) async throws -> ExchangedToken {
        try await AccountStoreError.wrappingErrors("cannot get a token on behalf of the caller") {
            try await exchanger.exchange(onBehalfOf: assertion, at: context.type(type), scope: scope)
        }
    }

    /// How far this machine's clock is from that of a type's provider, as its last answer said; nil when it has not answered
    /// since this store was opened, or does not tell the time. Sends nothing.
    public func clockSkew(ofType name: String) async -> ClockSkew? {
        await context.clockSkew(ofType: name)
    }
}
