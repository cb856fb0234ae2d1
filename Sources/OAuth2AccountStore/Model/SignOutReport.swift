import Platform
import OAuth2Protocol

/// What a sign-out did, part by part.
public struct SignOutReport: Sendable {
    /// How one part went.
    public enum Part: Sendable, Equatable {
        /// It is done.
        case succeeded
        /// The provider does not offer it.
        case notOffered
        /// It was not asked for.
        case skipped
        /// It did not work; the token must be assumed to live on.
        case failed(String)
    }

    /// The account that was removed here. That part always happens: otherwise the call throws.
    public let account: Account
    /// Whether the provider forgot the tokens (RFC 7009).
    public let revocation: Part
    /// Whether the browser was asked to end its session at the provider (RP-Initiated Logout 1.0). Done: it was sent there.
    public let browserSession: Part
    /// Where the browser ends its session at the provider; nil when the provider does not offer it. It holds the ID token.
    public let endSessionURL: URL?
}

extension SignOutReport: Redacted {
    /// The account and how the parts went, without the address, which holds the ID token.
    public var description: String {
        "signed out: \(account), revocation: \(revocation), browser session: \(browserSession)"
    }
}
