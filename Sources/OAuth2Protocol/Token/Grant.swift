import LodgePlatform
import HTTPExchange
import JOSE

extension TokenRequest {
    /// The credentials that are exchanged for tokens.
    package enum Grant: Sendable, Equatable {
        /// The code of a finished sign-in (RFC 6749 section 4.1.3).
        case authorizationCode(Secret, PendingAuthorization)
        /// A refresh token; a narrower scope may be requested (RFC 6749 section 6).
        case refreshToken(Secret, scope: Scope?)
        /// The client itself, without a user. For confidential clients only (RFC 6749 section 4.4).
        case clientCredentials(scope: Scope?)
        /// The device code, for one poll (RFC 8628 section 3.4).
        case deviceCode(Secret)
        /// The identifier of a backchannel sign-in, for one poll (CIBA 1.0 section 10.1).
        case backchannel(Secret)
        /// A JWT that another party signed about a user or a client (RFC 7523 section 2.1).
        case jwtBearer(Secret, scope: Scope?)
        /// A SAML 2.0 assertion as XML; the request contains it in base64url (RFC 7522 section 2.1).
        case samlBearer(Secret, scope: Scope?)
        /// Another token (RFC 8693).
        case tokenExchange(TokenExchange)
        /// A user's name and password. Legacy: the client sees the password, a second factor is impossible, and RFC
        /// 9700 section 2.4 forbids it. Only for servers without another grant.
        case password(username: String, Secret, scope: Scope?)

        /// The value of `grant_type`.
        package var name: String {
            switch self {
            case .authorizationCode: "authorization_code"
            case .refreshToken: "refresh_token"
            case .clientCredentials: "client_credentials"
            case .deviceCode: "urn:ietf:params:oauth:grant-type:device_code"
            case .backchannel: "urn:openid:params:grant-type:ciba"
            case .jwtBearer: "urn:ietf:params:oauth:grant-type:jwt-bearer"
            case .samlBearer: "urn:ietf:params:oauth:grant-type:saml2-bearer"
            case .tokenExchange: "urn:ietf:params:oauth:grant-type:token-exchange"
            case .password: "password"
            }
        }

        /// Returns the parameters of this grant.
        func pairs(for server: AuthorizationServer) throws(OAuth2Error) -> [FormEncoding.Pair] {
            func pairs(_ scope: Scope?) throws(OAuth2Error) -> [FormEncoding.Pair] {
                guard let scope, !scope.isEmpty else { return [] }
                try scope.check()
                return [("scope", server.text(of: scope))]
            }
            return switch self {
            case .authorizationCode(let code, let pending):
                [
                    ("code", code.value), ("redirect_uri", pending.redirectURI.text),
                    ("code_verifier", pending.verifier.secret.value),
                ]
            case .refreshToken(let token, let scope): [("refresh_token", token.value)] + (try pairs(scope))
            case .clientCredentials(let scope): try pairs(scope)
            case .deviceCode(let code): [("device_code", code.value)]
            case .backchannel(let requestID): [("auth_req_id", requestID.value)]
            case .jwtBearer(let assertion, let scope): [("assertion", assertion.value)] + (try pairs(scope))
            case .samlBearer(let assertion, let scope):
                [("assertion", Base64URL.encode(Array(assertion.value.utf8)))] + (try pairs(scope))
            case .tokenExchange(let exchange): try exchange.pairs() + pairs(exchange.scope)
            case .password(let username, let password, let scope):
                [("username", username), ("password", password.value)] + (try pairs(scope))
            }
        }

        /// The parameters that only the grant sets, even if it omits them: providers reject `actor_token_type` without
        /// `actor_token` (RFC 8693 section 2.1).
        var ownParameters: Set<String> {
            guard case .tokenExchange = self else { return [] }
            return ["actor_token", "actor_token_type"]
        }

        /// The required contents of the response, as far as the grant determines them. The caller knows whether to
        /// expect an ID token.
        package var expectation: TokenResponse.Expectation {
            var expectation = TokenResponse.Expectation()
            if case .tokenExchange(let exchange) = self {
                expectation.tokenTypes.insert("n_a")
                expectation.issuedTokenType = true
                expectation.requestedTokenType = exchange.requestedType
            }
            return expectation
        }
    }
}

/// The exchange of a token for another one, for delegation or impersonation.
///
/// [RFC 8693 section 2.1](https://www.rfc-editor.org/rfc/rfc8693#section-2.1)
package struct TokenExchange: Sendable, Equatable {
    /// A token and its type.
    package struct TypedToken: Sendable, Equatable {
        /// The token.
        package var token: Secret
        /// Its type, such as ``TokenExchange/accessTokenType``.
        package var type: String

        /// Creates a token of this type.
        package init(_ token: Secret, type: String) {
            self.token = token
            self.type = type
        }
    }

    /// The type of OAuth access tokens.
    package static let accessTokenType = "urn:ietf:params:oauth:token-type:access_token"
    /// The type of OAuth refresh tokens.
    package static let refreshTokenType = "urn:ietf:params:oauth:token-type:refresh_token"
    /// The type of ID tokens.
    package static let idTokenType = "urn:ietf:params:oauth:token-type:id_token"
    /// The type of JWTs.
    package static let jwtType = "urn:ietf:params:oauth:token-type:jwt"

    /// The token of the subject.
    package var subject: TypedToken
    /// The token of the party that acts for the subject.
    package var actor: TypedToken?
    /// The type of the requested token. If `nil`, the provider selects it.
    package var requestedType: String?
    /// The absolute URLs of the services that the token is for, without fragment.
    package var resources: [String] = []
    /// The services that the token is for, by their names at the provider.
    package var audiences: [String] = []
    /// The requested scope.
    package var scope: Scope?

    /// Creates an exchange of this token.
    package init(subject: TypedToken) { self.subject = subject }

    func pairs() throws(OAuth2Error) -> [FormEncoding.Pair] {
        var pairs: [FormEncoding.Pair] = [
            ("subject_token", subject.token.value), ("subject_token_type", subject.type),
        ]
        if let actor { pairs += [("actor_token", actor.token.value), ("actor_token_type", actor.type)] }
        if let requestedType { pairs.append(("requested_token_type", requestedType)) }
        pairs += try RequestParameters.resources(resources)
        pairs += audiences.map { ("audience", $0) }
        return pairs
    }
}
