import Platform
import HTTPExchange
import StrictJSON

/// The tokens in the response to any grant.
///
/// [RFC 6749 section 5](https://www.rfc-editor.org/rfc/rfc6749#section-5)
public struct TokenResponse: Sendable, Equatable {
    /// The longest lifetime that is believed, in seconds: about 68 years.
    package static let maximumLifetime = EndpointResponse.maximumLifetime

    /// The access token.
    public var accessToken: Secret
    /// The type, in lower case: `bearer`.
    public var tokenType: String
    /// The lifetime, when the provider said so. An unknown lifetime is not for ever.
    public var expiresIn: Duration?
    /// The refresh token, when one came.
    public var refreshToken: Secret?
    /// The scope granted; nil means the scope asked for.
    public var scope: Scope?
    /// The ID token, unchecked.
    public var idToken: Secret?
    /// What else the response has.
    public var additional: JSONObject

    /// Creates a response with only an access token of the type Bearer, such as one that a service issued without OAuth.
    public init(accessToken: Secret) {
        self.accessToken = accessToken
        tokenType = "bearer"
        additional = [:]
    }

    /// Returns the granted scope: the scope in the response, or otherwise the requested one (section 5.1).
    public func grantedScope(requested: Scope) -> Scope { scope ?? requested }
}

extension TokenResponse: Redacted {
    /// The type, the lifetime and the scope; no tokens.
    public var description: String {
        let lifetime = expiresIn.map { "\($0.components.seconds) s" } ?? "unknown lifetime"
        return "\(shown(tokenType)) token, \(lifetime), scope \(scope.map { shown($0.text) } ?? "as requested")"
    }

    private func shown(_ text: String) -> String {
        Self.shown(text, hiding: [accessToken, refreshToken, idToken].compactMap { $0?.value })
    }

    /// Returns a value of the provider, unless it repeats a token or is too long for a message.
    static func shown(_ text: String, hiding tokens: [String]) -> String {
        guard text.utf8.count <= 4096 else { return "(hidden: it has \(text.utf8.count) bytes)" }
        let isRepeated = tokens.contains { $0.utf8.count >= shortestSecret && text.contains($0) }
        return isRepeated ? "(hidden: it repeats a token)" : text
    }

    /// The length in bytes from which a token is a secret: a shorter one can be part of any word.
    static var shortestSecret: Int { 8 }
}
