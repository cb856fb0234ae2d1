import LodgePlatform
import JOSE
import StrictJSON

/// The reason why an ID token is rejected.
public struct IDTokenError: Error, Sendable, Equatable {
    /// The check that failed.
    public let kind: Kind
    /// The rejected value, if the check compares one.
    package let evidence: Evidence?

    /// Creates an error for a failed check.
    package init(_ kind: Kind, _ evidence: Evidence? = nil) {
        self.kind = kind
        self.evidence = evidence
    }

    /// Creates an error for a claim or header member with a JSON value.
    init(_ kind: Kind, _ name: String, expected: String, received: JSONValue?) {
        self.init(kind, Evidence(name, expected: expected, received: received))
    }

    /// Creates an error for a claim that differs from the expected one.
    package init(_ kind: Kind, claim: String, expected: String, received: String?) {
        self.init(
            kind,
            Evidence(claim, expected: quoted(expected), received: Evidence.visible(received.map(JSONValue.string))))
    }

    /// The token is not a JWT.
    public static let malformed = IDTokenError(.malformed)
    /// The provider sent no ID token although the scopes contain `openid`.
    public static let missing = IDTokenError(.missing)
    /// No key of the provider verifies the token.
    public static let keyNotFound = IDTokenError(.keyNotFound)
    /// The signature is wrong.
    public static let signature = IDTokenError(.signature)

    /// The checks of an ID token.
    public enum Kind: String, Sendable {
        /// Not a JWT.
        case malformed
        /// The response has no ID token although the scope contains `openid`.
        case missing = "id_token_missing"
        /// The signature algorithm is not allowed.
        case algorithmNotAllowed = "alg_not_allowed"
        /// A critical header that this client does not support.
        case criticalUnsupported = "crit_unsupported"
        /// A token of another type.
        case typeMismatch = "typ_mismatch"
        /// An encrypted or nested token.
        case contentTypeUnsupported = "cty_unsupported"
        /// The header is not a JSON object, or is invalid.
        case header
        /// The claims are not a JSON object, or a security claim is a duplicate.
        case claims
        /// No issuer.
        case issuerMissing = "iss_missing"
        /// Another issuer.
        case issuerMismatch = "iss_mismatch"
        /// No subject.
        case subjectMissing = "sub_missing"
        /// The subject is not a string.
        case subjectType = "sub_type"
        /// The subject is empty, longer than 255 characters or not ASCII.
        case subjectInvalid = "sub_invalid"
        /// The subject differs from the subject before the refresh.
        case subjectMismatch = "refresh_sub_mismatch"
        /// No audience.
        case audienceMissing = "aud_missing"
        /// The audience is neither a string nor an array of strings.
        case audienceType = "aud_type"
        /// Issued for another client.
        case audienceMismatch = "aud_mismatch"
        /// Issued for additional, untrusted audiences.
        case audienceUntrusted = "aud_untrusted"
        /// Authorized for another client.
        case authorizedPartyMismatch = "azp_mismatch"
        /// No expiry.
        case expiryMissing = "exp_missing"
        /// The expiry is not a number.
        case expiryType = "exp_type"
        /// Expired.
        case expired
        /// No issue time.
        case issuedAtMissing = "iat_missing"
        /// The issue time is not a number.
        case issuedAtType = "iat_type"
        /// Issued in the future.
        case issuedAtInFuture = "iat_in_future"
        /// The time in `nbf` is not a number.
        case notBeforeType = "nbf_type"
        /// Not valid yet.
        case notYetValid = "not_yet_valid"
        /// No nonce although the request had one.
        case nonceMissing = "nonce_missing"
        /// Another nonce.
        case nonceMismatch = "nonce_mismatch"
        /// A nonce although the request did not contain one.
        case nonceUnexpected = "nonce_unexpected"
        /// No sign-in time although the request had a maximum age.
        case authenticationTimeMissing = "auth_time_missing"
        /// The sign-in time is not a number.
        case authenticationTimeType = "auth_time_type"
        /// The sign-in is older than the requested maximum age.
        case authenticationTimeTooOld = "auth_time_too_old"
        /// The sign-in time differs from the time before the refresh.
        case authenticationTimeChanged = "refresh_auth_time_mismatch"
        /// Not one of the required authentication context classes.
        case contextClassMismatch = "acr_mismatch"
        /// The authentication methods are not strings.
        case methodsType = "amr_type"
        /// Issued for another access token.
        case accessTokenHashMismatch = "at_hash_mismatch"
        /// No hash of the access token, although the response contains both.
        case accessTokenHashMissing = "at_hash_missing"
        /// Issued for another code.
        case codeHashMismatch = "c_hash_mismatch"
        /// No hash of the code, although the response contains both.
        case codeHashMissing = "c_hash_missing"
        /// No key of the provider verifies the token.
        case keyNotFound = "key_not_found"
        /// The signature is wrong.
        case signature
        /// The client secret is too short for the algorithm, or the key is too weak.
        case weakKey = "weak_key"
    }

    /// Whether the provider may have new keys. If so, fetch its key set once more and validate again.
    public var suggestsNewKeys: Bool { kind == .keyNotFound || kind == .signature }

    /// The reason, with the expected and the received value.
    public var explanation: String { evidence.map { "\(reason) (\($0))" } ?? reason }

    private var reason: String {
        switch kind {
        case .expired: "it has expired; if it is new, this machine's clock is wrong"
        case .issuedAtInFuture, .notYetValid: "it was issued in the future; if not, this machine's clock is wrong"
        case .issuerMismatch: "it comes from another issuer"
        case .audienceMismatch, .authorizedPartyMismatch: "it was issued for another client"
        case .subjectMismatch: "it is about another user"
        case .accessTokenHashMismatch: "it was issued for another access token"
        case .nonceMismatch, .nonceMissing: "it does not belong to this sign-in"
        case .missing: "the provider sent no ID token although openid was requested"
        case .signature, .keyNotFound: "no key of the provider verifies its signature"
        case .weakKey: "the client secret is too short to verify its signature"
        default: "it fails the check \(kind.rawValue)"
        }
    }
}

extension IDTokenError {
    init(_ error: JOSEError) {
        let kind: Kind =
            switch error {
            case .malformed: .malformed
            case .header: .header
            case .claims: .claims
            case .algorithmNotAllowed: .algorithmNotAllowed
            case .criticalUnsupported: .criticalUnsupported
            case .weakKey: .weakKey
            case .keyNotFound, .unfitKey, .invalidKey, .keySet: .keyNotFound
            default: .signature
            }
        self.init(kind)
    }
}

extension IDTokenError: LocalizedError {
    /// The failure in a sentence, for an alert.
    public var errorDescription: String? { "The ID token was rejected." }
    /// The reason in a sentence.
    public var failureReason: String? { explanation.sentence }
}
