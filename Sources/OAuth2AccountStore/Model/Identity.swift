import OAuth2Protocol
import StrictJSON

/// The identity of the user of a sign-in. Each member is `nil` if it is unknown.
struct Identity {
    var issuer: String?
    var subject: String?
    /// The client of an application's own account, if it is not the client of the type.
    var clientID: String?
    var claims: JSONObject?

    init(claims: JSONObject? = nil) { self.claims = claims }

    init(_ token: IDToken) {
        issuer = token.issuer
        subject = token.subject
        claims = token.claims
    }

    func text(_ names: String...) -> String? {
        for name in names {
            if let text = claims?[name]?.string, !text.isEmpty { return text }
        }
        return nil
    }

    var userName: String? { text("preferred_username", "email", "upn") }
    var displayName: String? { text("name") }
}
