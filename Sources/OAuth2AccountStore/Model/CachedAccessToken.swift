import Platform
import OAuth2Protocol

/// An access token that an account has beside its main one: for other scopes, or for another resource.
struct CachedAccessToken: Codable, Sendable, Equatable {
    /// How many of them an account has at most.
    static let maximumCount = 16

    /// Which token it is: what was asked for.
    struct Key: Codable, Sendable, Hashable {
        /// The scope tokens that count, sorted, in their common spelling.
        var scope: [String]
        /// The resource (RFC 8707).
        var resource: String?
    }

    var key: Key
    /// The scope as it was asked for.
    var asked: Scope
    /// The token. Neither refresh token nor ID token: those are the account's.
    var tokens: TokenSet
}

/// What a caller wants a token for.
struct SilentTokenParameters: Sendable, Hashable {
    /// The scope; nil: whatever was granted.
    var scope: Scope?
    /// The service (RFC 8707); nil: those of the settings.
    var resource: String?
    /// Claims that a resource demands: no kept token has them.
    var claims: String?

    /// The main token of an account.
    static let main = SilentTokenParameters()

    var isMain: Bool { scope == nil && resource == nil && claims == nil }
}

/// What a store keeps in memory about further tokens.
struct AccessTokenCache {
    /// One wish of one account.
    struct Wish: Hashable {
        let id: Account.ID
        let wish: SilentTokenParameters
    }
    private struct Refusal {
        let error: AccountStoreError
        let signedIn: Date?
        let until: Date
    }

    private static let maximumCount = 1_000
    /// How long a refused wish is not asked for again, in seconds.
    private static let refusalLifetime = 600.0
    /// How long a renewal ahead of time is not tried again after it failed, in seconds.
    private static let earlyPause = 300.0

    /// The refreshes under way for them.
    var flights: [Wish: Promise<AccountStore.RefreshOutcome>] = [:]
    private var refusals: [Wish: Refusal] = [:]
    private var uses: [Account.ID: [CachedAccessToken.Key]] = [:]
    private var pauses: [Account.ID: Date] = [:]

    /// What the provider said to this wish not long ago, when it said no and nobody signed in since.
    func refusal(of wish: Wish, signedIn: Date?, now: Date) -> AccountStoreError? {
        guard let refusal = refusals[wish], refusal.signedIn == signedIn, refusal.until > now,
            refusal.until.timeIntervalSince(now) <= Self.refusalLifetime
        else { return nil }
        return refusal.error
    }

    mutating func refused(_ wish: Wish, _ error: AccountStoreError, signedIn: Date?, now: Date) {
        refusals = refusals.filter { $0.value.until > now }
        if refusals.count >= Self.maximumCount { refusals.removeAll() }
        refusals[wish] = Refusal(error: error, signedIn: signedIn, until: now + Self.refusalLifetime)
    }

    /// Notes which token was used last.
    mutating func used(_ key: CachedAccessToken.Key, of id: Account.ID) {
        if uses[id]?.last == key { return }
        if uses.count >= Self.maximumCount, uses[id] == nil { uses.removeAll() }
        uses[id] = (uses[id] ?? []).filter { $0 != key }.suffix(CachedAccessToken.maximumCount) + [key]
    }

    /// The tokens to keep when a new one comes: neither its predecessor nor those that have expired, and of too many not
    /// the one that was not used for the longest time.
    func kept(_ tokens: [CachedAccessToken], of id: Account.ID, with new: CachedAccessToken, now: Date)
        -> [CachedAccessToken]
    {
        let order = uses[id] ?? []
        let alive = tokens.filter { $0.key != new.key && $0.tokens.expiry.map { $0 > now } ?? true }
        // Those without a use in this process are the oldest, in the order in which they came.
        let sorted = alive.enumerated().sorted { one, other in
            let places = [one, other].map { order.firstIndex(of: $0.element.key) ?? -1 }
            return places[0] == places[1] ? one.offset < other.offset : places[0] < places[1]
        }
        return sorted.map(\.element).suffix(CachedAccessToken.maximumCount - 1) + [new]
    }

    /// Whether a renewal ahead of time may be tried.
    func mayRenewEarly(_ id: Account.ID, now: Date) -> Bool {
        guard let pause = pauses[id] else { return true }
        return pause <= now || pause.timeIntervalSince(now) > Self.earlyPause
    }

    mutating func earlyRenewalFailed(_ id: Account.ID, now: Date) {
        if pauses.count >= Self.maximumCount { pauses.removeAll() }
        pauses[id] = now + Self.earlyPause
    }
}
