import JOSE
import OAuth2Protocol
import Platform
import SealedStorage

/// Refreshes the tokens of one account, from the lock to the save.
struct TokenRefresher: StoreCollaborator {
    let context: StoreContext
    let history: TokenHistory
    let revoker: TokenRevoker
    var journal: RefreshJournal { RefreshJournal(storage: storage, seal: seal) }

    /// Another process, or a sign-in, changed the tokens.
    private struct RecordConflict: Error {}

    private enum CacheLookup {
        case hit(TokenSet)
        /// The account, and its token for the key, which is not acceptable.
        case needsRefresh(AccountRecord, TokenSet?)
    }

    /// The maximum number of attempts after another process changed the tokens.
    private static let maximumAttempts = 3

    func refresh(_ key: RefreshKey, _ requirement: FreshnessRequirement) async throws -> RefreshOutcome {
        let id = key.account
        // While an update is pending, the storage is out of date.
        if history.pendingUpdate(id) == nil, case .hit(let tokens) = try await cacheLookup(key, requirement) {
            return .found(tokens)
        }
        // One lock for all tokens of the account: the same refresh token gets them.
        let lock = try await storage.lock("account:\(id)", timeout: .seconds(120))
        defer { lock.release() }
        try await savePendingUpdate(id)
        for _ in 0..<Self.maximumAttempts {
            // Another process can have refreshed while this one waited.
            switch try await cacheLookup(key, requirement) {
            case .hit(let tokens): return .found(tokens)
            case .needsRefresh(let record, let cached):
                do {
                    return .refreshed(try await refresh(record, key, requirement, lock))
                } catch is RecordConflict {
                    continue
                } catch {
                    // A failed early refresh is no failure: the present token still works.
                    let failure = AccountStoreError.wrapping(error, what: RefreshOutcome.failure)
                    guard Self.isTransient(failure) || requirement.isEarly, let cached,
                        cached.isFresh(at: now(forAgeOf: cached, account: id), for: 0)
                    else { throw failure }
                    return .kept(cached, because: failure)
                }
            }
        }
        throw AccountStoreError(
            .unavailable, what: RefreshOutcome.failure, reason: "another program changes the tokens all the time",
            remedy: .retryLater(after: nil))
    }

    private static func isTransient(_ error: any Error) -> Bool {
        if case .retryLater? = (error as? AccountStoreError)?.remedy { return true }
        return false
    }

    /// Reads the record and checks whether its token is acceptable or can be refreshed.
    private func cacheLookup(_ key: RefreshKey, _ requirement: FreshnessRequirement) async throws -> CacheLookup {
        let id = key.account
        guard let record = try await repository.read(id)?.record else { throw AccountStoreError.unknownAccount(id) }
        if let reason = record.signInNeeded { throw AccountStoreError.signInNeeded(reason, nil) }
        let coverage = ScopeCoverage(try type(record.type))
        let cached = key.token.isMain ? record.tokens : coverage.tokens(for: key.token, in: record)
        if let cached, key.token.claims == nil,
            requirement.accepts(
                cached, at: now(forAgeOf: cached, account: id), renewable: key.token.isMain ? nil : record.canRefresh)
        {
            return .hit(cached)
        }
        guard record.canRefresh else {
            guard cached != nil else { throw try notGranted(key.token, record) }
            if key.token.isMain, let rejected = requirement.rejected, record.tokens.accessToken == rejected,
                try await !discardRejectedToken(id, rejected)
            {
                return try await cacheLookup(key, requirement)
            }
            throw AccountStoreError.signInNeeded(.noRefreshToken, nil)
        }
        return .needsRefresh(record, key.token.claims == nil ? cached : nil)
    }

    /// Saves that a resource rejected a token that cannot be refreshed: otherwise the next caller would get it, and the account would
    /// look signed in. Returns `false` if the account has other tokens by now.
    private func discardRejectedToken(_ id: Account.ID, _ rejected: Secret) async throws -> Bool {
        do {
            _ = try await repository.update(id, .signInNeeded) {
                guard $0.tokens.accessToken == rejected, !$0.canRefresh, $0.signInNeeded == nil else {
                    throw RecordConflict()
                }
                $0.signInNeeded = .noRefreshToken
            }
        } catch is RecordConflict {
            return false
        } catch let error as StorageError where error.kind == .readOnly {
            // The next caller finds it out again.
        }
        return true
    }

