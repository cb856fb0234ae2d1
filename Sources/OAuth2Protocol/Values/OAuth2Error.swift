import LodgePlatform

/// An error code of a provider. The set is open: unknown codes are preserved.
public struct ErrorCode: RawRepresentable, Hashable, Sendable, Codable {
    /// The code on the wire.
    public let rawValue: String

    /// Creates a code.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The request is malformed.
    public static let invalidRequest = ErrorCode(rawValue: "invalid_request")
    /// The client is unknown or did not authenticate.
    public static let invalidClient = ErrorCode(rawValue: "invalid_client")
    /// The code or the refresh token is invalid, expired, revoked, or belongs to another client.
    public static let invalidGrant = ErrorCode(rawValue: "invalid_grant")
    /// The client is not allowed to use this grant.
    public static let unauthorizedClient = ErrorCode(rawValue: "unauthorized_client")
    /// The provider does not support this grant.
    public static let unsupportedGrantType = ErrorCode(rawValue: "unsupported_grant_type")
    /// The scope is unknown or too wide.
    public static let invalidScope = ErrorCode(rawValue: "invalid_scope")
    /// The user, or the provider, denied the request.
    public static let accessDenied = ErrorCode(rawValue: "access_denied")
    /// The provider encountered an unexpected condition.
    public static let serverError = ErrorCode(rawValue: "server_error")
    /// The provider is overloaded or in maintenance.
    public static let temporarilyUnavailable = ErrorCode(rawValue: "temporarily_unavailable")
    /// The user has to act (OpenID Connect Core 3.1.2.6).
    public static let interactionRequired = ErrorCode(rawValue: "interaction_required")
    /// The user has to sign in.
    public static let loginRequired = ErrorCode(rawValue: "login_required")
    /// The user has to consent.
    public static let consentRequired = ErrorCode(rawValue: "consent_required")
    /// The user has to choose an account.
    public static let accountSelectionRequired = ErrorCode(rawValue: "account_selection_required")
    /// The access token is expired or revoked (RFC 6750).
    public static let invalidToken = ErrorCode(rawValue: "invalid_token")

    /// The user has not entered the user code yet (RFC 8628).
    public static let authorizationPending = ErrorCode(rawValue: "authorization_pending")
    /// The client polls too often (RFC 8628).
    public static let slowDown = ErrorCode(rawValue: "slow_down")
    /// The device code has expired (RFC 8628).
    public static let expiredToken = ErrorCode(rawValue: "expired_token")
    /// The resource is unknown or not allowed (RFC 8707).
    public static let invalidTarget = ErrorCode(rawValue: "invalid_target")
    /// The authorization details are unknown or not allowed (RFC 9396).
    public static let invalidAuthorizationDetails = ErrorCode(rawValue: "invalid_authorization_details")
    /// The provider cannot revoke this kind of token (RFC 7009).
    public static let unsupportedTokenType = ErrorCode(rawValue: "unsupported_token_type")
    /// The scope of the access token is insufficient (RFC 6750).
    public static let insufficientScope = ErrorCode(rawValue: "insufficient_scope")
    /// The user must sign in again, or with a stronger method (RFC 9470).
    public static let insufficientUserAuthentication = ErrorCode(rawValue: "insufficient_user_authentication")
    /// The access token lacks claims that the resource requires, as in Entra's Conditional Access.
    public static let insufficientClaims = ErrorCode(rawValue: "insufficient_claims")
    /// The proof needs the nonce in this response (RFC 9449).
    public static let useDPoPNonce = ErrorCode(rawValue: "use_dpop_nonce")
    /// The proof is not valid (RFC 9449).
    public static let invalidDPoPProof = ErrorCode(rawValue: "invalid_dpop_proof")

    /// Whether the user has to sign in or act.
    public var needsInteraction: Bool {
        [.invalidGrant, .interactionRequired, .loginRequired, .consentRequired, .accountSelectionRequired].contains(
            self)
    }

    /// Whether the same request may succeed later.
    public var isTransient: Bool { self == .serverError || self == .temporarilyUnavailable }
}

