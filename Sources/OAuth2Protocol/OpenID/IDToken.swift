import Platform
import StrictJSON

/// A validated ID token: who signed in, by whose word.
package struct IDToken: Sendable, Equatable {
    /// The issuer.
    package let issuer: String
    /// The user's identifier at the issuer. Issuer and subject together are the identity; mail and names are not.
    package let subject: String
    /// All claims.
    package let claims: JSONObject

    /// A token that was validated when it came, for comparing a later one with.
    package init(issuer: String, subject: String, claims: JSONObject) {
        self.issuer = issuer
        self.subject = subject
        self.claims = claims
    }
}

extension IDToken: Redacted {
    /// The issuer and the subject; no other claims, they are personal.
    package var description: String { "\(quoted(subject)) at \(issuer)" }
}