    /// Requests new tokens and saves them, even if the task is cancelled after the request was sent. The caller holds `lock`, the
    /// account's. Returns the tokens for the key.
    private func refresh(
        _ record: AccountRecord, _ key: RefreshKey, _ requirement: FreshnessRequirement, _ lock: any StorageLock
    ) async throws -> TokenSet {
        let type = try type(of: record)
        let client = try await client(of: type)
        try RefreshTokenBinding.check(record, type, client.server)
        let request = try await RefreshRequest(record, key.token, client, providers)
        return try await history.exchange { try await exchange(request, record, key, requirement, lock) }
    }

    private func exchange(
        _ request: RefreshRequest, _ record: AccountRecord, _ key: RefreshKey, _ requirement: FreshnessRequirement,
        _ lock: any StorageLock
    ) async throws -> TokenSet {
        let client = request.client
        // Once the provider has rotated the token, the response must be saved: check before that it can be.
        let entry = try await journal.write(record)
        // Without the lock, another process may send the same refresh token.
        try await lock.confirm()
        let token: TokenSet
        do {
            token = try await journal.send(entry) { try await request.send() }
        } catch {
            guard key.token.isMain else { throw try denial(of: key, record, error) }
            throw try await rejection(record, error, entry, isEarly: requirement.isEarly)
        }
        let unmet = token.key.isMain ? [] : ScopeCoverage(client.type).unmet(key.token, by: token.scope)
        let update = update(with: token, sent: record.tokens.refreshToken, isStored: unmet.isEmpty)
        var refreshed = record
        try update(&refreshed)
        guard try await save(update, record.id) else {
            // No caller will ever use these tokens.
            _ = await revoker.revoke(refreshed.tokens, client)
            throw AccountStoreError(
                .accountRemoved, what: "no access token", reason: "the account no longer exists",
                remedy: .nothing)
        }
        // The main tokens can be the same as before, and the entry with them: after a request for an additional token, and at
        // providers that return the same token while it is valid.
        if let entry, refreshed.tokens.accessToken == record.tokens.accessToken,
            refreshed.tokens.refreshToken == record.tokens.refreshToken
        {
            try? await journal.remove(entry.name)
        }
        guard unmet.isEmpty else { throw remember(Self.notGranted(key.token, unmet, nil), key, record) }
        return token
    }

    /// Returns the change that saves new tokens, if the record still has the refresh token that was sent.
    private func update(with token: TokenSet, sent: Secret?, isStored: Bool) -> RecordUpdate {
        { [history, dependencies] record in
            guard record.tokens.refreshToken == sent else { throw RecordConflict() }
            record.refresh(with: token)
            guard isStored, !token.key.isMain else { return }
            var additional = token
            additional.refreshToken = nil
            additional.idToken = nil
            history.add(additional, to: &record.additionalTokens, account: record.id, now: dependencies.now())
        }
    }

    /// Converts the error of a refresh of the main token.
    private func rejection(
        _ record: AccountRecord, _ error: any Error, _ entry: RefreshJournal.Entry?, isEarly: Bool
    ) async throws -> any Error {
        guard let sent = record.tokens.refreshToken else { return error }
        switch error {
        case OAuth2Error.provider(let error) where error.signInReason != nil:
            // An early refresh loses nothing: the present token works until it expires.
            if isEarly { return AccountStoreError.signInNeeded(error.signInReason ?? .grantGone, error) }
            return try await markSignInNeeded(record, sent, error, entry)
        case OAuth2Error.http(status: 400, _):
            // glewlwyd answers a dead refresh token like this, with an empty body. The store saves nothing: the next call asks again.
            return AccountStoreError(
                .signInNeeded(.grantGone), what: "sign-in needed",
                reason:
                    "the provider refused the refresh with HTTP status 400 and gave no reason; the saved sign-in is kept",
                remedy: .signInAgain)
        default: return error
        }
    }

