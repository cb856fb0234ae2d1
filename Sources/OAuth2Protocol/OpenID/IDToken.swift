import LodgePlatform
import StrictJSON

/// A validated ID token: the identity of the user, and the issuer that asserts it.
package struct IDToken: Sendable, Equatable {
    /// The issuer.
    package let issuer: String
    /// The user's identifier at the issuer. Issuer and subject together are the identity; mail and names are not.
    package let subject: String
    /// All claims.
    package let claims: JSONObject

    /// Creates a token from the claims of a token that was validated earlier, to compare a new token with it.
    package init(issuer: String, subject: String, claims: JSONObject) {
        self.issuer = issuer
        self.subject = subject
        self.claims = claims
    }
}

extension IDToken: Redacted {
    /// The issuer and the subject. The other claims are personal data.
    package var description: String { "\(quoted(subject)) at \(issuer)" }
}
