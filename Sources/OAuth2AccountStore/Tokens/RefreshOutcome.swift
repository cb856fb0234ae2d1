import OAuth2Protocol
import Platform
import Synchronization

/// The outcome of a refresh, shared by all waiting callers.
enum RefreshOutcome: Sendable {
    /// Tokens that the provider has just issued. Another refresh returns no better ones.
    case refreshed(TokenSet)
    /// Tokens that were in the storage.
    case found(TokenSet)
    /// No new tokens because of a transient error. These have not expired yet.
    case kept(TokenSet, because: any Error)

    static let failure = "cannot get a fresh access token"
}

/// A refresh in progress, shared by all callers that need its token.
final class RefreshInFlight: Sendable {
    let outcome = Promise<RefreshOutcome>()
    private let response = Atomic<Bool>(false)

    /// Whether the provider issued tokens, which are being saved.
    var hasResponse: Bool { response.load(ordering: .acquiring) }

    func noteResponse() { response.store(true, ordering: .releasing) }
}

/// What a caller requires of a token.
struct FreshnessRequirement: Sendable {
    /// The minimum validity in seconds.
    var validity: Double?
    /// A token that a resource rejected.
    var rejected: Secret?
    /// Whether this is an early refresh, which no caller waits for.
    var isEarly = false

    /// - Parameter renewable: whether the token can be refreshed; `nil`: if it has a refresh token.
    func accepts(_ tokens: TokenSet, at now: Date, renewable: Bool? = nil) -> Bool {
        tokens.accessToken != rejected && tokens.isFresh(at: now, for: validity, renewable: renewable)
            && !(isEarly && tokens.isDueEarly(at: now))
    }

    /// Returns whether a token is acceptable although its refresh failed.
    func acceptsAfterFailure(_ tokens: TokenSet, at now: Date) -> Bool {
        tokens.accessToken != rejected && validity == nil && tokens.isFresh(at: now, for: 0)
    }
}

extension AccessToken {
    init(_ tokens: TokenSet) {
        self.init(
            secret: tokens.accessToken, expiry: tokens.expiry, scope: tokens.scope, type: tokens.type ?? "bearer")
    }
}

extension AccountStoreError {
    /// Returns the error of a call whose time limit is over before the provider responded.
    static func noResponse(within limit: Duration) -> AccountStoreError {
        AccountStoreError(
            .network, what: RefreshOutcome.failure,
            reason: "no response from the provider within \(Int((limit / .seconds(1)).rounded(.up))) s",
            remedy: .retryLater(after: nil))
    }
}
