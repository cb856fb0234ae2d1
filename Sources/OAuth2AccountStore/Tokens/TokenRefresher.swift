import JOSE
import OAuth2Protocol
import LodgePlatform
import ProviderSettings
import SealedStorage

/// Refreshes the tokens of one account, from the lock to the save.
struct TokenRefresher: StoreCollaborator {
    let context: StoreContext
    let history: TokenHistory
    let revoker: TokenRevoker
    var journal: RefreshJournal { RefreshJournal(storage: storage, seal: seal) }
    private var failures: ProviderFailures { ProviderFailures(context) }
    var rescue: TokenRescue { TokenRescue(context: context, history: history) }

    private enum CacheLookup {
        case hit(TokenSet)
        /// The account, and its unacceptable token for the key, if any.
        case needsRefresh(AccountRecord, TokenSet?)
    }

    /// The maximum number of attempts if another process changes the tokens.
    private static let maximumAttempts = 3

    /// Returns acceptable tokens from the storage, or requests new ones.
    ///
    /// - Parameter noteResponse: Called when the provider has issued tokens, before they are saved.
    func refresh(
        _ key: RefreshKey, _ requirement: FreshnessRequirement, noteResponse: @escaping @Sendable () -> Void = {}
    ) async throws -> RefreshOutcome {
        let id = key.account
        // While an update is pending, the storage is out of date.
        if history.pendingUpdate(id) == nil {
            switch try await cacheLookup(key, requirement) {
            case .hit(let tokens): return .found(tokens)
            case .needsRefresh(_, let cached):
                do { try await failures.check(id) } catch { return try kept(cached, error, requirement, id) }
            }
        }
        do {
            return try await dependencies.expiringActivity.run("Refreshing a token") {
                try await lockedRefresh(key, requirement, noteResponse)
            }
        } catch is ExpiringActivity.Expired {
            // No request was sent, and the lock is released.
            throw AccountStoreError(
                .unavailable, what: RefreshOutcome.failure, reason: "the system is about to suspend this app",
                remedy: .retryLater(after: nil))
        }
    }

    /// Locks the account, and returns acceptable tokens from the storage or requests new ones.
    private func lockedRefresh(
        _ key: RefreshKey, _ requirement: FreshnessRequirement, _ noteResponse: @escaping @Sendable () -> Void
    ) async throws -> RefreshOutcome {
        // One lock for all tokens of the account, because one refresh token requests them all.
        let lock = RefreshLock(try await lock(key.account), history)
        do {
            let outcome = try await outcome(key, requirement, lock, noteResponse)
            await lock.end()
            return outcome
        } catch {
            await lock.end()
            throw error
        }
    }

    /// Returns the tokens, while this process has the lock of the account.
    private func outcome(
        _ key: RefreshKey, _ requirement: FreshnessRequirement, _ lock: any StorageLock,
        _ noteResponse: @escaping @Sendable () -> Void
    ) async throws -> RefreshOutcome {
        let id = key.account
        try await rescue.savePendingUpdate(id)
        try await rescue.importTokens(of: id)
        for _ in 0..<Self.maximumAttempts {
            // Another process can have refreshed the token while this one waited for the lock.
            switch try await cacheLookup(key, requirement) {
            case .hit(let tokens): return .found(tokens)
            case .needsRefresh(let record, let cached):
                do {
                    try await failures.check(id)
                    return .refreshed(try await refresh(record, key, requirement, lock, noteResponse))
                } catch is RecordConflict {
                    continue
                } catch {
                    return try kept(cached, error, requirement, id)
                }
            }
        }
        throw AccountStoreError(
            .unavailable, what: RefreshOutcome.failure, reason: "another program changes the tokens all the time",
            remedy: .retryLater(after: nil))
    }

    /// Locks the account. While another process requests new tokens, it holds this lock.
    private func lock(_ id: Account.ID) async throws -> any StorageLock {
        // Reports the wait after a second of real time, even if the store has a test clock.
        let notice = dependencies.report.map { report in
            Task {
                try await Task.sleep(for: .seconds(1))
                await report(.waitsForOtherProcess(id))
            }
        }
        defer { notice?.cancel() }
        do {
            return try await storage.lock("account:\(id)", timeout: dependencies.refreshTimeout)
        } catch let error as StorageError where error.isLockTimeout && error.lockHolder?.isStopped != true {
            throw AccountStoreError.noResponse(within: dependencies.refreshTimeout)
        }
    }

