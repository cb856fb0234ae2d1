import Platform
import OAuth2Protocol
import StrictJSON

extension AccountStore {
    /// What a flight brought to all who waited for it.
    enum RefreshOutcome: Sendable {
        /// Tokens that the provider gave just now. Asking again brings nothing better.
        case renewed(TokenSet)
        /// Tokens that were in the storage.
        case found(TokenSet)
        /// No new tokens, for a reason that passes. These have not expired yet.
        case kept(TokenSet, because: any Error)
    }

    /// What a caller wants of a token.
    struct FreshnessRequirement {
        let validity: Double?
        let rejected: Secret?
        /// Whether it is a renewal ahead of time, which nobody waits for.
        var isEarly = false

        /// - Parameter renewable: whether the token can be renewed; nil: when it has a refresh token.
        func accepts(_ tokens: TokenSet, at now: Date, renewable: Bool? = nil) -> Bool {
            tokens.accessToken != rejected && tokens.isFresh(at: now, for: validity, renewable: renewable)
                && !(isEarly && tokens.isDueEarly(at: now))
        }

        /// Whether a token will do that could not be renewed ahead of its end.
        func tolerates(_ tokens: TokenSet, at now: Date) -> Bool {
            tokens.accessToken != rejected && validity == nil && tokens.isFresh(at: now, for: 0)
        }
    }

    /// Tokens that are not saved yet, and the refresh token they came for, if they did: they replace that one and no other.
    struct PendingTokenUpdate: Sendable {
        let tokens: TokenSet
        let sent: Secret?
        /// The token for other scopes or another resource that they came with.
        var further: CachedAccessToken?
        /// The claims of a new ID token.
        var claims: JSONObject?
    }

    /// Somebody else changed the tokens meanwhile: another process, or a sign-in.
    private struct RecordConflict: Error {}

