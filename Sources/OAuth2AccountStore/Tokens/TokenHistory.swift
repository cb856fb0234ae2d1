import OAuth2Protocol
import LodgePlatform
import StrictJSON
import Synchronization

/// A change of a record that saves the tokens of a refresh.
///
/// - Throws: ``RecordConflict`` if the record no longer has the refresh token that was sent.
typealias RecordUpdate = @Sendable (inout AccountRecord) throws -> Void

/// The result of waiting for the refreshes in progress before the process ends.
package struct EndedRefreshes: Sendable {
    /// The number of refreshes that saved tokens.
    package var saved = 0
    /// The paths of the files with the tokens that could not be saved.
    package var rescueFiles: [String] = []
    /// Whether other machines use the storage, and may send the refresh tokens that the files replace.
    package var isStorageShared = false

    package init() {}

    package static func += (ended: inout EndedRefreshes, more: EndedRefreshes) {
        ended.saved += more.saved
        ended.rescueFiles += more.rescueFiles
        ended.isStorageShared = ended.isStorageShared || more.isStorageShared
    }
}

/// The key of a refresh: the account, the token and the policy.
struct RefreshKey: Hashable, Sendable {
    let account: Account.ID
    let token: TokenKey
    /// The policy of the tokens, if it is not the account's own.
    var policy: String?
}

/// The state of tokens that the store keeps in memory and never saves.
final class TokenHistory: Sendable {
    private struct Denial {
        let error: AccountStoreError
        let signedIn: Date?
        let until: Date
    }
    private struct State {
        var denials: [RefreshKey: Denial] = [:]
        var lastUses: [Account.ID: [TokenKey]] = [:]
        var earlyRefreshDelays: [Account.ID: Date] = [:]
        var pendingUpdates: [Account.ID: RecordUpdate] = [:]
        var exchanges: [Int: Task<TokenSet, any Error>] = [:]
        var exchangeCount = 0
        var confirmedLocks: [ObjectIdentifier: RefreshLock] = [:]
        var isEnding = false
        var rescueFiles: Set<String> = []
        var isStorageShared = false
    }
    private let state = Mutex(State())

    private static let maximumCount = 1_000
    /// The time before the store repeats a denied request, in seconds.
    private static let denialLifetime = 600.0
    /// The time before the store repeats a failed early refresh, in seconds.
    private static let earlyRefreshDelay = 300.0

    /// Returns the provider's recent error for a request, or `nil` if the user has signed in since then.
    func denial(of key: RefreshKey, signedIn: Date?, now: Date) -> AccountStoreError? {
        state.withLock { state in
            guard let denial = state.denials[key], denial.signedIn == signedIn, denial.until > now,
                denial.until.timeIntervalSince(now) <= Self.denialLifetime
            else { return nil }
            return denial.error
        }
    }

    func remember(denial error: AccountStoreError, of key: RefreshKey, signedIn: Date?, now: Date) {
        state.withLock { state in
            state.denials = state.denials.filter { $0.value.until > now }
            if state.denials.count >= Self.maximumCount { state.denials.removeAll() }
            state.denials[key] = Denial(error: error, signedIn: signedIn, until: now + Self.denialLifetime)
        }
    }

    func noteUse(of key: TokenKey, account id: Account.ID) {
        guard !key.isMain else { return }
        state.withLock { state in
            if state.lastUses[id]?.last == key { return }
            if state.lastUses.count >= Self.maximumCount, state.lastUses[id] == nil { state.lastUses.removeAll() }
            state.lastUses[id] =
                (state.lastUses[id] ?? []).filter { $0 != key }.suffix(AdditionalTokens.maximumCount) + [key]
        }
    }

