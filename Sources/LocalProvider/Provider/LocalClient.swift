import LodgePlatform
import HTTPExchange
import JOSE
import LoopbackHTTP
import StrictJSON

/// An OAuth client of a ``LoopbackProvider``.
public struct LocalClient: Sendable, Equatable {
    /// The client identifier.
    public var id: String
    /// The name shown to the user.
    public var name: String
    /// The secret of a confidential client, or `nil` for a public one.
    public var secret: String?
    /// The registered redirect URIs.
    ///
    /// A loopback http URI matches with any port (RFC 8252 section 7.3); other URIs match exactly.
    public var redirectURIs: [String]
    /// The public keys of a client that authenticates with `private_key_jwt`.
    var keySet: JSONObject?
    /// The certificates in PEM of a client that signs its assertions as at Microsoft Entra: its own certificates, and the
    /// certificates of authorities whose chains are accepted.
    package var certificates: [String] = []
    /// The registered grant types, or `nil` for all.
    var grantTypes: [String]?
    /// The JWTs of other issuers that authenticate the client.
    var federatedCredentials: [FederatedCredential] = []

    /// Creates a client with this identifier.
    public init(id: String, name: String, secret: String? = nil, redirectURIs: [String] = Self.loopbackRedirectURIs) {
        self.id = id
        self.name = name
        self.secret = secret
        self.redirectURIs = redirectURIs
    }

    /// The redirect URIs of native applications on loopback.
    public static let loopbackRedirectURIs = ["127.0.0.1", "[::1]", "localhost"].flatMap { host in
        ["", "/", "/callback"].map { "http://\(host)\($0)" }
    }

    /// Whether the client can authenticate.
    var isConfidential: Bool {
        secret != nil || keySet != nil || !certificates.isEmpty || !federatedCredentials.isEmpty
    }

    /// Returns whether a PEM file has a certificate that a client can use.
    package static func hasCertificate(_ pem: String) -> Bool { !X509.certificates(pem: pem).isEmpty }

    /// Returns whether the client may use a grant type. See RFC 7591 section 2.
    func mayUse(_ grantType: String) -> Bool { grantTypes?.contains(grantType) ?? true }

    /// Throws if the client did not register a grant type. See RFC 6749 section 5.2.
    func requireGrantType(_ grantType: String) throws(OAuthFailure) {
        guard mayUse(grantType) else {
            throw OAuthFailure(
                code: "unauthorized_client", description: "The client did not register the grant type \(grantType).")
        }
    }

    /// Returns whether a client may register the redirect URI.
    ///
    /// It must be an absolute URI without a fragment, of visible ASCII characters, and with `http` only for loopback.
    /// See RFC 6749 section 3.1.2 and RFC 8252 section 8.4.
    package static func canRegister(redirectURI: String) -> Bool {
        guard isWellFormed(redirectURI), let url = URL(string: redirectURI), let scheme = url.scheme?.lowercased(),
            let rest = redirectURI.dropFirst(scheme.utf8.count + 1).first,
            rest == "/" || !["http", "https"].contains(scheme)
        else { return false }
        switch scheme {
        case "https": return url.host()?.isEmpty == false
        case "http": return url.isLoopback
        case "javascript", "data", "vbscript", "file", "blob", "about": return false
        default: return true
        }
    }

    private static func isWellFormed(_ redirectURI: String) -> Bool {
        redirectURI.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) && !redirectURI.contains("#")
    }

    func accepts(redirectURI: String) -> Bool {
        guard Self.isWellFormed(redirectURI) else { return false }
        return redirectURIs.contains { $0 == redirectURI || Self.withoutLoopbackPort(redirectURI) == $0 }
    }

    /// Returns a loopback http URI without its port, or `nil` for other URIs.
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
    /// Whether the client used Basic. Then WWW-Authenticate must contain it.
    var challengesBasic = false

    static func invalidRequest(_ description: String) -> OAuthFailure {
        OAuthFailure(code: "invalid_request", description: description)
    }

    static func invalidGrant(_ description: String) -> OAuthFailure {
        OAuthFailure(code: "invalid_grant", description: description)
    }

    /// Returns the error of Microsoft Entra for an unknown client.
    static func unknownApplication(_ id: String) -> OAuthFailure {
        OAuthFailure(
            code: "unauthorized_client",
            description: "AADSTS700016: Application with identifier '\(id)' was not found in the directory.")
    }

    static let server = OAuthFailure(status: 500, code: "server_error", description: "The provider failed.")
}

