import OAuth2

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension AccountStore {
    /// What a flight brought to all who waited for it.
    enum Flown: Sendable {
        /// Tokens that the provider gave just now. Asking again brings nothing better.
        case renewed(Tokens)
        /// Tokens that were in the storage.
        case found(Tokens)
        /// No new tokens, for a reason that passes. These have not expired yet.
        case kept(Tokens, because: any Error)
    }

    /// What a caller wants of a token.
    struct Demand {
        let validity: Double?
        let rejected: Secret?

        func accepts(_ tokens: Tokens, at now: Date) -> Bool {
            tokens.accessToken != rejected && tokens.isFresh(at: now, for: validity)
        }

        /// Whether a token will do that could not be renewed ahead of its end.
        func tolerates(_ tokens: Tokens, at now: Date) -> Bool {
            tokens.accessToken != rejected && validity == nil && tokens.isFresh(at: now, for: 0)
        }
    }

    /// Tokens that are not saved yet, and the refresh token they came for, if they did: they replace that one and no other.
    struct Unsaved: Sendable {
        let tokens: Tokens
        let sent: Secret?
    }

    /// Somebody else changed the tokens meanwhile: another process, or a sign-in.
    private struct Overtaken: Error {}

    /// How often a refresh that was overtaken is begun again.
    private static let maximumAttempts = 3

    /// A fresh access token of an account.
    ///
    /// A token that is fresh in memory is given at once. Else everybody who asks shares one refresh, in this process and in all
    /// others. New tokens are saved before anyone sees them.
    ///
    /// - Parameters:
    ///   - id: the account.
    ///   - minimumValidity: how long the token must be good for; nil: a minute, or a fifth of its life when it is short. More
    ///     than four fifths of its life count as those: the provider has no better.
    ///   - scopes: what the token must be good for; nil: whatever was granted.
    ///   - rejected: a token that a resource refused with 401: it counts as used up, whatever its expiry.
    /// - Throws: ``AccountStoreError``: `signInNeeded` only when the provider refused the refresh token or there is none, never
    ///   for trouble of network or provider. `CancellationError` when the task is cancelled; the refresh goes on for the others.
    public func accessToken(
        for id: Account.ID, minimumValidity: Duration? = nil, scopes: Scope? = nil, rejected: Secret? = nil
    ) async throws -> AccessToken {
        let demand = Demand(validity: minimumValidity.map { $0 / .seconds(1) }, rejected: rejected)
        if let kept = loaded[id], kept.record.signInNeeded == nil,
            demand.accepts(kept.record.tokens, at: now(judging: kept.record.tokens, of: id))
        {
            return try token(kept.record.tokens, covering: scopes)
        }
        while true {
            // Looked up and, if need be, started before any await: of all callers one starts it.
            let flight = flights[id] ?? start(id, demand)
            switch try await flight.value() {
            case .renewed(let tokens): return try token(tokens, covering: scopes)
            case .found(let tokens):
                if demand.accepts(tokens, at: now(judging: tokens, of: id)) {
                    return try token(tokens, covering: scopes)
                }
            case .kept(let tokens, let error):
                guard demand.tolerates(tokens, at: now(judging: tokens, of: id)) else { throw error }
                return try token(tokens, covering: scopes)
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
            await refreshGate.enter()
            defer { refreshGate.leave() }
            let result: Result<Flown, any Error>
            do {
                let flown = try await renew(id, demand)
                if case .kept(let tokens, let error) = flown,
                    !demand.tolerates(tokens, at: now(judging: tokens, of: id))
                {
                    tellFailure(id, error)
                }
                result = .success(flown)
            } catch {
                let failure = AccountStoreError.wrapping(error, what: Self.noToken)
                tellFailure(id, failure)
                result = .failure(failure)
            }
            flights[id] = nil
            flight.finish(result)
        }
        return flight
    }

    private static let noToken = "cannot get a fresh access token"

    private func tellFailure(_ id: Account.ID, _ error: any Error) {
        guard let kept = loaded[id] else { return }
        tell(.accessTokenFailed(Account(record: kept.record, position: kept.position), error))
    }

    private func renew(_ id: Account.ID, _ demand: Demand) async throws -> Flown {
        // What the storage has is out of date while there is something to save.
        if unsaved[id] == nil, case .found(let tokens) = try await look(id, demand) { return .found(tokens) }
        let lock = try await storage.lock("account:\(id)", timeout: .seconds(120))
        defer { lock.release() }
        try await saveWhatIsLeft(id)
        for _ in 0..<Self.maximumAttempts {
            // Another process may have refreshed while this one waited.
            switch try await look(id, demand) {
            case .found(let tokens): return .found(tokens)
            case .toRefresh(let record):
                do {
                    return .renewed(try await refresh(record))
                } catch is Overtaken {
                    continue
                } catch {
                    // A failed renewal ahead of time need not be a failure: the token that is there still works.
                    let failure = AccountStoreError.wrapping(error, what: Self.noToken)
                    guard Self.isTransient(failure),
                        record.tokens.isFresh(at: now(judging: record.tokens, of: id), for: 0)
                    else {
                        throw failure
                    }
                    return .kept(record.tokens, because: failure)
                }
            }
        }
        throw AccountStoreError(
            .unavailable, what: Self.noToken, reason: "another program changes the tokens all the time",
            remedy: .retryLater(after: nil))
    }

    private static func isTransient(_ error: any Error) -> Bool {
        if case .retryLater? = (error as? AccountStoreError)?.remedy { return true }
        return false
    }

    private enum Look {
        case found(Tokens)
        case toRefresh(AccountRecord)
    }

    /// Looks whether the saved tokens will do, or can be refreshed.
    private func look(_ id: Account.ID, _ demand: Demand) async throws -> Look {
        guard let record = try await read(id)?.record else { throw unknown(id) }
        if let reason = record.signInNeeded { throw signInNeeded(reason) }
        if demand.accepts(record.tokens, at: now(judging: record.tokens, of: id)) { return .found(record.tokens) }
        guard record.canRenew else { throw signInNeeded(.noRefreshToken) }
        return .toRefresh(record)
    }

    func signInNeeded(_ reason: Account.SignInReason, _ provider: ProviderError? = nil) -> AccountStoreError {
        .signInNeeded(reason, provider)
    }

    /// Asks the provider for new tokens and saves them. The account's lock is held.
    private func refresh(_ record: AccountRecord) async throws -> Tokens {
        let type = try type(record.type)
        let connection = try await connection(to: type)
        try checkSameProvider(record, type, connection.server)
        let prepared = try await prepareRenewal(record, connection)
        // Once the provider has rotated the token, the answer must be saved: find out before whether it can be.
        let attempt = try await beginAttempt(record)
        let tokens: Tokens
        do {
            tokens = try await attempted(attempt) { try await renewedTokens(record, prepared) }
        } catch OAuth2Error.provider(let error) where error.signInReason != nil {
            guard let refreshToken = record.tokens.refreshToken else { throw OAuth2Error.provider(error) }
            throw try await lost(record, refreshToken, error, attempt)
        } catch OAuth2Error.http(status: 400, _) where record.tokens.refreshToken != nil {
            // glewlwyd answers a dead refresh token like this, without a word. Nothing is believed of it that would last: the
            // next call asks again.
            throw AccountStoreError(
                .signInNeeded(.grantGone), what: "sign-in needed",
                reason:
                    "the provider refused the refresh with HTTP status 400 and gave no reason; the saved sign-in is kept",
                remedy: .signInAgain)
        }
        guard try await save(Unsaved(tokens: tokens, sent: record.tokens.refreshToken), record.id) else {
            // Nobody will ever use these: the provider is asked to forget them.
            _ = await revoke(tokens, connection)
            throw AccountStoreError(
                .accountRemoved, what: "no access token", reason: "the account was removed meanwhile", remedy: .nothing)
        }
        return tokens
    }

    /// A refresh token goes only to the provider that gave it.
    private func checkSameProvider(_ record: AccountRecord, _ type: AccountType, _ server: AuthorizationServer) throws {
        guard record.clientID == type.clientID, Self.sameProvider(record, server) else {
            throw AccountStoreError(
                .settings, what: "the saved sign-in is not used",
                reason:
                    "the settings of \(type.name) now name another provider or client than the one that was signed in to",
                remedy: .signInAgain, hint: "sign in again, or put the old settings back")
        }
    }

    private static func sameProvider(_ record: AccountRecord, _ server: AuthorizationServer) -> Bool {
        if let saved = record.issuer, let configured = server.issuer {
            return AuthorizationResponse.isIssuer(saved, of: configured)
        }
        // Without an issuer the place of the token endpoint is all that tells providers apart.
        guard let saved = record.tokenOrigin else { return record.issuer == nil }
        return saved == server.tokenEndpoint?.origin
    }

    /// `invalid_grant` and its kind are believed only if nobody has a newer refresh token.
    private func lost(
        _ record: AccountRecord, _ sent: Secret, _ error: ProviderError, _ attempt: RefreshAttempt?
    ) async throws -> any Error {
        let told = error.signInReason ?? .grantGone
        let reason = attempt.map { $0.reason(told) } ?? told
        let marked = try await update(record.id, .signInNeeded) {
            guard $0.tokens.refreshToken == sent else { throw Overtaken() }
            $0.signInNeeded = reason
        }
        return marked == nil ? unknown(record.id) : signInNeeded(reason, error)
    }

    /// Saves new tokens; false when the account is gone. What cannot be saved is kept in memory and saved with the next call;
    /// until then nobody sees it.
    private func save(_ new: Unsaved, _ id: Account.ID) async throws -> Bool {
        unsaved[id] = new
        do {
            let saved = try await update(id, .tokens) {
                guard $0.tokens.refreshToken == new.sent else { throw Overtaken() }
                $0.tokens = new.tokens
                $0.signInNeeded = nil
            }
            unsaved[id] = nil
            return saved != nil
        } catch is Overtaken {
            unsaved[id] = nil
            throw Overtaken()
        }
    }

    /// Saves the tokens that could not be saved before. The account's lock is held.
    private func saveWhatIsLeft(_ id: Account.ID) async throws {
        guard let left = unsaved[id] else { return }
        do {
            _ = try await save(left, id)
        } catch is Overtaken {
            // Somebody signed in meanwhile: theirs are the newer ones.
        }
    }
}