    /// How often a refresh that was overtaken is begun again.
    private static let maximumAttempts = 3

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
        let demand = FreshnessRequirement(validity: minimumValidity.map { $0 / .seconds(1) }, rejected: rejected)
        let wish = SilentTokenParameters(scope: scopes, resource: resource, claims: claims)
        guard wish.isMain else { return try await token(id, wish, demand) }
        if let kept = loaded[id], kept.record.signInNeeded == nil,
            demand.accepts(kept.record.tokens, at: now(judging: kept.record.tokens, of: id))
        {
            renewEarly(id, kept.record)
            return AccessToken(kept.record.tokens)
        }
        while true {
            // Looked up and, if need be, started before any await: of all callers one starts it.
            let flight = flights[id] ?? start(id, .main, demand)
            if let tokens = try accepted(try await flight.value(), demand, id) { return AccessToken(tokens) }
        }
    }

    /// The tokens that a flight brought, when they will do; nil when there must be another flight.
    func accepted(_ flown: RefreshOutcome, _ demand: FreshnessRequirement, _ id: Account.ID) throws -> TokenSet? {
        switch flown {
        case .renewed(let tokens): return tokens
        case .found(let tokens):
            return demand.accepts(tokens, at: now(judging: tokens, of: id)) ? tokens : nil
        case .kept(let tokens, let error):
            guard demand.tolerates(tokens, at: now(judging: tokens, of: id)) else { throw error }
            return tokens
        }
    }

    /// Begins a refresh that all who have the same wish share.
    func start(_ id: Account.ID, _ wish: SilentTokenParameters, _ demand: FreshnessRequirement) -> Promise<
        RefreshOutcome
    > {
        let flight = Promise<RefreshOutcome>()
        let name = AccessTokenCache.Wish(id: id, wish: wish)
        if wish.isMain { flights[id] = flight } else { further.flights[name] = flight }
        // A task of its own: the caller who happened to start it may be cancelled.
        Task {
            await refreshGate.enter()
            defer { refreshGate.leave() }
            let result: Result<RefreshOutcome, any Error>
            do {
                let flown = try await renew(id, wish, demand)
                if case .kept(let tokens, let error) = flown {
                    if demand.isEarly { further.earlyRenewalFailed(id, now: dependencies.now()) }
                    if !demand.tolerates(tokens, at: now(judging: tokens, of: id)) { tellFailure(id, error) }
                }
                result = .success(flown)
            } catch {
                let failure = AccountStoreError.wrapping(error, what: Self.noToken)
                if demand.isEarly { further.earlyRenewalFailed(id, now: dependencies.now()) }
                if wish.isMain, !demand.isEarly { tellFailure(id, failure) }
                result = .failure(failure)
            }
            if wish.isMain { flights[id] = nil } else { further.flights[name] = nil }
            flight.finish(result)
        }
        return flight
    }

    /// Begins a renewal ahead of time when the provider wants that, and waits for nothing.
    private func renewEarly(_ id: Account.ID, _ record: AccountRecord) {
        guard record.tokens.refreshIn != nil else { return }
        let now = dependencies.now()
        guard record.tokens.isDueEarly(at: now), record.canRefresh, flights[id] == nil,
            further.mayRenewEarly(id, now: now)
        else { return }
        _ = start(id, .main, FreshnessRequirement(validity: nil, rejected: nil, isEarly: true))
    }

    private static let noToken = "cannot get a fresh access token"

    private func tellFailure(_ id: Account.ID, _ error: any Error) {
        guard let kept = loaded[id] else { return }
        tell(.accessTokenFailed(Account(record: kept.record, position: kept.position), error))
    }

    private func renew(_ id: Account.ID, _ wish: SilentTokenParameters, _ demand: FreshnessRequirement) async throws
        -> RefreshOutcome
    {
        // What the storage has is out of date while there is something to save.
        if unsaved[id] == nil, case .found(let tokens) = try await look(id, wish, demand) { return .found(tokens) }
        // One lock for all tokens of the account: they are got with the same refresh token.
        let lock = try await storage.lock("account:\(id)", timeout: .seconds(120))
        defer { lock.release() }
        try await savePendingUpdate(id)
        for _ in 0..<Self.maximumAttempts {
            // Another process may have refreshed while this one waited.
            switch try await look(id, wish, demand) {
            case .found(let tokens): return .found(tokens)
            case .toRefresh(let record, let kept):
                do {
                    return .renewed(try await refresh(record, wish, demand))
                } catch is RecordConflict {
                    continue
                } catch {
                    // A failed renewal ahead of time need not be a failure: the token that is there still works.
                    let failure = AccountStoreError.wrapping(error, what: Self.noToken)
                    guard Self.isTransient(failure) || demand.isEarly, let kept,
                        kept.isFresh(at: now(judging: kept, of: id), for: 0)
                    else { throw failure }
                    return .kept(kept, because: failure)
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
        case found(TokenSet)
        /// The account, and the token that it has for the wish, which will not do.
        case toRefresh(AccountRecord, TokenSet?)
    }

    /// Looks whether the saved tokens will do, or can be refreshed.
    private func look(_ id: Account.ID, _ wish: SilentTokenParameters, _ demand: FreshnessRequirement) async throws
        -> Look
    {
        guard let record = try await read(id)?.record else { throw unknown(id) }
        if let reason = record.signInNeeded { throw signInNeeded(reason) }
        let kept = try kept(wish, in: record)
        if let kept, wish.claims == nil,
            demand.accepts(kept, at: now(judging: kept, of: id), renewable: wish.isMain ? nil : record.canRefresh)
        {
            return .found(kept)
        }
        guard record.canRefresh else {
            guard kept != nil else { throw try notGranted(wish, record) }
            if wish.isMain, let rejected = demand.rejected, record.tokens.accessToken == rejected,
                try await !end(id, rejected)
            {
                return try await look(id, wish, demand)
            }
            throw signInNeeded(.noRefreshToken)
        }
        return .toRefresh(record, wish.claims == nil ? kept : nil)
    }

    /// Saves that a token was refused that nothing renews: else it would be given to the next who asks, and the account would look
    /// signed in. False when the account has other tokens by now.
    private func end(_ id: Account.ID, _ rejected: Secret) async throws -> Bool {
        do {
            _ = try await update(id, .signInNeeded) {
                guard $0.tokens.accessToken == rejected, !$0.canRefresh, $0.signInNeeded == nil else {
                    throw RecordConflict()
                }
                $0.signInNeeded = .noRefreshToken
            }
        } catch is RecordConflict {
            return false
        } catch let error as StorageError where error.kind == .readOnly {
            // Whoever asks next finds it out again.
        }
        return true
    }

    func signInNeeded(_ reason: Account.SignInReason, _ provider: ProviderError? = nil) -> AccountStoreError {
        .signInNeeded(reason, provider)
    }

    /// Asks the provider for new tokens and saves them. The account's lock is held.
    ///
    /// - Returns: The tokens that were wished for.
    private func refresh(_ record: AccountRecord, _ wish: SilentTokenParameters, _ demand: FreshnessRequirement)
        async throws -> TokenSet
    {
        let type = try type(of: record)
        let connection = try await connection(to: type)
        try checkSameProvider(record, type, connection.server)
        let prepared = try await prepareRenewal(record, connection)
        // Once the provider has rotated the token, the answer must be saved: find out before whether it can be.
        let attempt = try await beginAttempt(record)
        let renewed: RefreshResult
        do {
            renewed = try await attempted(attempt) { try await self.renewed(record, wish, prepared) }
        } catch {
            guard wish.isMain else { throw try refusal(of: wish, record, error) }
            throw try await refusal(record, error, attempt, isEarly: demand.isEarly)
        }
        guard try await save(renewed.unsaved, record.id) else {
            // Nobody will ever use these: the provider is asked to forget them.
            _ = await revoke(renewed.unsaved.tokens, connection)
            throw AccountStoreError(
                .accountRemoved, what: "no access token", reason: "the account was removed meanwhile", remedy: .nothing)
        }
        // The main tokens may be the same as before, and the mark with them: with a further token, and at providers that give
        // the same token again as long as it is good.
        let new = renewed.unsaved.tokens
        if let attempt, new.accessToken == record.tokens.accessToken, new.refreshToken == record.tokens.refreshToken {
            try? await storage.setValue(nil, for: attempt.name)
        }
        guard renewed.unmet.isEmpty else { throw try refusal(of: wish, record, unmet: renewed.unmet) }
        return renewed.wished
    }

    /// What it means that the provider did not renew the main token.
    private func refusal(
        _ record: AccountRecord, _ error: any Error, _ attempt: RefreshJournal?, isEarly: Bool
    ) async throws -> any Error {
        guard let sent = record.tokens.refreshToken else { return error }
        switch error {
        case OAuth2Error.provider(let error) where error.signInReason != nil:
            // Ahead of time nothing is lost yet: the token that is there works until its end.
            if isEarly { return signInNeeded(error.signInReason ?? .grantGone, error) }
            return try await lost(record, sent, error, attempt)
        case OAuth2Error.http(status: 400, _):
            // glewlwyd answers a dead refresh token like this, without a word. Nothing is believed of it that would last: the
            // next call asks again.
            return AccountStoreError(
                .signInNeeded(.grantGone), what: "sign-in needed",
                reason:
                    "the provider refused the refresh with HTTP status 400 and gave no reason; the saved sign-in is kept",
                remedy: .signInAgain)
        default: return error
        }
    }

    /// `invalid_grant` and its kind are believed only if nobody has a newer refresh token.
    private func lost(
        _ record: AccountRecord, _ sent: Secret, _ error: ProviderError, _ attempt: RefreshJournal?
    ) async throws -> any Error {
        let told = error.signInReason ?? .grantGone
        let reason = attempt.map { $0.reason(told) } ?? told
        let marked = try await update(record.id, .signInNeeded) {
            guard $0.tokens.refreshToken == sent else { throw RecordConflict() }
            $0.signInNeeded = reason
        }
        return marked == nil ? unknown(record.id) : signInNeeded(reason, error)
    }

    /// Saves new tokens; false when the account is gone. What cannot be saved is kept in memory and saved with the next call;
    /// until then nobody sees it.
    private func save(_ new: PendingTokenUpdate, _ id: Account.ID) async throws -> Bool {
        unsaved[id] = new
        let now = dependencies.now()
        do {
            let saved = try await update(id, .tokens) {
                guard $0.tokens.refreshToken == new.sent else { throw RecordConflict() }
                if let token = new.further {
                    $0.further = further.kept($0.further ?? [], of: id, with: token, now: now)
                }
                if let claims = new.claims { $0.renew(claims: claims) }
                $0.tokens = new.tokens
                $0.signInNeeded = nil
            }
            unsaved[id] = nil
            return saved != nil
        } catch is RecordConflict {
            unsaved[id] = nil
            throw RecordConflict()
        }
    }

    /// Saves the tokens that could not be saved before. The account's lock is held.
    private func savePendingUpdate(_ id: Account.ID) async throws {
        guard let left = unsaved[id] else { return }
        do {
            _ = try await save(left, id)
        } catch is RecordConflict {
            // Somebody signed in meanwhile: theirs are the newer ones.
        }
    }
}
