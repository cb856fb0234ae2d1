import HTTPExchange
import JOSE
import LodgePlatform
import StrictJSON

extension AuthorizationResponse {
    /// Creates a response from a redirect whose parameters are in a signed JWT: `response_mode=jwt` (JARM).
    ///
    /// The JWT must be signed by the issuer, for this client, and must not have expired. After a request with this mode, do not fall
    /// back to ``init(redirect:)``.
    ///
    /// JWT Secured Authorization Response Mode for OAuth 2.0 (JARM) section 2.4
    ///
    /// - Parameters:
    ///   - address: The received redirect.
    ///   - validation: The issuer, the client and the signature algorithms. The other checks are skipped.
    ///   - keys: The provider's keys.
    ///   - now: Seconds since 1970.
    /// - Throws: ``OAuth2Error/redirect(_:)`` if there is no JWT; ``OAuth2Error/idToken(_:)`` if the JWT is rejected.
    package init(
        jwtSecured address: String, validation: IDTokenValidation, keys: JWKSet, clientSecret: Secret? = nil,
        now: Double
    ) throws(OAuth2Error) {
        let redirect = try AuthorizationResponse(redirect: address)
        let tokens = redirect.parameters.filter { $0.name == "response" }
        guard tokens.count == 1 else {
            throw Self.rejected(tokens.isEmpty ? .codeMissing : .duplicateParameter, "response")
        }
        let claims: JSONObject
        do throws(IDTokenError) {
            claims = try validation.checkSigned(Secret(tokens[0].value), keys: keys, clientSecret: clientSecret)
            try validation.checkExpiry(claims, now: now)
        } catch {
            throw .idToken(error)
        }
        self.init(
            address: redirect.address,
            parameters: claims.members.compactMap { member in member.value.string.map { (member.name, $0) } })
    }
}
