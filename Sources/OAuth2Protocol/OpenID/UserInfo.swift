import LodgePlatform
import HTTPExchange
import JOSE
import StrictJSON

/// The user's claims from the userinfo endpoint.
///
/// OpenID Connect Core 1.0 section 5.3
package enum UserInfo {
    /// Returns the request, or `nil` if the provider has no userinfo endpoint.
    package static func request(server: AuthorizationServer, accessToken: Secret) -> HTTPRequest? {
        guard let endpoint = server.userinfoEndpoint else { return nil }
        return HTTPRequest(
            .get, endpoint,
            fields: ["Accept": "application/json", "Authorization": "Bearer " + accessToken.value])
    }

    /// Reads the response. It rejects claims whose subject differs from the ID token's (section 5.3.2).
    ///
    /// Optional claims of the wrong type count as missing. Distributed claims (`_claim_sources`) are not fetched.
    ///
    /// - Parameter subject: The ID token's subject; `nil` only if there is no ID token. Then only the access token
    ///   identifies the user.
    package static func read(_ response: HTTPResponse, subject: String?) throws(OAuth2Error) -> JSONObject {
        try checkStatus(response)
        guard EndpointResponse.mediaType(response) != "application/jwt" else {
            throw .invalidResponse(
                member: "content_type", reason: "the userinfo response is a JWT, expected application/json")
        }
        return try check(try ResponseObject(response, name: "the userinfo response").members, subject: subject)
    }

    /// Reads a signed response, for clients that registered `userinfo_signed_response_alg`; an unsigned one is rejected.
    ///
    /// - Parameters:
    ///   - subject: The ID token's subject.
    ///   - validation: The issuer, the client and the algorithms, as for the ID token. The other checks are skipped,
    ///     because this JWT can have no expiry.
    ///   - keys: The provider's key set.
    /// - Throws: ``OAuth2Error``; ``OAuth2Error/idToken(_:)`` if the JWT is rejected.
    package static func readSigned(
        _ response: HTTPResponse, subject: String, validation: IDTokenValidation, keys: JWKSet,
        clientSecret: Secret? = nil
    ) throws(OAuth2Error) -> JSONObject {
        try checkStatus(response)
        guard EndpointResponse.mediaType(response) == "application/jwt",
            let token = String(validating: response.body, as: UTF8.self)
        else {
            throw .invalidResponse(
                member: "jwt_expected", reason: "the registration requires a signed userinfo response")
        }
        let claims: JSONObject
        do throws(IDTokenError) {
            claims = try validation.checkSigned(Secret(token), keys: keys, clientSecret: clientSecret)
        } catch {
            throw .idToken(error)
        }
        return try check(claims, subject: subject)
    }

    private static func checkStatus(_ response: HTTPResponse) throws(OAuth2Error) {
        guard response.status == 200 else {
            let challenges = AuthenticationChallenge.challenges(in: response.fields)
            if let error = challenges.lazy.compactMap({ $0.error(status: response.status) }).first {
                throw .provider(error)
            }
            throw EndpointResponse.failure(response)
        }
    }

    private static func check(_ object: JSONObject, subject: String?) throws(OAuth2Error) -> JSONObject {
        try ResponseObject.check(object, unique: ["sub"])
        guard let subject else { return object }
        guard let found = object.text("sub") else {
            throw .invalidResponse(member: "sub_missing", reason: "the userinfo response has no sub")
        }
        guard bytesEqual(found, subject) else {
            throw .invalidResponse(member: "sub_mismatch", reason: "the userinfo response is about another subject")
        }
        return object
    }
}

extension JSONObject {
    /// Returns the string of a claim; `nil` if it is missing, empty or not a string.
    package func text(_ claim: String) -> String? {
        guard let text = self[claim]?.string, !text.isEmpty else { return nil }
        return text
    }
}