    /// Accepts `invalid_grant` and similar errors only if the stored refresh token is still the one that was sent.
    private func markSignInNeeded(
        _ record: AccountRecord, _ sent: Secret, _ error: ProviderError, _ entry: RefreshJournal.Entry?
    ) async throws -> any Error {
        let rejection = error.signInReason ?? .grantGone
        let reason = entry.map { $0.reason(rejection) } ?? rejection
        let marked = try await repository.update(record.id, .signInNeeded) {
            guard $0.tokens.refreshToken == sent else { throw RecordConflict() }
            $0.signInNeeded = reason
        }
        return marked == nil
            ? AccountStoreError.unknownAccount(record.id) : AccountStoreError.signInNeeded(reason, error)
    }

    /// How long a save is tried again while another process uses the storage, or after an error of the disk.
    private static let saveTimeout = Duration.seconds(60)

    /// Saves new tokens; returns `false` if the account is gone. Tokens that cannot be saved stay pending and are saved with the next
    /// call; until then no caller sees them.
    private func save(_ update: @escaping RecordUpdate, _ id: Account.ID) async throws -> Bool {
        history.setPendingUpdate(update, id)
        let deadline = ContinuousClock.now + Self.saveTimeout
        var delay = Duration.milliseconds(50)
        while true {
            do {
                let saved = try await repository.update(id, .tokens, update)
                history.setPendingUpdate(nil, id)
                return saved != nil
            } catch is RecordConflict {
                history.setPendingUpdate(nil, id)
                throw RecordConflict()
            } catch let error as StorageError where [.busy, .other].contains(error.kind) {
                guard ContinuousClock.now + delay < deadline else { throw error }
                // Not the sleep of the dependencies, which can end at the time limit of a caller.
                try await Task.sleep(for: delay)
                delay = min(delay * 2, .seconds(2))
            }
        }
    }

    /// Saves the tokens that could not be saved before. The caller holds the account's lock.
    private func savePendingUpdate(_ id: Account.ID) async throws {
        guard let update = history.pendingUpdate(id) else { return }
        do {
            _ = try await save(update, id)
        } catch is RecordConflict {
            // A sign-in saved newer tokens.
        }
    }

    private func notGranted(
        _ token: TokenKey, _ record: AccountRecord, _ provider: ProviderError? = nil
    ) throws -> AccountStoreError {
        let missing = ScopeCoverage(try type(record.type)).missing(token.scope ?? [], in: record.tokens.scope)
        return Self.notGranted(token, missing, provider)
    }

    private static func notGranted(
        _ token: TokenKey, _ missing: [String], _ provider: ProviderError?
    ) -> AccountStoreError {
        let what = missing.isEmpty ? token.resource.map { [$0] } ?? [] : missing
        return AccountStoreError(
            .signInNeeded(.scopeNotGranted), what: "no access token",
            reason: "not granted: \(what.joined(separator: " "))", remedy: .signInAgain, provider: provider)
    }

    /// Converts the error of a request for an additional token. The account remains signed in: only a refresh of the main token shows
    /// whether the refresh token is still valid.
    private func denial(of key: RefreshKey, _ record: AccountRecord, _ error: any Error) throws -> any Error {
        var provider: ProviderError?
        switch error {
        case OAuth2Error.provider(let error):
            let codes: [ErrorCode] = [.invalidScope, .invalidTarget, .accessDenied]
            // An Entra error number can mean that the error is transient, or that settings or the administrator decide.
            guard error.disposition != .later, error.signInReason != nil || codes.contains(error.code) else {
                return OAuth2Error.provider(error)
            }
            provider = error
        // An empty body: see `rejection`.
        case OAuth2Error.http(status: 400, _): break
        default: return error
        }
        if key.token.claims != nil || provider?.claims != nil {
            // With these claims the next sign-in gets what is missing now.
            if provider?.claims == nil { provider?.claims = key.token.claims }
            let reason: Account.SignInReason =
                provider?.code == .invalidGrant && key.token.claims == nil ? .grantGone : .interactionRequired
            return AccountStoreError.signInNeeded(reason, provider)
        }
        return remember(try notGranted(key.token, record, provider), key, record)
    }

    private func remember(_ error: AccountStoreError, _ key: RefreshKey, _ record: AccountRecord) -> AccountStoreError {
        history.remember(denial: error, of: key, signedIn: record.signedIn, now: dependencies.now())
        return error
    }
}
