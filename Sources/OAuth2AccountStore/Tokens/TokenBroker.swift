import OAuth2Protocol
import LodgePlatform
import StrictJSON

/// Returns access tokens, and decides when to refresh them. All callers that need the same token share one refresh.
actor TokenBroker: StoreCollaborator {
    nonisolated let context: StoreContext
    private nonisolated let refresher: TokenRefresher
    private nonisolated let publisher: ChangePublisher
    private nonisolated let semaphore: AsyncSemaphore
    private nonisolated var history: TokenHistory { refresher.history }
    /// The refreshes in progress, each shared by all callers that need its token.
    private(set) var refreshesInFlight: [RefreshKey: RefreshInFlight] = [:]
    /// The time without a response after which a caller gets a token with a shorter remaining lifetime than it
    /// requires.
    private static let patience = Duration.seconds(10)

    init(refresher: TokenRefresher, publisher: ChangePublisher, maximumRefreshes: Int) {
        context = refresher.context
        self.refresher = refresher
        self.publisher = publisher
        semaphore = AsyncSemaphore(limit: maximumRefreshes)
    }

    /// Returns a valid access token, refreshing it if necessary.
    ///
    /// The main token of an account comes from the cache on the caller's executor: a server has many requests and few refreshes, and
    /// they should neither wait for the broker nor for each other.
    nonisolated(nonsending) func accessToken(
        for id: Account.ID, _ requested: TokenKey = .main, policy: String? = nil,
        _ requirement: FreshnessRequirement = .init()
    ) async throws -> AccessToken {
        if requested.isMain, policy == nil, let token = freshToken(for: id, requirement) { return token }
        return try await refreshedIfNecessary(for: id, requested, policy: policy, requirement)
    }

    /// Returns the main token of an account if the cache has a valid one and no refresh should start.
    private nonisolated func freshToken(for id: Account.ID, _ requirement: FreshnessRequirement) -> AccessToken? {
        guard let cached = context.repository.reader.cache[id], cached.record.signInNeeded == nil else { return nil }
        let tokens = cached.record.tokens
        let now = context.now(forAgeOf: tokens, account: id)
        guard requirement.accepts(tokens, at: now), !tokens.isDueEarly(at: now) else { return nil }
        return AccessToken(tokens)
    }

    private func refreshedIfNecessary(
        for id: Account.ID, _ requested: TokenKey, policy: String?, _ requirement: FreshnessRequirement
    ) async throws -> AccessToken {
        if let claims = requested.claims, (try? JSONValue(parsing: claims))?.object == nil {
            throw AccountStoreError(
                .settings, what: RefreshOutcome.failure, reason: "the claims are not a JSON object",
                remedy: .changeSettings,
                hint: "decode them from base64url, and pass them unchanged, such as {\"access_token\": {…}}")
        }
        let start = dependencies.uptimeSeconds
        while true {
            var token = requested
            var policy = policy
            if policy != nil || !requested.isMain {
                let saved = try await record(id)
                if policy == saved.policy { policy = nil }
                // If the settings do not have the policy, throw that error instead of `signInNeeded`.
                if let policy { _ = try context.type(saved.type, policy: policy) }
                let record = try saved.selected(policy)
                let coverage = ScopeCoverage(try type(record.type))
                token = coverage.plain(requested)
                if token.claims == nil, !token.isMain, coverage.isForMain(token, of: record) {
                    let main = try await refreshedIfNecessary(for: id, .main, policy: policy, requirement)
                    // A refreshed token can cover less.
                    if coverage.missing(token.scope ?? [], in: main.scope).isEmpty { return main }
                }
            }
            let key = RefreshKey(account: id, token: token, policy: policy)
            // No `await` between here and the change of the dictionary, so that only one caller starts the refresh.
            if let token = try cachedToken(key, requirement) { return token }
            let refresh = refreshesInFlight[key] ?? startRefresh(key, requirement)
            if let tokens = try accepted(try await outcome(of: refresh, key, requirement, start), requirement, id) {
                history.noteUse(of: tokens.key, account: id)
                return AccessToken(tokens)
            }
        }
    }

    /// Returns a new access token in place of the saved one, even if the saved one has not expired.
    func refreshedToken(
        for id: Account.ID, _ requested: TokenKey = .main, policy: String? = nil
    ) async throws -> AccessToken {
        let read = try await AccountStoreError.wrappingErrors(RefreshOutcome.failure) { try await repository.read(id) }
        guard let saved = read?.record else { throw AccountStoreError.unknownAccount(id) }
        let type = try context.type(saved.type, policy: policy)
        let record = try saved.selected(policy)
        // No resource rejected the token, so it remains in use if it cannot be replaced.
        guard record.canRefresh else {
            throw AccountStoreError(
                .signInNeeded(.noRefreshToken), what: "no other token",
                reason: "there is no refresh token; the saved access token is unchanged", remedy: .signInAgain)
        }
        let tokens = ScopeCoverage(type).tokens(for: requested, in: record)
        return try await accessToken(
            for: id, requested, policy: policy, FreshnessRequirement(rejected: tokens?.accessToken))
    }

    /// Waits for the outcome of a refresh, even if another process performs it.
    ///
    /// If the provider does not respond within ten seconds, a caller gets the current token if it is still valid, and
    /// otherwise an error after its time limit. If the response has arrived, the caller waits until it is saved.
    private func outcome(
        of refresh: RefreshInFlight, _ key: RefreshKey, _ requirement: FreshnessRequirement, _ start: Double
    ) async throws -> RefreshOutcome {
        let limit = dependencies.refreshTimeout
        func rest(of limit: Duration) -> Duration { limit - .seconds(max(0, dependencies.uptimeSeconds - start)) }
        if let outcome = try await refresh.outcome.value(
            within: rest(of: min(Self.patience, limit)), sleep: dependencies.timer)
        {
            return outcome
        }
        if key.token.claims == nil, let record = cachedRecord(key), record.signInNeeded == nil,
            let tokens = ScopeCoverage(try type(record.type)).tokens(for: key.token, in: record),
            requirement.acceptsAfterFailure(tokens, at: now(forAgeOf: tokens, account: key.account))
        {
            return .kept(tokens, because: AccountStoreError.noResponse(within: Self.patience))
        }
        if let outcome = try await refresh.outcome.value(within: rest(of: limit), sleep: dependencies.timer) {
            return outcome
        }
        guard refresh.hasResponse else { throw AccountStoreError.noResponse(within: limit) }
        return try await refresh.outcome.value()
    }

    /// Removes an access token that a resource rejected with a claims challenge, and saves the claims for the next
    /// sign-in.
    nonisolated func discard(_ rejected: Secret, of id: Account.ID, claims: String?) async throws {
        try await refresher.discard(rejected, of: id, claims: claims)
    }

    /// Waits until no refresh is in progress.
    func finishPendingRefreshes() async {
        while let refresh = refreshesInFlight.values.first { _ = try? await refresh.outcome.value() }
    }

    /// Prevents new refreshes, and waits until the tokens of sent requests are saved.
    nonisolated func endRefreshes() async -> EndedRefreshes { await history.endExchanges() }

    private func record(_ id: Account.ID) async throws -> AccountRecord {
        if let cached = repository.cache[id] { return cached.record }
        let read = try await AccountStoreError.wrappingErrors(RefreshOutcome.failure) { try await repository.read(id) }
        guard let read else { throw AccountStoreError.unknownAccount(id) }
        return read.record
    }

    /// Returns the cached record with the policy of a key selected.
    private func cachedRecord(_ key: RefreshKey) -> AccountRecord? {
        try? repository.cache[key.account]?.record.selected(key.policy)
    }

    /// Returns the token for a key if the cache has a valid one, otherwise `nil`. Throws the provider's error if it
    /// denied the request recently.
    private func cachedToken(_ key: RefreshKey, _ requirement: FreshnessRequirement) throws -> AccessToken? {
        let id = key.account
        guard let record = cachedRecord(key) else { return nil }
        let cached =
            key.token.isMain
            ? record.tokens : ScopeCoverage(try type(record.type)).tokens(for: key.token, in: record)
        if record.signInNeeded == nil, let cached, requirement.acceptsClaims(of: cached, for: key.token),
            requirement.accepts(
                cached, at: now(forAgeOf: cached, account: id), renewable: cached.key.isMain ? nil : record.canRefresh)
        {
            if key.token.isMain { startEarlyRefresh(key, record) }
            history.noteUse(of: cached.key, account: id)
            return AccessToken(cached)
        }
        guard key.token.claims == nil else { return nil }
        if let denial = history.denial(of: key, signedIn: record.signedIn, now: dependencies.now()) { throw denial }
        return nil
    }

    /// Returns the tokens of a refresh if they meet the requirement, or `nil` if another refresh is necessary.
    private func accepted(
        _ outcome: RefreshOutcome, _ requirement: FreshnessRequirement, _ id: Account.ID
    ) throws -> TokenSet? {
        switch outcome {
        case .refreshed(let tokens): return tokens
        case .found(let tokens):
            return requirement.accepts(tokens, at: now(forAgeOf: tokens, account: id)) ? tokens : nil
        case .kept(let tokens, let error):
            guard requirement.acceptsAfterFailure(tokens, at: now(forAgeOf: tokens, account: id)) else { throw error }
            return tokens
        }
    }

    private func startRefresh(_ key: RefreshKey, _ requirement: FreshnessRequirement) -> RefreshInFlight {
        let refresh = RefreshInFlight()
        refreshesInFlight[key] = refresh
        // Unstructured, so that the cancellation of the caller that started the refresh does not cancel it for the
        // others.
        Task {
            await semaphore.enter()
            defer { semaphore.leave() }
            let result: Result<RefreshOutcome, any Error>
            do {
                let outcome = try await refresher.refresh(key, requirement) { refresh.noteResponse() }
                if case .kept(let tokens, let error) = outcome {
                    didFail(key.account, requirement)
                    if !requirement.acceptsAfterFailure(tokens, at: now(forAgeOf: tokens, account: key.account)) {
                        publishFailure(key.account, error)
                    }
                }
                result = .success(outcome)
            } catch {
                let failure = AccountStoreError.wrapping(error, what: RefreshOutcome.failure)
                didFail(key.account, requirement)
                if key.token.isMain, key.policy == nil, !requirement.isEarly { publishFailure(key.account, failure) }
                result = .failure(failure)
            }
            refreshesInFlight[key] = nil
            refresh.outcome.finish(result)
        }
        return refresh
    }

    private func didFail(_ id: Account.ID, _ requirement: FreshnessRequirement) {
        if requirement.isEarly { history.delayEarlyRefresh(id, now: dependencies.now()) }
    }

    private func publishFailure(_ id: Account.ID, _ error: any Error) {
        guard let cached = repository.cache[id] else { return }
        publisher.publish(.accessTokenFailed(cached.account, error))
    }

    /// Starts an early refresh if it is due, and does not wait for it.
    private func startEarlyRefresh(_ key: RefreshKey, _ record: AccountRecord) {
        guard record.tokens.refreshIn != nil else { return }
        let now = dependencies.now()
        guard record.tokens.isDueEarly(at: now), record.canRefresh, refreshesInFlight[key] == nil,
            history.allowsEarlyRefresh(key.account, now: now)
        else { return }
        _ = startRefresh(key, FreshnessRequirement(isEarly: true))
    }
}