    /// Returns the cached token after a transient error.
    ///
    /// - Throws: The error if it is not transient, or if the token has expired.
    private func kept(
        _ cached: TokenSet?, _ error: any Error, _ requirement: FreshnessRequirement, _ id: Account.ID
    ) throws -> RefreshOutcome {
        // A failed early refresh is not a failure: the current token is still valid.
        let failure = AccountStoreError.wrapping(error, what: RefreshOutcome.failure)
        guard Self.isTransient(failure) || requirement.isEarly, let cached,
            cached.isFresh(at: now(forAgeOf: cached, account: id), for: 0)
        else { throw failure }
        return .kept(cached, because: failure)
    }

    private static func isTransient(_ error: AccountStoreError) -> Bool {
        if case .retryLater = error.remedy { return true }
        return false
    }

    /// Reads the record, and checks whether its token is acceptable or can be refreshed.
    private func cacheLookup(_ key: RefreshKey, _ requirement: FreshnessRequirement) async throws -> CacheLookup {
        let id = key.account
        guard let read = try await repository.read(id)?.record else { throw AccountStoreError.unknownAccount(id) }
        let record = try read.selected(key.policy)
        let type = try type(record.type)
        if let reason = record.signInNeeded { throw Self.signInNeeded(reason, type) }
        let coverage = ScopeCoverage(type)
        let cached = key.token.isMain ? record.tokens : coverage.tokens(for: key.token, in: record)
        if let cached, requirement.acceptsClaims(of: cached, for: key.token),
            requirement.accepts(
                cached, at: now(forAgeOf: cached, account: id), renewable: key.token.isMain ? nil : record.canRefresh)
        {
            return .hit(cached)
        }
        guard record.canRefresh else {
            guard cached != nil else { throw try notGranted(key.token, record) }
            if key.token.isMain, let rejected = requirement.rejected, record.tokens.accessToken == rejected,
                try await !discardRejectedToken(key, rejected)
            {
                return try await cacheLookup(key, requirement)
            }
            throw Self.signInNeeded(.noRefreshToken, type)
        }
        return .needsRefresh(record, key.token.claims == nil ? cached : nil)
    }

    /// Returns the kind of change to publish if the provider rejects the tokens. If they belong to another policy, the
    /// account needs no sign-in.
    private static func lossKind(_ key: RefreshKey) -> StorageChange.Kind {
        key.policy == nil ? .signInNeeded : .tokens
    }

    private static func signInNeeded(_ reason: Account.SignInReason, _ type: AccountType) -> AccountStoreError {
        var error = AccountStoreError.signInNeeded(reason, nil)
        error.hint =
            type.provider == .staticToken
            ? "\(AccountRemedy.supplyToken(type: type.name))" : "\(AccountRemedy.signIn(type: type.name))"
        return error
    }

    /// Marks an account as in need of a sign-in, because a resource rejected its token and the token cannot be
    /// refreshed. Otherwise the next caller would get the rejected token. Returns `false` if the account has other
    /// tokens by now.
    private func discardRejectedToken(_ key: RefreshKey, _ rejected: Secret) async throws -> Bool {
        do {
            _ = try await repository.update(key.account, Self.lossKind(key)) {
                try $0.update(policy: key.policy) {
                    guard $0.tokens.accessToken == rejected, !$0.canRefresh, $0.signInNeeded == nil else {
                        throw RecordConflict()
                    }
                    $0.signInNeeded = .noRefreshToken
                }
            }
        } catch is RecordConflict {
            return false
        } catch let error as StorageError where error.kind == .readOnly {
            // The mark is not essential: the resource rejects the token of the next caller too.
        }
        return true
    }

    /// Removes an access token that a resource rejected with a claims challenge, so that no caller gets it again, and saves
    /// the claims for the next sign-in. The account remains signed in if it has a refresh token.
    func discard(_ rejected: Secret, of id: Account.ID, policy: String? = nil, claims: String?) async throws {
        let isLast = policy == nil && repository.cache[id]?.record.canRefresh == false
        do {
            _ = try await repository.update(id, isLast ? .signInNeeded : .tokens) {
                try $0.update(policy: policy) {
                    let isMain = $0.tokens.accessToken == rejected
                    $0.removeToken(rejected)
                    // A client has no user who could sign in.
                    guard $0.serviceGrant == nil else { return }
                    if let claims { $0.requiredClaims = claims }
                    if isMain, !$0.canRefresh, $0.signInNeeded == nil { $0.signInNeeded = .noRefreshToken }
                }
            }
        } catch is RecordConflict {
            // The account has no tokens of this policy any more.
        } catch let error as StorageError where error.kind == .readOnly {
            // The resource rejects the token of the next caller too.
        }
    }

