import OAuth2Protocol
import Platform
import StrictJSON
import Synchronization

/// New tokens that are not saved yet.
struct TokenUpdate: Sendable {
    /// The tokens of the account after the update.
    var tokens: TokenSet
    /// The refresh token that was sent. The update applies only to a record that still has it.
    let sent: Secret?
    /// The access token for another scope or resource that came with them.
    var additional: CachedAccessToken?
    /// The claims of a new ID token.
    var claims: JSONObject?
    /// The access token that the caller requested.
    var requested: TokenSet
    /// The requested scope tokens that the access token does not cover.
    var unmet: [String] = []
}

/// What the store remembers about tokens while it is open, and never saves.
final class TokenHistory: Sendable {
    private struct Denial {
        let error: AccountStoreError
        let signedIn: Date?
        let until: Date
    }
    private struct State {
        var denials: [TokenKey: Denial] = [:]
        var lastUses: [Account.ID: [CachedAccessToken.Key]] = [:]
        var earlyRefreshDelays: [Account.ID: Date] = [:]
        var pendingUpdates: [Account.ID: TokenUpdate] = [:]
    }
    private let state = Mutex(State())

    private static let maximumCount = 1_000
    /// The time before a denied request is sent again, in seconds.
    private static let denialLifetime = 600.0
    /// The time before an early refresh is tried again after it failed, in seconds.
    private static let earlyRefreshDelay = 300.0

    /// Returns the provider's recent denial of a request, unless the user signed in since.
    func denial(of key: TokenKey, signedIn: Date?, now: Date) -> AccountStoreError? {
        state.withLock { state in
            guard let denial = state.denials[key], denial.signedIn == signedIn, denial.until > now,
                denial.until.timeIntervalSince(now) <= Self.denialLifetime
            else { return nil }
            return denial.error
        }
    }

    func remember(denial error: AccountStoreError, of key: TokenKey, signedIn: Date?, now: Date) {
        state.withLock { state in
            state.denials = state.denials.filter { $0.value.until > now }
            if state.denials.count >= Self.maximumCount { state.denials.removeAll() }
            state.denials[key] = Denial(error: error, signedIn: signedIn, until: now + Self.denialLifetime)
        }
    }

    func noteUse(of key: CachedAccessToken.Key, account id: Account.ID) {
        state.withLock { state in
            if state.lastUses[id]?.last == key { return }
            if state.lastUses.count >= Self.maximumCount, state.lastUses[id] == nil { state.lastUses.removeAll() }
            state.lastUses[id] =
                (state.lastUses[id] ?? []).filter { $0 != key }.suffix(CachedAccessToken.maximumCount) + [key]
        }
    }

    /// Returns the additional tokens of an account with a new one: without its predecessor, without expired tokens, and, if there are
    /// too many, without the least recently used one.
    func adding(_ new: CachedAccessToken, to tokens: [CachedAccessToken], account id: Account.ID, now: Date)
        -> [CachedAccessToken]
    {
        let order = state.withLock { $0.lastUses[id] ?? [] }
        let valid = tokens.filter { $0.key != new.key && $0.tokens.expiry.map { $0 > now } ?? true }
        // Tokens without a use in this process are the oldest, in the order in which they came.
        let sorted = valid.enumerated().sorted { one, other in
            let positions = [one, other].map { order.firstIndex(of: $0.element.key) ?? -1 }
            return positions[0] == positions[1] ? one.offset < other.offset : positions[0] < positions[1]
        }
        return sorted.map(\.element).suffix(CachedAccessToken.maximumCount - 1) + [new]
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

    /// Tokens that the provider issued and the storage did not save. They are saved before anything else is tried.
    func pendingUpdate(_ id: Account.ID) -> TokenUpdate? { state.withLock { $0.pendingUpdates[id] } }

    func setPendingUpdate(_ update: TokenUpdate?, _ id: Account.ID) {
        state.withLock { $0.pendingUpdates[id] = update }
    }

    var hasPendingUpdates: Bool { state.withLock { !$0.pendingUpdates.isEmpty } }
}
