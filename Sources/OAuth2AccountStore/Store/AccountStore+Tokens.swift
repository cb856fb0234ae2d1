import OAuth2Protocol
import Platform

extension AccountStore {
    /// A fresh access token of an account.
    ///
    /// A token that is fresh in memory is given at once. Else everybody who asks shares one refresh, in this process and in all
    /// others. New tokens are saved before anyone sees them.
    ///
    /// An account may have several access tokens. When the main one is not good for the scopes or the resource asked for, another
    /// is got with the refresh token and kept beside it, at most 16 of them. Scopes that were never granted are asked for in the
    /// same way, because some providers give them when the person has consented elsewhere. What the provider refused is not
    /// asked for again for ten minutes, or until the person signs in; the account stays signed in.
    ///
    /// Where the provider says when to renew a token ahead of time (`refresh_in`), that is done while the old one is given, and
    /// its failure is no error.
    ///
    /// - Parameters:
    ///   - id: the account.
    ///   - minimumValidity: how long the token must be good for; nil: a minute, or a fifth of its life when it is short. More
    ///     than four fifths of its life count as those: the provider has no better.
    ///   - scopes: what the token must be good for; nil: whatever was granted. `openid`, `profile` and `offline_access` do not
    ///     count.
    ///   - resource: the service that the token is for, an absolute address without fragment (RFC 8707 section 2); nil: those of
    ///     the settings.
    ///   - claims: what a resource demanded of the token, a JSON object, as it came with a claims challenge. A kept token is
    ///     never given then.
    ///   - rejected: a token that a resource refused with 401: it counts as used up, whatever its expiry. Where nothing renews it, the
    ///     account needs a sign-in from then on.
    /// - Throws: ``AccountStoreError``: `signInNeeded` only when the provider refused or there is no refresh token, never
    ///   for trouble of network or provider. When claims are what is missing, the error's ``AccountStoreError/provider`` has
    ///   them for ``SignInOptions/claims``. `CancellationError` when the task is cancelled; the refresh goes on for the others.
    public func accessToken(
        for id: Account.ID, minimumValidity: Duration? = nil, scopes: Scope? = nil, resource: String? = nil,
        claims: String? = nil, rejected: Secret? = nil
    ) async throws -> AccessToken {
        try await broker.accessToken(
            for: id, TokenKey(scope: scopes, resource: resource, claims: claims),
            FreshnessRequirement(validity: minimumValidity.map { $0 / .seconds(1) }, rejected: rejected))
    }

    /// Waits until no refresh is under way. A program that was told to end calls it before it does: a refresh token that the provider
    /// has rotated but that is not saved yet would be lost with the process.
    public func finishPendingRefreshes() async {
        // Unstructured, because the task that ends is usually cancelled and could not wait.
        await Task { await broker.finishPendingRefreshes() }.value
    }

    /// Asks the provider what a token of an account is worth. The client authenticates as for the token endpoint; most providers
    /// answer only clients that have a secret or a key.
    ///
    /// [RFC 7662](https://www.rfc-editor.org/rfc/rfc7662)
    ///
    /// - Parameters:
    ///   - token: the access token, as ``accessToken(for:minimumValidity:scopes:resource:claims:rejected:)`` gave it.
    ///   - id: the account.
    /// - Throws: ``AccountStoreError``: `settings` when the provider does not offer it, else what the provider or the network bring.
    public func introspect(_ token: AccessToken, of id: Account.ID) async throws -> Introspection {
        try await AccountStoreError.wrappingErrors("cannot ask about the token") {
            try await exchanger.introspect(token, of: id)
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
    public func exchange(
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
