import LodgePlatform
import JOSE
import StrictJSON

/// The checks of OpenID Connect Core 1.0 section 3.1.3.7, as a value.
package struct IDTokenValidation: Sendable {
    /// The issuer; it can contain Entra's `{tenantid}`.
    package var issuer: String
    /// This client.
    package var clientID: String
    /// The nonce of the request, for the authorization code grant.
    package var nonce: String?
    /// Whether the token can have a nonce although the request did not contain one, as after a refresh.
    package var allowsUnaskedNonce = false
    /// The algorithms that the provider announces, never `none`.
    package var algorithms: Set<String> = ["RS256"]
    /// The trusted audiences in addition to this client.
    package var trustedAudiences: Set<String> = []
    /// The requested maximum age of the sign-in, in seconds.
    package var maximumAge: Int?
    /// The access token of the same response, for `at_hash`.
    package var accessToken: Secret?
    /// Whether `at_hash` is required, as in a redirect with an access token.
    package var requiresAccessTokenHash = false
    /// The code of the same response, for `c_hash`.
    package var code: Secret?
    /// Whether `c_hash` is required, as in a redirect with a code (section 3.3.2.11).
    package var requiresCodeHash = false
    /// The required subject, after a refresh.
    package var expectedSubject: String?
    /// The ID token of the sign-in, after a refresh: issuer, subject, authorized party, nonce and sign-in time must be
    /// the same (section 12.2).
    package var original: IDToken?
    /// Whether a refresh can change the sign-in time. The specification forbids it, but some providers do it.
    package var allowsChangedAuthenticationTime = false
    /// The accepted authentication context classes; if empty, all are accepted.
    package var requiredContextClasses: [String] = []
    /// The tenants whose users can sign in, for a Microsoft Entra authority.
    package var tenants: EntraTenants?
    /// The tolerated difference between the clocks, in seconds.
    package var clockSkew: Double = 300

    /// Creates the checks for this client at this issuer.
    package init(issuer: String, clientID: String) {
        self.issuer = issuer
        self.clientID = clientID
    }

    /// Validates a token: signature, header and claims.
    ///
    /// - Parameters:
    ///   - keys: The provider's key set. If the error ``IDTokenError/suggestsNewKeys``, fetch the keys once more.
    ///   - clientSecret: The secret of a confidential client that registered for HS256, HS384 or HS512. Only these
    ///     algorithms use it, and they use no other key.
    ///   - now: Seconds since 1970.
    package func validate(
        _ token: Secret, keys: JWKSet, clientSecret: Secret? = nil, now: Double
    ) throws(IDTokenError) -> IDToken {
        let verified = try verified(token, keys, clientSecret)
        return try check(header: verified.header, claims: verified.claims.members, now: now)
    }

    /// Returns the claims of a signed userinfo response after checking signature, issuer and audience (OpenID Connect
    /// Core 1.0 section 5.3.2).
    func checkSigned(_ token: Secret, keys: JWKSet, clientSecret: Secret?) throws(IDTokenError) -> JSONObject {
        let claims = try verified(token, keys, clientSecret).claims.members
        _ = try checkIssuer(claims)
        try checkAudience(claims)
        return claims
    }

    private func verified(
        _ token: Secret, _ keys: JWKSet, _ clientSecret: Secret?
    ) throws(IDTokenError) -> JWT.Verified {
        do throws(JOSEError) {
            let allowed = Set(algorithms.compactMap(JWSAlgorithm.init(name:)))
            let token = try JWT(parsing: token.value)
            return try token.verified(
                with: usable(keys, for: token.unverifiedClaims.members),
                secret: clientSecret.map { Array($0.value.utf8) }, algorithms: allowed)
        } catch {
            guard case .algorithmNotAllowed = error else { throw IDTokenError(error) }
            throw algorithmError((try? JWT(parsing: token.value))?.header["alg"])
        }
    }

    /// Returns the keys that sign tokens of this issuer. Microsoft Entra's keys contain their issuer: a key for
    /// personal accounts signs no token of an organization.
    private func usable(_ keys: JWKSet, for claims: JSONObject) -> JWKSet {
        guard tenants != nil else { return keys }
        let tenant = claims.text("tid") ?? ""
        return JWKSet(
            keys.keys.filter { key in
                key.issuer.map { $0.replacing("{tenantid}", with: tenant) == claims.text("iss") } ?? true
            })
    }

    /// Checks header and claims, but not the signature.
    ///
    /// - Parameter now: Seconds since 1970.
    package func check(header: JSONObject, claims: JSONObject, now: Double) throws(IDTokenError) -> IDToken {
        try check(header: header)
        let repeated = claims.duplicatedNames
        guard repeated.isEmpty || Set(repeated).isDisjoint(with: Self.securityClaims) else {
            throw IDTokenError(
                .claims,
                Evidence(
                    "claims", expected: "each claim once",
                    received: repeated.map(quoted).joined(separator: ", ") + " twice"))
        }
        guard claims["events"] == nil else {
            throw IDTokenError(
                .typeMismatch, Evidence("events", expected: "no event token", received: "an event token"))
        }
        let issuer = try checkIssuer(claims)
        let subject = try checkSubject(claims)
        try checkAudience(claims)
        try checkTimes(claims, now: now)
        try checkNonce(claims)
        try checkAuthenticationTime(claims, now: now)
        if let methods = claims["amr"], methods.array?.allSatisfy({ $0.string != nil }) != true {
            throw IDTokenError(.methodsType, "amr", expected: "an array of strings", received: methods)
        }
        if !requiredContextClasses.isEmpty {
            guard let found = claims["acr"]?.string, requiredContextClasses.contains(found) else {
                throw IDTokenError(
                    .contextClassMismatch, "acr",
                    expected: "one of " + requiredContextClasses.map(quoted).joined(separator: ", "),
                    received: claims["acr"])
            }
        }
        let algorithm = header["alg"]?.string ?? ""
        try checkHash(
            "at_hash", of: accessToken, claims, algorithm, isRequired: requiresAccessTokenHash,
            missing: .accessTokenHashMissing, mismatch: .accessTokenHashMismatch)
        try checkHash(
            "c_hash", of: code, claims, algorithm, isRequired: requiresCodeHash, missing: .codeHashMissing,
            mismatch: .codeHashMismatch)
        if let original { try check(claims, issuer: issuer, against: original) }
        return IDToken(issuer: issuer, subject: subject, claims: claims)
    }

    private static let securityClaims: Set<String> = [
        "iss", "sub", "aud", "exp", "iat", "nbf", "nonce", "azp", "auth_time", "at_hash", "c_hash", "acr",
    ]

    private func check(header: JSONObject) throws(IDTokenError) {
        guard let algorithm = header["alg"]?.string, algorithms.contains(algorithm), algorithm.lowercased() != "none"
        else {
            throw algorithmError(header["alg"])
        }
        if let critical = header["crit"] {
            throw IDTokenError(.criticalUnsupported, "crit", expected: "nothing", received: critical)
        }
        // The prefix `application/` is optional (RFC 7515 section 4.1.9).
        if let type = header["typ"]?.string, !["jwt", "application/jwt"].contains(type.lowercased()) {
            throw IDTokenError(.typeMismatch, claim: "typ", expected: "JWT", received: type)
        }
        if let content = header["cty"] {
            throw IDTokenError(.contentTypeUnsupported, "cty", expected: "nothing", received: content)
        }
    }

    private func algorithmError(_ received: JSONValue?) -> IDTokenError {
        let expected = "one of " + algorithms.sorted().map(quoted).joined(separator: ", ")
        return IDTokenError(.algorithmNotAllowed, "alg", expected: expected, received: received)
    }

    private func checkIssuer(_ claims: JSONObject) throws(IDTokenError) -> String {
        guard let found = claims["iss"]?.string else {
            throw IDTokenError(.issuerMissing, "iss", expected: quoted(issuer), received: claims["iss"])
        }
        var expected = issuer
        if issuer.contains("{tenantid}") {
            // Entra's shared tenants: the claim `tid` of the token contains the tenant.
            guard let tenant = claims["tid"]?.string, EntraTenants.isIdentifier(tenant) else {
                throw IDTokenError(
                    .issuerMismatch, "tid", expected: "the identifier of a tenant", received: claims["tid"])
            }
            expected = issuer.replacing("{tenantid}", with: tenant)
        }
        guard bytesEqual(found, expected) else {
            throw IDTokenError(.issuerMismatch, claim: "iss", expected: expected, received: found)
        }
        if let tenants, let tenant = claims["tid"]?.string, !tenants.contains(tenant) {
            throw IDTokenError(.issuerMismatch, "tid", expected: "a tenant of the authority", received: claims["tid"])
        }
        return found
    }

    private func checkSubject(_ claims: JSONObject) throws(IDTokenError) -> String {
        guard let value = claims["sub"], !value.isNull else {
            throw IDTokenError(.subjectMissing, "sub", expected: "a string", received: claims["sub"])
        }
        guard let subject = value.string else {
            throw IDTokenError(.subjectType, "sub", expected: "a string", received: value)
        }
        // The limit of the specification is 255 characters; some providers exceed it.
        guard !subject.isEmpty, subject.utf8.count <= 1024, subject.utf8.allSatisfy({ $0 < 0x80 }) else {
            throw IDTokenError(.subjectInvalid, "sub", expected: "1 to 1024 ASCII characters", received: value)
        }
        if let expected = expectedSubject ?? original?.subject, !bytesEqual(subject, expected) {
            throw IDTokenError(.subjectMismatch, claim: "sub", expected: expected, received: subject)
        }
        return subject
    }

    private func checkAudience(_ claims: JSONObject) throws(IDTokenError) {
        func rejected(_ kind: IDTokenError.Kind, _ claim: String = "aud") -> IDTokenError {
            IDTokenError(kind, claim, expected: quoted(clientID), received: claims[claim])
        }
        let audience: [String]
        switch claims["aud"] {
        case nil, .null: throw rejected(.audienceMissing)
        case .string(let one): audience = [one]
        case .array(let elements):
            audience = elements.compactMap(\.string)
            guard audience.count == elements.count else { throw rejected(.audienceType) }
        default: throw rejected(.audienceType)
        }
        guard audience.contains(where: { bytesEqual($0, clientID) }) else {
            throw rejected(.audienceMismatch)
        }
        if let party = claims["azp"], !party.isNull {
            guard let name = party.string, bytesEqual(name, clientID) else {
                throw rejected(.authorizedPartyMismatch, "azp")
            }
            return
        }
        let isTrusted = audience.allSatisfy { one in
            bytesEqual(one, clientID) || trustedAudiences.contains { bytesEqual($0, one) }
        }
        guard isTrusted else { throw rejected(.audienceUntrusted) }
    }

    private func checkTimes(_ claims: JSONObject, now: Double) throws(IDTokenError) {
        let latest = now + clockSkew
        let time = Int64(exactly: now.rounded()) ?? 0
        func rejected(_ kind: IDTokenError.Kind, _ claim: String, _ expected: String) -> IDTokenError {
            IDTokenError(kind, claim, expected: expected, received: claims[claim])
        }
        let number = "a number of seconds"
        guard let expiryValue = claims["exp"] else { throw rejected(.expiryMissing, "exp", number) }
        guard let expiry = expiryValue.number?.double else { throw rejected(.expiryType, "exp", number) }
        guard now < expiry + clockSkew else { throw rejected(.expired, "exp", "a time after \(time)") }
        guard let issuedValue = claims["iat"] else { throw rejected(.issuedAtMissing, "iat", number) }
        guard let issued = issuedValue.number?.double else { throw rejected(.issuedAtType, "iat", number) }
        guard issued <= latest else { throw rejected(.issuedAtInFuture, "iat", "a time before \(time)") }
        guard issued <= expiry + clockSkew else { throw rejected(.issuedAtInFuture, "iat", "a time before exp") }
        if let value = claims["nbf"] {
            guard let earliest = value.number?.double else { throw rejected(.notBeforeType, "nbf", number) }
            guard earliest <= latest else { throw rejected(.notYetValid, "nbf", "a time before \(time)") }
        }
    }

    /// Checks that the claims of a signed response have not expired.
    func checkExpiry(_ claims: JSONObject, now: Double) throws(IDTokenError) {
        guard let expiry = claims["exp"]?.number?.double else {
            throw IDTokenError(.expiryMissing, "exp", expected: "a number of seconds", received: claims["exp"])
        }
        guard now < expiry + clockSkew else {
            let time = Int64(exactly: now.rounded()) ?? 0
            throw IDTokenError(.expired, "exp", expected: "a time after \(time)", received: claims["exp"])
        }
    }

    /// Checks the claims that a refresh must not change (section 12.2). An earlier check compares the audience with
    /// this client.
    private func check(
        _ claims: JSONObject, issuer: String, against original: IDToken
    ) throws(IDTokenError) {
        guard bytesEqual(issuer, original.issuer) else {
            throw IDTokenError(.issuerMismatch, claim: "iss", expected: original.issuer, received: issuer)
        }
        guard claims.text("azp") == original.claims.text("azp") else {
            throw IDTokenError(
                .authorizedPartyMismatch, "azp", expected: Evidence.visible(original.claims["azp"]),
                received: claims["azp"])
        }
        guard !allowsChangedAuthenticationTime else { return }
        let before = original.claims["auth_time"]?.number?.double
        if let now = claims["auth_time"]?.number?.double, let before, now != before {
            throw IDTokenError(
                .authenticationTimeChanged, "auth_time", expected: Evidence.visible(original.claims["auth_time"]),
                received: claims["auth_time"])
        }
    }

    private func checkNonce(_ claims: JSONObject) throws(IDTokenError) {
        let found = claims["nonce"]
        guard let nonce else {
            guard let found, !found.isNull, !allowsUnaskedNonce else { return }
            guard let original else { throw IDTokenError(.nonceUnexpected, Evidence("nonce")) }
            guard found.string == original.claims.text("nonce") else {
                throw IDTokenError(.nonceMismatch, Evidence("nonce"))
            }
            return
        }
        guard let found, !found.isNull else { throw IDTokenError(.nonceMissing, Evidence("nonce")) }
        guard let text = found.string, equalInConstantTime(Array(text.utf8), Array(nonce.utf8)) else {
            throw IDTokenError(.nonceMismatch, Evidence("nonce"))
        }
    }

    private func checkAuthenticationTime(_ claims: JSONObject, now: Double) throws(IDTokenError) {
        guard let value = claims["auth_time"], !value.isNull else {
            if maximumAge != nil {
                throw IDTokenError(
                    .authenticationTimeMissing, "auth_time", expected: "a number of seconds",
                    received: claims["auth_time"])
            }
            return
        }
        guard let time = value.number?.double, time >= 0 else {
            throw IDTokenError(.authenticationTimeType, "auth_time", expected: "a number of seconds", received: value)
        }
        if let maximumAge, time + Double(maximumAge) + clockSkew < now {
            throw IDTokenError(
                .authenticationTimeTooOld, "auth_time", expected: "a time at most \(maximumAge) seconds ago",
                received: value)
        }
    }

    /// Checks a hash claim: the left half of the digest of the access token or code (sections 3.1.3.6 and 3.3.2.11).
    private func checkHash(
        _ name: String, of secret: Secret?, _ claims: JSONObject, _ algorithm: String, isRequired: Bool,
        missing: IDTokenError.Kind, mismatch: IDTokenError.Kind
    ) throws(IDTokenError) {
        guard let secret else { return }
        guard let value = claims[name], !value.isNull else {
            if isRequired { throw IDTokenError(missing, Evidence(name)) }
            return
        }
        let bytes = Array(secret.value.utf8)
        let digest: [UInt8]
        switch algorithm.suffix(3) {
        case "256": digest = SHA2.sha256.digest(bytes)
        case "384": digest = SHA2.sha384.digest(bytes)
        default: digest = SHA2.sha512.digest(bytes)
        }
        guard value.string == Base64URL.encode(Array(digest.prefix(digest.count / 2))) else {
            throw IDTokenError(mismatch, Evidence(name))
        }
    }
}