    /// Requests new tokens, saves them, and returns the tokens for the key. The cancellation of the task has no effect
    /// after the request is sent.
    ///
    /// - Parameter lock: The account's lock, which the caller holds.
    private func refresh(
        _ record: AccountRecord, _ key: RefreshKey, _ requirement: FreshnessRequirement, _ lock: any StorageLock,
        _ noteResponse: @escaping @Sendable () -> Void
    ) async throws -> TokenSet {
        let type = try type(of: record)
        let client = try await failures.saving(record.id, of: .metadata) { try await self.client(of: type) }
        try RefreshTokenBinding.check(record, type, client.server)
        let request = try await RefreshRequest(record, key.token, client, providers)
        return try await history.exchange { try await exchange(request, record, key, requirement, lock, noteResponse) }
    }

    private func exchange(
        _ request: RefreshRequest, _ record: AccountRecord, _ key: RefreshKey, _ requirement: FreshnessRequirement,
        _ lock: any StorageLock, _ noteResponse: @Sendable () -> Void
    ) async throws -> TokenSet {
        let revision = repository.cache[record.id]?.revision ?? 0
        let client = request.client
        // If the provider rotates the token, its response must be saved. Check that the storage is writable before
        // sending the request.
        let entry = try await journal.write(record, policy: key.policy)
        // If this process has lost the lock, another one may send the same refresh token.
        try await lock.confirm()
        let token: TokenSet
        do {
            // This is part of the exchange, so that a process that is about to end waits for it: the next process must
            // find the error.
            token = try await failures.saving(record.id, of: .tokens) {
                try await journal.send(entry) { try await request.send() }
            }
        } catch {
            guard key.token.isMain else { throw try await denial(of: key, record, requirement.rejected, error, entry) }
            throw try await rejection(record, key, error, entry, isEarly: requirement.isEarly)
        }
        let unmet = token.key.isMain ? [] : ScopeCoverage(client.type).unmet(key.token, by: token.scope)
        noteResponse()
        let update = TokenUpdate(
            token, from: client.server.tokenEndpoint?.origin, of: record, isStored: unmet.isEmpty, policy: key.policy)
        var refreshed = record
        try update.apply(to: &refreshed, history, now: dependencies.now())
        guard try await save(update, record, revision) else {
            // The account was removed, so no caller can use these tokens.
            _ = await revoker.revoke(refreshed.tokens, client)
            throw AccountStoreError(
                .accountRemoved, what: "no access token", reason: "the account no longer exists",
                remedy: .nothing)
        }
        // The main tokens can be unchanged, and would match the entry: after a request for an additional token, and at
        // providers that return the same token while it is valid.
        if let entry, refreshed.tokens.accessToken == record.tokens.accessToken,
            refreshed.tokens.refreshToken == record.tokens.refreshToken
        {
            try? await journal.remove(entry.name)
        }
        await failures.remove(record.id)
        await dependencies.report?(.refreshedTokens(record.id))
        guard unmet.isEmpty else { throw remember(Self.notGranted(key.token, unmet, nil), key, record) }
        return token
    }

    /// Returns the error to throw for an error of a refresh of the main token.
    private func rejection(
        _ record: AccountRecord, _ key: RefreshKey, _ error: any Error, _ entry: RefreshJournal.Entry?, isEarly: Bool
    ) async throws -> any Error {
        guard let sent = record.tokens.refreshToken else { return error }
        switch error {
        case OAuth2Error.provider(let error) where error.signInReason != nil:
            // The current token remains valid until it expires, so a failed early refresh does not require a sign-in.
            if isEarly { return AccountStoreError.signInNeeded(error.signInReason ?? .grantGone, error) }
            return try await markSignInNeeded(key, sent, error, entry, claims: error.claims)
        case OAuth2Error.http(status: 400, _):
            // glewlwyd responds like this, with an empty body, to an expired refresh token. It is not saved, so the
            // next call sends another request.
            return AccountStoreError(
                .signInNeeded(.grantGone), what: "sign-in needed",
                reason:
                    "the provider rejected the refresh with HTTP status 400 and no reason; the saved tokens are unchanged",
                remedy: .signInAgain)
        default: return error
        }
    }

