import JOSE
import StrictJSON

/// Why an ID token was refused.
public enum IDTokenRejection: String, Error, Sendable, Equatable {
    /// Not a JWT.
    case malformed
    /// None came although `openid` was asked for.
    case missing = "id_token_missing"
    /// Signed with an algorithm that is not allowed here.
    case algorithmNotAllowed = "alg_not_allowed"
    /// A critical header that this client does not know.
    case criticalUnsupported = "crit_unsupported"
    /// A token of another kind.
    case typeMismatch = "typ_mismatch"
    /// An encrypted or nested token.
    case contentTypeUnsupported = "cty_unsupported"
    /// A claim that matters stands twice.
    case duplicateClaim = "duplicate_claim"
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
    /// Another subject than before the refresh.
    case subjectMismatch = "sub_mismatch"
    /// No audience.
    case audienceMissing = "aud_missing"
    /// The audience is neither a string nor strings.
    case audienceType = "aud_type"
    /// Issued for another client.
    case audienceMismatch = "aud_mismatch"
    /// Issued for others too, who are not trusted.
    case audienceUntrusted = "aud_untrusted"
    /// Authorized for another client.
    case authorizedPartyMismatch = "azp_mismatch"
    /// No expiry.
    case expiryMissing = "exp_missing"
    /// The expiry is no number.
    case expiryType = "exp_type"
    /// Expired.
    case expired
    /// No time of issue.
    case issuedAtMissing = "iat_missing"
    /// The time of issue is no number.
    case issuedAtType = "iat_type"
    /// Issued in the future.
    case issuedAtInFuture = "iat_in_future"
    /// Issued too long ago.
    case issuedAtTooOld = "iat_too_old"
    /// The earliest time is no number.
    case notBeforeType = "nbf_type"
    /// Not valid yet.
    case notYetValid = "not_yet_valid"
    /// No nonce although one was sent.
    case nonceMissing = "nonce_missing"
    /// Another nonce.
    case nonceMismatch = "nonce_mismatch"
    /// A nonce although none was sent.
    case nonceUnexpected = "nonce_unexpected"
    /// No time of log-in although a greatest age was asked for.
    case authenticationTimeMissing = "auth_time_missing"
    /// The time of log-in is no number.
    case authenticationTimeType = "auth_time_type"
    /// The log-in is older than asked for.
    case authenticationTimeTooOld = "auth_time_too_old"
    /// The methods of log-in are not strings.
    case methodsType = "amr_type"
    /// Issued for another access token.
    case accessTokenHashMismatch = "at_hash_mismatch"
    /// No key of the provider verifies it.
    case keyNotFound = "key_not_found"
    /// The signature is wrong.
    case signature

    /// What is wrong, in a sentence.
    public var explanation: String {
        switch self {
        case .expired: "it has expired; if it is fresh, this machine's clock is wrong"
        case .issuedAtInFuture, .notYetValid: "it is from the future; if it is not, this machine's clock is wrong"
        case .issuerMismatch: "it comes from another issuer"
        case .audienceMismatch: "it was issued for another client"
        case .nonceMismatch, .nonceMissing: "it does not belong to this sign-in (\(rawValue))"
        case .missing: "the provider sent none although openid was asked for"
        case .signature, .keyNotFound: "no key of the provider verifies its signature"
        default: "it fails the check \(rawValue)"
        }
    }
}

/// A validated ID token: who signed in, by whose word.
public struct IDToken: Sendable, Equatable {
    /// The issuer.
    public let issuer: String
    /// The person's identifier at the issuer. Issuer and subject together are the identity; mail and names are not.
    public let subject: String
    /// All claims.
    public let claims: JSONObject
}

/// The checks of OpenID Connect Core 1.0 section 3.1.3.7, as a value.
public struct IDTokenValidation: Sendable {
    /// The issuer; may have Entra's `{tenantid}` in it.
    public var issuer: String
    /// This client.
    public var clientID: String
    /// The nonce that was sent, for the authorization code grant.
    public var nonce: String?
    /// Whether a nonce may be there though none was sent: after a refresh it may.
    public var allowsUnaskedNonce = false
    /// The algorithms that the provider announces. `none` is never among them.
    public var algorithms: Set<String> = ["RS256"]
    /// Audiences beside this client that are trusted.
    public var trustedAudiences: Set<String> = []
    /// The greatest age of the log-in that was asked for, in seconds.
    public var maximumAge: Int?
    /// The access token that came with it, for `at_hash`.
    public var accessToken: Secret?
    /// The subject that it must have, after a refresh.
    public var expectedSubject: String?
    /// How far clocks may be apart, in seconds.
    public var clockSkew: Double = 300

    /// The checks for this client at this issuer.
    public init(issuer: String, clientID: String) {
        self.issuer = issuer
        self.clientID = clientID
    }

    /// Checks header and claims; the signature is another step.
    ///
    /// - Parameter now: seconds since 1970.
    /// - Throws: ``IDTokenRejection``
    public func check(header: JSONObject, claims: JSONObject, now: Double) throws(IDTokenRejection) -> IDToken {
        try check(header: header)
        let repeated = claims.duplicatedNames
        guard repeated.isEmpty || Set(repeated).isDisjoint(with: Self.securityClaims) else { throw .duplicateClaim }
        guard claims["events"] == nil else { throw .typeMismatch }
        let issuer = try checkIssuer(claims)
        let subject = try checkSubject(claims)
        try checkAudience(claims)
        try checkTimes(claims, now: now)
        try checkNonce(claims)
        try checkAuthenticationTime(claims, now: now)
        if let methods = claims["amr"], methods.array?.allSatisfy({ $0.string != nil }) != true { throw .methodsType }
        try checkAccessTokenHash(claims, algorithm: header["alg"]?.string ?? "")
        return IDToken(issuer: issuer, subject: subject, claims: claims)
    }

