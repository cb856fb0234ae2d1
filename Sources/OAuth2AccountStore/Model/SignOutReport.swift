import LodgePlatform
import OAuth2Protocol

/// The results of the steps of a sign-out.
public struct SignOutReport: Sendable {
    /// The result of one step.
    public enum Part: Sendable, Equatable {
        /// The step succeeded.
        case succeeded
        /// The provider does not support the step.
        case notOffered
        /// The caller did not request the step.
        case skipped
        /// The step failed, for this reason. Assume that the tokens are still valid.
        case failed(String)
    }

    /// The removed account. If the store cannot remove the account, the call throws instead of returning a report.
    public let account: Account
    /// The result of revoking the tokens at the provider (RFC 7009).
    public let revocation: Part
    /// The result of opening the provider's logout page in the browser (OpenID Connect RP-Initiated Logout 1.0). The
    /// store does not know whether the session has ended.
    public let browserSession: Part
    /// The URL of the provider's logout page, or `nil` if the provider does not support it. The URL contains the ID
    /// token.
    public let endSessionURL: URL?
}

extension SignOutReport: Redacted {
    /// The account and the results, without the URL of the logout page, which contains the ID token.
    public var description: String {
        "signed out: \(account), revocation: \(revocation), browser session: \(browserSession)"
    }
}