    /// Adds a token to the additional tokens of an account. It replaces the token with the same key. Expired tokens are
    /// removed and, if there are too many, the least recently used one.
    func add(_ new: TokenSet, to tokens: inout AdditionalTokens?, account id: Account.ID, now: Date) {
        let order = state.withLock { $0.lastUses[id] ?? [] }
        let valid = (tokens?.all ?? []).filter { $0.key != new.key && $0.expiry.map { $0 > now } ?? true }
        // Tokens that this process has not used come first, in the order in which they were added.
        let sorted = valid.enumerated().sorted { one, other in
            let positions = [one, other].map { order.firstIndex(of: $0.element.key) ?? -1 }
            return positions[0] == positions[1] ? one.offset < other.offset : positions[0] < positions[1]
        }
        tokens = AdditionalTokens(all: sorted.map(\.element).suffix(AdditionalTokens.maximumCount - 1) + [new])
    }

    /// Returns whether an early refresh may be tried.
    func allowsEarlyRefresh(_ id: Account.ID, now: Date) -> Bool {
        state.withLock { state in
            guard let end = state.earlyRefreshDelays[id] else { return true }
            return end <= now || end.timeIntervalSince(now) > Self.earlyRefreshDelay
        }
    }

    func delayEarlyRefresh(_ id: Account.ID, now: Date) {
        state.withLock { state in
            if state.earlyRefreshDelays.count >= Self.maximumCount { state.earlyRefreshDelays.removeAll() }
            state.earlyRefreshDelays[id] = now + Self.earlyRefreshDelay
        }
    }

    /// Returns the update with tokens that the provider issued and the storage did not save. It must be saved before
    /// any other request.
    func pendingUpdate(_ id: Account.ID) -> RecordUpdate? { state.withLock { $0.pendingUpdates[id] } }

    func setPendingUpdate(_ update: RecordUpdate?, _ id: Account.ID) {
        state.withLock { $0.pendingUpdates[id] = update }
    }

    /// Runs an exchange: the request for new tokens, and their save. The cancellation of the caller's task does not
    /// cancel it, because the provider may have rotated the refresh token.
    ///
    /// - Throws: `CancellationError` if the task is already cancelled, or ``endExchanges()`` was called.
    func exchange(_ body: @escaping @Sendable () async throws -> TokenSet) async throws -> TokenSet {
        let (number, task) = try state.withLock { state in
            if state.isEnding || Task.isCancelled { throw CancellationError() }
            let task = Task { try await body() }
            state.exchangeCount += 1
            state.exchanges[state.exchangeCount] = task
            return (state.exchangeCount, task)
        }
        defer { state.withLock { $0.exchanges[number] = nil } }
        return try await task.value
    }

    /// Adds a lock that has a lease.
    func add(_ lock: RefreshLock) { state.withLock { $0.confirmedLocks[ObjectIdentifier(lock)] = lock } }

    /// Removes a lock that has ended.
    func remove(_ lock: RefreshLock) { state.withLock { $0.confirmedLocks[ObjectIdentifier(lock)] = nil } }

    /// Prevents new exchanges, waits for the exchanges in progress, and ends their locks.
    func endExchanges() async -> EndedRefreshes {
        let exchanges = state.withLock { state in
            state.isEnding = true
            return Array(state.exchanges.values)
        }
        var ended = EndedRefreshes()
        for exchange in exchanges where (try? await exchange.value) != nil { ended.saved += 1 }
        // The refreshes release their locks too, but the process can end before that.
        for lock in state.withLock({ Array($0.confirmedLocks.values) }) { await lock.end() }
        (ended.rescueFiles, ended.isStorageShared) = state.withLock { ($0.rescueFiles.sorted(), $0.isStorageShared) }
        return ended
    }

    /// Whether the process is about to end.
    var isEnding: Bool { state.withLock { $0.isEnding } }

    /// Records the path of a rescue file with tokens that could not be saved.
    func noteRescue(_ path: String, isStorageShared: Bool) {
        state.withLock { state in
            state.rescueFiles.insert(path)
            state.isStorageShared = isStorageShared
        }
    }

    var hasPendingUpdates: Bool { state.withLock { !$0.pendingUpdates.isEmpty } }
}