    private static let securityClaims: Set<String> = [
        "iss", "sub", "aud", "exp", "iat", "nbf", "nonce", "azp", "auth_time", "at_hash", "c_hash", "acr",
    ]

    private func check(header: JSONObject) throws(IDTokenRejection) {
        guard let algorithm = header["alg"]?.string, algorithms.contains(algorithm), algorithm.lowercased() != "none"
        else {
            throw .algorithmNotAllowed
        }
        guard header["crit"] == nil else { throw .criticalUnsupported }
        if let type = header["typ"]?.string, type.lowercased() != "jwt" { throw .typeMismatch }
        guard header["cty"] == nil else { throw .contentTypeUnsupported }
    }

    private func checkIssuer(_ claims: JSONObject) throws(IDTokenRejection) -> String {
        guard let found = claims["iss"]?.string else { throw .issuerMissing }
        var expected = issuer
        if issuer.contains("{tenantid}") {
            // Entra's shared tenants: the tenant is named by the token's own `tid`.
            guard let tenant = claims["tid"]?.string, !tenant.isEmpty else { throw .issuerMismatch }
            expected = issuer.replacing("{tenantid}", with: tenant)
        }
        guard found.utf8.elementsEqual(expected.utf8) else { throw .issuerMismatch }
        return found
    }

    private func checkSubject(_ claims: JSONObject) throws(IDTokenRejection) -> String {
        guard let value = claims["sub"], !value.isNull else { throw .subjectMissing }
        guard let subject = value.string else { throw .subjectType }
        guard !subject.isEmpty, subject.utf8.count <= 255, subject.utf8.allSatisfy({ $0 < 0x80 }) else {
            throw .subjectInvalid
        }
        if let expectedSubject, subject != expectedSubject { throw .subjectMismatch }
        return subject
    }

    private func checkAudience(_ claims: JSONObject) throws(IDTokenRejection) {
        let audience: [String]
        switch claims["aud"] {
        case nil, .null: throw .audienceMissing
        case .string(let one): audience = [one]
        case .array(let elements):
            audience = elements.compactMap(\.string)
            guard audience.count == elements.count else { throw .audienceType }
        default: throw .audienceType
        }
        guard audience.contains(clientID) else { throw .audienceMismatch }
        if let party = claims["azp"], !party.isNull {
            guard party.string == clientID else { throw .authorizedPartyMismatch }
            return
        }
        guard audience.allSatisfy({ $0 == clientID || trustedAudiences.contains($0) }) else { throw .audienceUntrusted }
    }

    private func checkTimes(_ claims: JSONObject, now: Double) throws(IDTokenRejection) {
        guard let expiryValue = claims["exp"] else { throw .expiryMissing }
        guard let expiry = expiryValue.number?.double else { throw .expiryType }
        guard now < expiry + clockSkew else { throw .expired }
        guard let issuedValue = claims["iat"] else { throw .issuedAtMissing }
        guard let issued = issuedValue.number?.double else { throw .issuedAtType }
        guard issued <= now + clockSkew, issued <= expiry + clockSkew else { throw .issuedAtInFuture }
        if let value = claims["nbf"] {
            guard let earliest = value.number?.double else { throw .notBeforeType }
            guard earliest <= now + clockSkew else { throw .notYetValid }
        }
    }

    private func checkNonce(_ claims: JSONObject) throws(IDTokenRejection) {
        let found = claims["nonce"]
        guard let nonce else {
            if found != nil, found != .null, !allowsUnaskedNonce { throw .nonceUnexpected }
            return
        }
        guard let found, !found.isNull else { throw .nonceMissing }
        guard let text = found.string, equalInConstantTime(Array(text.utf8), Array(nonce.utf8)) else {
            throw .nonceMismatch
        }
    }

    private func checkAuthenticationTime(_ claims: JSONObject, now: Double) throws(IDTokenRejection) {
        guard let value = claims["auth_time"], !value.isNull else {
            if maximumAge != nil { throw .authenticationTimeMissing }
            return
        }
        guard let time = value.number?.double, time >= 0 else { throw .authenticationTimeType }
        if let maximumAge, time + Double(maximumAge) + clockSkew < now { throw .authenticationTimeTooOld }
    }

    private func checkAccessTokenHash(_ claims: JSONObject, algorithm: String) throws(IDTokenRejection) {
        guard let accessToken, let value = claims["at_hash"], !value.isNull else { return }
        let digest: [UInt8]
        switch algorithm.suffix(3) {
        case "256": digest = SHA2.sha256.digest(Array(accessToken.value.utf8))
        case "384": digest = SHA2.sha384.digest(Array(accessToken.value.utf8))
        default: digest = SHA2.sha512.digest(Array(accessToken.value.utf8))
        }
        // The left half of the digest (section 3.1.3.6).
        guard value.string == Base64URL.encode(Array(digest.prefix(digest.count / 2))) else {
            throw .accessTokenHashMismatch
        }
    }
}
