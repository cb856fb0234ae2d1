import LodgePlatform
import HTTPExchange
import StrictJSON

/// The tokens in the response to any grant.
///
/// [RFC 6749 section 5](https://www.rfc-editor.org/rfc/rfc6749#section-5)
public struct TokenResponse: Sendable, Equatable {
    /// The maximum accepted lifetime in seconds, about 68 years.
    package static let maximumLifetime = EndpointResponse.maximumLifetime

    /// The access token.
    public var accessToken: Secret
    /// The type, in lower case: `bearer`.
    public var tokenType: String
    /// The lifetime, or `nil` if unknown. An unknown lifetime is not unlimited.
    public var expiresIn: Duration?
    /// The refresh token, or `nil` if the response does not contain one.
    public var refreshToken: Secret?
    /// The granted scope; `nil` if it is the requested scope.
    public var scope: Scope?
    /// The ID token, not validated.
    public var idToken: Secret?
    /// The other members of the response.
    public var additional: JSONObject

    /// Creates a response with only a Bearer token, such as a token that a service issued without OAuth.
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

    /// Returns a value of the provider for a message, or a replacement if it contains a token or is too long.
    static func shown(_ text: String, hiding tokens: [String]) -> String {
        guard text.utf8.count <= 4096 else { return "(hidden: it has \(text.utf8.count) bytes)" }
        let isRepeated = tokens.contains { $0.utf8.count >= shortestSecret && text.contains($0) }
        return isRepeated ? "(hidden: it repeats a token)" : text
    }

    /// The minimum length of a token that is redacted, in bytes: a shorter one can be part of any word.
    static var shortestSecret: Int { 8 }
}
