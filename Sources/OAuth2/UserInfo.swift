import HTTPTransport
import StrictJSON

/// The person's claims from the userinfo endpoint.
///
/// OpenID Connect Core 1.0 section 5.3
public enum UserInfo {
    /// The request, or nil when the provider has no userinfo endpoint.
    public static func request(server: AuthorizationServer, accessToken: Secret) -> HTTPRequest? {
        guard let endpoint = server.userinfoEndpoint else { return nil }
        return HTTPRequest(
            .get, endpoint,
            fields: ["Accept": "application/json", "Authorization": "Bearer " + accessToken.value])
    }

    /// Reads the answer. The claims are only believed when their subject is the ID token's (section 5.3.2).
    ///
    /// - Throws: ``OAuth2Error``
    public static func read(_ response: HTTPResponse, subject: String?) throws(OAuth2Error) -> JSONObject {
        guard response.status == 200 else { throw TokenResponse.failure(response) }
        guard let object = (try? JSONValue(parsing: response.body))?.object else {
            throw .invalidResponse(member: "not_json", reason: "the userinfo answer is not a JSON object")
        }
        guard !object.duplicatedNames.contains("sub") else {
            throw .invalidResponse(member: "sub", reason: "the userinfo answer has sub twice")
        }
        guard let subject else { return object }
        guard let found = object["sub"]?.string, found.utf8.elementsEqual(subject.utf8) else {
            throw .invalidResponse(member: "sub", reason: "the userinfo answer is about another subject")
        }
        return object
    }
}