    /// Marks the account as in need of a sign-in after `invalid_grant` and similar errors, unless the saved refresh
    /// token has changed since the request.
    ///
    /// - Parameter claims: The claims that the next sign-in must request.
    private func markSignInNeeded(
        _ key: RefreshKey, _ sent: Secret, _ error: ProviderError, _ entry: RefreshJournal.Entry?, claims: String?
    ) async throws -> any Error {
        let rejection = error.signInReason ?? .grantGone
        let reason = entry.map { $0.reason(rejection) } ?? rejection
        let marked = try await repository.update(key.account, Self.lossKind(key)) {
            try $0.update(policy: key.policy) {
                guard $0.tokens.refreshToken == sent else { throw RecordConflict() }
                $0.signInNeeded = reason
                if let claims { $0.requiredClaims = claims }
            }
        }
        return marked == nil
            ? AccountStoreError.unknownAccount(key.account) : AccountStoreError.signInNeeded(reason, error)
    }

    /// The time limit for repeating a save while another process uses the storage, or the disk is full or reports an
    /// error.
    private static let saveTimeout = Duration.seconds(60)

    /// Saves new tokens. Returns `false` if the account no longer exists.
    ///
    /// After the first error, a rescue file has the tokens too, if the storage supports rescue files, so that the
    /// process can end at any time. Otherwise they remain pending in memory until the next call saves them, and no
    /// caller gets them before.
    private func save(_ update: TokenUpdate, _ record: AccountRecord, _ revision: Int64) async throws -> Bool {
        let id = record.id
        let change: RecordUpdate = { [history, dependencies] in
            try update.apply(to: &$0, history, now: dependencies.now())
        }
        // A sign-in can replace the tokens before the next attempt, so a later save must check for that.
        history.setPendingUpdate(rescue.change(update), id)
        let start = dependencies.uptimeSeconds
        var waited = Duration.zero
        var backoff = Backoff(.milliseconds(50) ... .seconds(2))
        var rescueFile: String?
        while true {
            do {
                let saved = try await repository.update(id, .tokens, change)
                history.setPendingUpdate(nil, id)
                if rescueFile != nil { await rescue.remove(id) }
                return saved != nil
            } catch is RecordConflict {
                history.setPendingUpdate(nil, id)
                if rescueFile != nil { await rescue.remove(id) }
                throw RecordConflict()
            } catch let error as StorageError {
                if rescueFile == nil { rescueFile = await rescue.save(update, record, revision) }
                let delay = backoff.next()
                let elapsed = max(waited, .seconds(dependencies.uptimeSeconds - start))
                guard [.busy, .full, .other].contains(error.kind), elapsed + delay < Self.saveTimeout,
                    rescueFile == nil || !history.isEnding
                else {
                    guard let rescueFile else { throw error }
                    history.setPendingUpdate(nil, id)
                    history.noteRescue(rescueFile, isStorageShared: storage.isSharedByMachines)
                    throw rescue.error(error, rescueFile)
                }
                try await dependencies.timer(delay)
                waited += delay
            }
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

    /// Returns the error to throw for an error of a request for an additional token. The account remains signed in,
    /// because only a refresh of the main token shows whether the refresh token is still valid.
    ///
    /// - Parameter rejected: The token that a resource rejected.
    private func denial(
        of key: RefreshKey, _ record: AccountRecord, _ rejected: Secret?, _ error: any Error,
        _ entry: RefreshJournal.Entry?
    ) async throws -> any Error {
        var provider: ProviderError?
        switch error {
        case OAuth2Error.provider(let error):
            let codes: [ErrorCode] = [.invalidScope, .invalidTarget, .accessDenied]
            // Some error codes of Entra mean that the error is transient, or that the settings or an administrator must
            // change.
            guard error.disposition != .later, error.signInReason != nil || codes.contains(error.code) else {
                return OAuth2Error.provider(error)
            }
            provider = error
        // A response with an empty body, as in `rejection`.
        case OAuth2Error.http(status: 400, _): break
        default: return error
        }
        if key.token.claims != nil || provider?.claims != nil {
            // The next sign-in requests these claims, and so gets the missing ones.
            if provider?.claims == nil { provider?.claims = key.token.claims }
            let claims = provider?.claims ?? key.token.claims
            // The provider ended the session: the refresh of the main token would fail in the same way.
            if key.token.scope == nil, key.token.resource == nil, let provider, provider.signInReason == .grantGone,
                let sent = record.tokens.refreshToken
            {
                return try await markSignInNeeded(key, sent, provider, entry, claims: claims)
            }
            if let rejected { try await discard(rejected, of: key.account, policy: key.policy, claims: claims) }
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