/// An error response of a provider, from its token endpoint or in a redirect.
///
/// [RFC 6749 sections 4.1.2.1 and 5.2](https://www.rfc-editor.org/rfc/rfc6749#section-5.2)
public struct ProviderError: Error, Sendable, Equatable {
    /// The code.
    public var code: ErrorCode
    /// The provider's error description. Escape control characters before you print it.
    public var explanation: String?
    /// The page that explains the error. Open it only on request.
    public var uri: String?
    /// The HTTP status of the response, or `nil` in a redirect.
    public var status: Int?
    /// The provider's identifier of the request, for support.
    public var correlationID: String?
    /// The provider's detailed reason, such as Entra's `bad_token` or `consent_required`.
    public var subcode: String?
    /// The claims that the next sign-in must ask for, as Entra's Conditional Access sends them: a JSON object.
    public var claims: String?
    /// The credential that the client sent, such as the thumbprint of its certificate. It is not a secret.
    package var clientCredential: String?
    /// The time between polls of the device grant, from `slow_down`.
    public var interval: Duration?
    /// The delay from `Retry-After`.
    public var retryAfter: Duration?

    /// Creates an error with this code.
    public init(
        code: ErrorCode, explanation: String? = nil, uri: String? = nil, status: Int? = nil,
        correlationID: String? = nil
    ) {
        self.code = code
        self.explanation = explanation
        self.uri = uri
        self.status = status
        self.correlationID = correlationID
    }
}

extension ProviderError: Redacted {
    /// The code and the status, without the provider's free text, which can contain secrets.
    public var description: String {
        let code = quoted(code.rawValue)
        return status.map { "\(code) with HTTP status \($0)" } ?? code
    }
}

/// The reason why a protocol step failed.
public enum OAuth2Error: Error, Sendable, Equatable {
    /// The provider sent an error.
    case provider(ProviderError)
    /// The provider sent this HTTP status and no OAuth error; the second value is the required delay, if any.
    case http(status: Int, retryAfter: Duration?)
    /// The response violates the specification: the invalid member or part, and the reason.
    case invalidResponse(member: String, reason: String)
    /// This client does not support the type of the token.
    case unsupportedTokenType(String)
    /// The redirect is not the response to this sign-in.
    case redirect(RedirectError)
    /// The ID token is not valid.
    case idToken(IDTokenError)
    /// The settings or the call do not allow this step.
    case configuration(String)
}

extension OAuth2Error {
    /// Whether the same request may succeed later: the provider is overloaded, in maintenance, or requires slower
    /// polling.
    package var isTransient: Bool {
        switch self {
        case .http(let status, _): status == 408 || status == 429 || (500...599).contains(status)
        case .provider(let error): error.code.isTransient || error.status == 429 || (error.status ?? 0) >= 500
        default: false
        }
    }

    /// The delay that the provider requires.
    public var retryAfter: Duration? {
        switch self {
        case .http(_, let delay): delay
        case .provider(let error): error.retryAfter
        default: nil
        }
    }
}

extension OAuth2Error: CustomStringConvertible {
    /// The error in one line, without secrets and without the provider's free text.
    public var description: String {
        switch self {
        case .provider(let error): "the provider responded with \(quoted(error.code.rawValue))"
        case .http(let status, _): "the provider responded with HTTP status \(status)"
        case .invalidResponse(_, let reason): "the provider's response is invalid: \(reason)"
        case .unsupportedTokenType(let type):
            "this client does not support the token type \(quoted(type))"
        case .redirect(let rejection): "the redirect was rejected: \(rejection.explanation)"
        case .idToken(let rejection): "the ID token was rejected: \(rejection.explanation)"
        case .configuration(let reason): reason
        }
    }
}

extension ProviderError: LocalizedError {
    /// The error in a sentence, for an alert.
    public var errorDescription: String? { "The provider rejected the request." }
    /// The error code in a sentence, without the provider's text.
    public var failureReason: String? { OAuth2Error.provider(self).description.sentence }
}

extension OAuth2Error: LocalizedError {
    /// The error in a sentence, for an alert.
    public var errorDescription: String? {
        switch self {
        case .provider(let error): error.errorDescription
        case .http: "The provider did not accept the request."
        case .invalidResponse, .unsupportedTokenType: "The provider's response is invalid."
        case .redirect(let error): error.errorDescription
        case .idToken(let error): error.errorDescription
        case .configuration: "The request cannot be sent."
        }
    }
    /// The reason in a sentence, without the provider's text.
    public var failureReason: String? { description.sentence }
    /// The remedy in a sentence.
    public var recoverySuggestion: String? {
        switch self {
        case _ where isTransient: retryAfter.map { "Try again in \($0.wholeSeconds) seconds." } ?? "Try again later."
        case .redirect(let error): error.recoverySuggestion
        case .configuration: "Correct the settings."
        default: nil
        }
    }
}
