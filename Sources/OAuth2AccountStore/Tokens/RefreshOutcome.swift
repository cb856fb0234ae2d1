import OAuth2Protocol
import LodgePlatform
import Synchronization

/// The outcome of a refresh, shared by all waiting callers.
enum RefreshOutcome: Sendable {
    /// Tokens that the provider has just issued. Another refresh would not return better ones.
    case refreshed(TokenSet)
    /// Tokens from the storage.
    case found(TokenSet)
    /// The previous tokens, which have not expired, because a transient error prevented the refresh.
    case kept(TokenSet, because: any Error)

    static let failure = "cannot get a fresh access token"
}

/// A refresh in progress, shared by all callers that need its token.
final class RefreshInFlight: Sendable {
    let outcome = Promise<RefreshOutcome>()
    private let response = Atomic<Bool>(false)

    /// Whether the provider has issued tokens. The store is saving them.
    var hasResponse: Bool { response.load(ordering: .acquiring) }

    func noteResponse() { response.store(true, ordering: .releasing) }
}

/// The requirements of a caller for a token.
struct FreshnessRequirement: Sendable {
    /// The minimum validity in seconds.
    var validity: Double?
    /// A token that a resource rejected.
    var rejected: Secret?
    /// Whether this is an early refresh, for which no caller waits.
    var isEarly = false

    /// Returns whether a token meets the requirements.
    ///
    /// - Parameter renewable: Whether the token can be refreshed. The default is whether it has a refresh token.
    func accepts(_ tokens: TokenSet, at now: Date, renewable: Bool? = nil) -> Bool {
        tokens.accessToken != rejected && tokens.isFresh(at: now, for: validity, renewable: renewable)
            && !(isEarly && tokens.isDueEarly(at: now))
    }

    /// Returns whether a token was requested with the claims of a request.
    ///
    /// A request with claims always gets a new token, unless it replaces a rejected token and another caller has done so
    /// already.
    func acceptsClaims(of tokens: TokenSet, for key: TokenKey) -> Bool {
        key.claims == nil || rejected != nil && tokens.claims == key.claims
    }

    /// Returns whether a token is acceptable although its refresh failed.
    func acceptsAfterFailure(_ tokens: TokenSet, at now: Date) -> Bool {
        tokens.accessToken != rejected && validity == nil && tokens.isFresh(at: now, for: 0)
    }
}

extension AccessToken {
    init(_ tokens: TokenSet) {
        self.init(
            secret: tokens.accessToken, expiry: tokens.expiry, scope: tokens.scope, type: tokens.type ?? "bearer",
            lifetime: tokens.lifetime.map(Double.init),
            refreshTime: tokens.refreshIn.map { tokens.received.addingTimeInterval(Double($0)) })
    }
}

extension AccountStoreError {
    /// Returns the error of a call whose time limit ended before the provider responded.
    static func noResponse(within limit: Duration) -> AccountStoreError {
        AccountStoreError(
            .network, what: RefreshOutcome.failure,
            reason: "no response from the provider within \(limit.wholeSeconds) s",
            remedy: .retryLater(after: nil))
    }
}
