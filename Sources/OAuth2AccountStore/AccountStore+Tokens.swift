import OAuth2

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension AccountStore {
    /// What a refresh brought.
    struct Flown: Sendable {
        let tokens: Tokens
        /// Whether the tokens came from the provider just now, so that asking again brings nothing better.
        let isNew: Bool
    }

    /// What a caller wants of a token.
    private struct Demand {
        let validity: Double?
        let rejected: Secret?

        func accepts(_ tokens: Tokens, at now: Date) -> Bool {
            tokens.accessToken != rejected && tokens.isFresh(at: now, for: validity)
        }
    }

    /// A fresh access token of an account.
    ///
    /// A token that is fresh in memory is given at once. Else everybody who asks shares one refresh, in this process and in all
    /// others. New tokens are saved before anyone sees them.
    ///
    /// - Parameters:
    ///   - id: the account.
    ///   - minimumValidity: how long the token must be good for; nil: a minute, or a fifth of its life when it is short.
    ///   - scopes: what the token must be good for; nil: whatever was granted.
    ///   - rejected: a token that a resource refused with 401: it counts as used up, whatever its expiry.
    /// - Throws: ``AccountStoreError``: `signInNeeded` only when the provider refused the refresh token or there is none, never
    ///   for trouble of network or provider. `CancellationError` when the task is cancelled; the refresh goes on for the others.
    public func accessToken(
        for id: Account.ID, minimumValidity: Duration? = nil, scopes: Scope? = nil, rejected: Secret? = nil
    ) async throws -> AccessToken {
        let demand = Demand(validity: minimumValidity.map { $0 / .seconds(1) }, rejected: rejected)
        if let kept = loaded[id], kept.record.signInNeeded == nil,
            demand.accepts(kept.record.tokens, at: surroundings.now())
        {
            return try token(kept.record.tokens, covering: scopes)
        }
        while true {
            // Looked up and, if need be, started before any await: of all callers one starts it.
            let flight = flights[id] ?? start(id, demand)
            let flown = try await flight.value()
            if flown.isNew || demand.accepts(flown.tokens, at: surroundings.now()) {
                return try token(flown.tokens, covering: scopes)
            }
        }
    }

    private func token(_ tokens: Tokens, covering scopes: Scope?) throws -> AccessToken {
        if let scopes, !tokens.scope.covers(scopes) {
            let missing = scopes.tokens.filter { !tokens.scope.contains($0) }
            throw AccountStoreError(
                .signInNeeded(.scopeNotGranted), what: "no access token",
                reason: "not granted: \(missing.joined(separator: " "))", remedy: .signInAgain)
        }
        return AccessToken(
            secret: tokens.accessToken, expiry: tokens.expiry, scope: tokens.scope, type: tokens.type ?? "bearer")
    }

    private func start(_ id: Account.ID, _ demand: Demand) -> SharedResult<Flown> {
        let flight = SharedResult<Flown>()
        flights[id] = flight
        // A task of its own: the caller who happened to start it may be cancelled.
        Task {
            let result: Result<Flown, any Error>
            do {
                result = .success(try await renew(id, demand))
            } catch {
                let failure = AccountStoreError.wrapping(error, what: "cannot get a fresh access token")
                if let kept = loaded[id] {
                    tell(.accessTokenFailed(Account(record: kept.record, position: kept.position), failure))
                }
                result = .failure(failure)
            }
            flights[id] = nil
            flight.finish(result)
        }
        return flight
    }

    private func renew(_ id: Account.ID, _ demand: Demand) async throws -> Flown {
        if let tokens = unsaved[id] { return Flown(tokens: try await save(tokens, id), isNew: true) }
        if let tokens = try await saved(id, demand) { return Flown(tokens: tokens, isNew: false) }
        let lock = try await storage.lock("account:\(id)", timeout: .seconds(120))
        defer { lock.release() }
        // Another process may have refreshed while this one waited.
        if let tokens = try await saved(id, demand) { return Flown(tokens: tokens, isNew: false) }
        guard let record = loaded[id]?.record else { throw unknown(id) }
        do {
            return Flown(tokens: try await refresh(record), isNew: true)
        } catch {
            // A failed renewal ahead of time is no failure: the token that is there still works.
            let tokens = record.tokens
            guard tokens.accessToken != demand.rejected, demand.validity == nil,
                tokens.isFresh(at: surroundings.now(), for: 0), Self.isTransient(error)
            else { throw error }
            return Flown(tokens: tokens, isNew: true)
        }
    }

    private static func isTransient(_ error: any Error) -> Bool {
        guard let error = AccountStoreError.wrapping(error, what: "") as? AccountStoreError else { return false }
        if case .retryLater = error.remedy { return true }
        return false
    }

    /// The saved tokens, when they will do; nil when they have to be refreshed and can be.
    private func saved(_ id: Account.ID, _ demand: Demand) async throws -> Tokens? {
        guard let record = try await read(id)?.record else { throw unknown(id) }
        if let reason = record.signInNeeded { throw signInNeeded(reason) }
        if demand.accepts(record.tokens, at: surroundings.now()) { return record.tokens }
        guard record.canRenew else { throw signInNeeded(.noRefreshToken) }
        return nil
    }

    func signInNeeded(_ reason: Account.SignInReason, _ provider: ProviderError? = nil) -> AccountStoreError {
        AccountStoreError(
            .signInNeeded(reason), what: "sign-in needed", reason: reason.explanation, remedy: .signInAgain,
            provider: provider)
    }

    /// Asks the provider for new tokens and saves them. The account's lock is held.
    private func refresh(_ record: AccountRecord) async throws -> Tokens {
        let type = try type(record.type)
        let connection = try await connection(to: type)
        try checkSameProvider(record, type, connection.server)
        let prepared = try await prepareRenewal(record, connection)
        // Once the provider has rotated the token, the answer must be saved: find out before whether it can be.
        try await storage.checkWritable()
        let tokens: Tokens
        do {
            tokens = try await renewedTokens(record, prepared)
        } catch OAuth2Error.provider(let error) where error.code.needsInteraction {
            guard let refreshToken = record.tokens.refreshToken else { throw OAuth2Error.provider(error) }
            throw try await lost(record, refreshToken, error)
        }
        return try await save(tokens, record.id)
    }

    /// A refresh token goes only to the provider that gave it.
    private func checkSameProvider(_ record: AccountRecord, _ type: AccountType, _ server: AuthorizationServer) throws {
        guard record.clientID == type.clientID, Self.sameProvider(record.issuer, server.issuer) else {
            throw AccountStoreError(
                .settings, what: "the saved sign-in is not used",
                reason:
                    "the settings of \(type.name) now name another provider or client than the one that was signed in to",
                remedy: .signInAgain, hint: "sign in again, or put the old settings back")
        }
    }

    private static func sameProvider(_ saved: String?, _ configured: String?) -> Bool {
        guard let saved, let configured else { return saved == nil || configured == nil }
        return AuthorizationResponse.isIssuer(saved, of: configured)
    }

    /// `invalid_grant` and its kind are believed only if nobody has a newer refresh token.
    private func lost(_ record: AccountRecord, _ sent: Secret, _ error: ProviderError) async throws -> AccountStoreError
    {
        guard let current = try await read(record.id)?.record else { throw unknown(record.id) }
        guard current.tokens.refreshToken == sent else {
            return AccountStoreError(
                .unavailable, what: "the refresh was overtaken", reason: "another program has newer tokens",
                remedy: .retryLater(after: 0), provider: error)
        }
        let reason: Account.SignInReason = error.code == .invalidGrant ? .grantGone : .interactionRequired
        _ = try await update(record.id, .signInNeeded) { $0.signInNeeded = reason }
        return signInNeeded(reason, error)
    }

    /// Saves new tokens. What cannot be saved is kept in memory and saved with the next call; until then nobody sees it.
    private func save(_ tokens: Tokens, _ id: Account.ID) async throws -> Tokens {
        unsaved[id] = tokens
        let saved = try await update(id, .tokens) {
            $0.tokens = tokens
            $0.signInNeeded = nil
        }
        unsaved[id] = nil
        guard saved != nil else {
            throw AccountStoreError(
                .accountRemoved, what: "no access token", reason: "the account was removed meanwhile", remedy: .nothing)
        }
        return tokens
    }
}
