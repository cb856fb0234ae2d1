import Platform
import HTTPExchange
import JOSE

/// An OAuth client that a ``LoopbackProvider`` knows.
public struct LocalClient: Sendable, Equatable {
    /// The client identifier.
    public var id: String
    /// The name that the user sees.
    public var name: String
    /// The secret of a confidential client; `nil` for a public one.
    public var secret: String?
    /// The registered redirect URIs. A loopback http URI matches with any port (RFC 8252 section 7.3); other URIs match
    /// exactly.
    public var redirectURIs: [String]

    /// Creates a client of this identifier.
    public init(id: String, name: String, secret: String? = nil, redirectURIs: [String] = Self.loopbackRedirectURIs) {
        self.id = id
        self.name = name
        self.secret = secret
        self.redirectURIs = redirectURIs
    }

    /// The redirect URIs of programs on this machine.
    public static let loopbackRedirectURIs = ["127.0.0.1", "[::1]", "localhost"].flatMap { host in
        ["", "/", "/callback"].map { "http://\(host)\($0)" }
    }

    func accepts(redirectURI: String) -> Bool {
        guard redirectURI.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), !redirectURI.contains("#") else { return false }
        return redirectURIs.contains { $0 == redirectURI || Self.withoutLoopbackPort(redirectURI) == $0 }
    }

    /// Returns a loopback http URI without its port; `nil` for other URIs.
    private static func withoutLoopbackPort(_ uri: String) -> String? {
        let loopback = /(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost)):([0-9]+)((?:[\/?].*)?)/
        guard let match = uri.wholeMatch(of: loopback), let port = UInt16(match.2), port > 0 else { return nil }
        return String(match.1 + match.3)
    }
}

extension LocalClient: Redacted {
    /// The identifier and the name.
    public var description: String { "\(id) (\(name))" }
}

/// An error response of the token endpoint and similar endpoints. See RFC 6749 section 5.2.
struct OAuthFailure: Error, Equatable {
    var status = 400
    var code: String
    var description: String
    /// Whether the client used Basic, which WWW-Authenticate must then name.
    var challengesBasic = false

    static func invalidRequest(_ description: String) -> OAuthFailure {
        OAuthFailure(code: "invalid_request", description: description)
    }

    static func invalidGrant(_ description: String) -> OAuthFailure {
        OAuthFailure(code: "invalid_grant", description: description)
    }

    static let server = OAuthFailure(status: 500, code: "server_error", description: "The provider failed.")
}

extension ProviderState {
    /// Authenticates the client of a form: `client_secret_basic`, `client_secret_post` or none.
    func client(_ form: FormFields, _ fields: HTTPFields) throws(OAuthFailure) -> LocalClient {
        let header = fields.values(for: "Authorization")
        guard header.count <= 1 else { throw .invalidRequest("Authorization appears twice.") }
        guard let value = header.first else {
            guard let id = form["client_id"] else { throw .invalidRequest("client_id is missing.") }
            return try client(id, secret: form["client_secret"], isBasic: false)
        }
        guard form["client_secret"] == nil else {
            throw .invalidRequest("The client authenticates in two ways; one is expected.")
        }
        guard let (id, secret) = Self.basicCredentials(value) else {
            throw OAuthFailure(
                status: 401, code: "invalid_client", description: "The Authorization field is not Basic credentials.",
                challengesBasic: true)
        }
        guard form["client_id"] == nil || form["client_id"] == id else {
            throw .invalidRequest("client_id is not the client that authenticates.")
        }
        return try client(id, secret: secret, isBasic: true)
    }

    private func client(_ id: String, secret: String?, isBasic: Bool) throws(OAuthFailure) -> LocalClient {
        let failure = OAuthFailure(
            status: 401, code: "invalid_client", description: "The client is unknown or its secret is wrong.",
            challengesBasic: isBasic)
        guard let client = self.client(id: id) else { throw failure }
        guard let expected = client.secret else {
            guard secret == nil || isBasic && secret == "" else { throw failure }
            return client
        }
        guard let secret, equalInConstantTime(Array(secret.utf8), Array(expected.utf8)) else { throw failure }
        return client
    }

    /// Returns the form-decoded identifier and secret. See RFC 6749 section 2.3.1.
    private static func basicCredentials(_ value: String) -> (id: String, secret: String)? {
        guard value.lowercased().hasPrefix("basic "),
            let bytes = Data(base64Encoded: String(value.dropFirst(6)))
        else { return nil }
        let parts = bytes.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
            .map { PercentEncoding.decode($0, plusIsSpace: true) }
        guard parts.count == 2, let id = parts[0], let secret = parts[1] else { return nil }
        return (id, secret)
    }
}