extension ProviderState {
    /// Returns the client of a form after checking `client_secret_basic`, `client_secret_post` or no authentication.
    func client(_ form: FormFields, _ fields: HTTPFields) throws(OAuthFailure) -> LocalClient {
        let header = fields.values(for: "Authorization")
        guard header.count <= 1 else { throw .invalidRequest("Authorization appears twice.") }
        guard let value = header.first else {
            if form["client_assertion"] != nil { return try client(asserting: form) }
            guard let id = form["client_id"] else { throw .invalidRequest("client_id is missing.") }
            return try client(id, secret: form["client_secret"], isBasic: false)
        }
        guard form["client_secret"] == nil, form["client_assertion"] == nil else {
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

    /// Returns a client after checking `private_key_jwt`. See RFC 7523 sections 2.2 and 3.
    private func client(asserting form: FormFields) throws(OAuthFailure) -> LocalClient {
        func failure(_ reason: String) -> OAuthFailure {
            OAuthFailure(status: 401, code: "invalid_client", description: "client_assertion is rejected: \(reason).")
        }
        guard form["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" else {
            throw .invalidRequest("client_assertion_type is not jwt-bearer.")
        }
        guard form["client_secret"] == nil else {
            throw .invalidRequest("The client authenticates in two ways; one is expected.")
        }
        let token = form["client_assertion"].flatMap { try? JWT(parsing: $0) }
        if let client = client(id: form["client_id"]) {
            if !client.federatedCredentials.isEmpty {
                try checkFederated(form, client)
                return client
            }
            if !client.certificates.isEmpty { return try self.client(certifying: token, client) }
        } else if authority.tenant != nil, let id = form["client_id"] {
            throw .unknownApplication(id)
        }
        guard let token, let id = try? token.unverifiedClaims.subject
        else { throw failure("it is not a JWT with sub") }
        guard form["client_id"] == nil || form["client_id"] == id else {
            throw .invalidRequest("client_id is not the client that authenticates.")
        }
        guard let client = client(id: id), let keySet = client.keySet.flatMap({ try? JWKSet($0) }) else {
            throw failure("the client is unknown or has no keys")
        }
        guard let claims = try? token.verified(with: keySet, algorithms: JWSAlgorithm.asymmetric).claims else {
            throw failure("its signature is not of a key of the client")
        }
        guard (try? claims.issuer) == id else { throw failure("iss is not the client") }
        let audiences = Set([issuer] + ["/token", "/par", "/introspect", "/revoke"].map(authority.url))
        guard let audience = try? claims.audience, !audiences.isDisjoint(with: audience) else {
            throw failure("aud does not contain \(authority.url(of: "/token"))")
        }
        let now = now
        guard let expiration = (try? claims.expiration) ?? nil, expiration > Double(now),
            expiration <= Double(now + 86_400)
        else { throw failure("exp is not within the next day") }
        if let identifier = (try? claims.tokenID) ?? nil {
            let isNew = state.withLock { state in
                let key = "\(id) \(identifier)"
                if let end = state.grants.assertions[key], end > now { return false }
                state.grants.assertions[key] = Int(expiration)
                return true
            }
            guard isNew else { throw failure("jti was used before") }
        }
        return client
    }

    private func client(_ id: String, secret: String?, isBasic: Bool) throws(OAuthFailure) -> LocalClient {
        let failure = OAuthFailure(
            status: 401, code: "invalid_client", description: "The client is unknown or its secret is wrong.",
            challengesBasic: isBasic)
        guard let client = self.client(id: id) else { throw failure }
        guard let expected = client.secret else {
            guard client.keySet == nil, client.certificates.isEmpty, client.federatedCredentials.isEmpty,
                secret == nil || isBasic && secret == ""
            else { throw failure }
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
