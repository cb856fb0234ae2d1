import LodgePlatform
import HTTPExchange
import StrictJSON

/// Readers for the responses of all protocol endpoints.
enum EndpointResponse {
    /// The maximum lifetime in seconds; a longer one is reduced to this.
    static let maximumLifetime = 2_147_483_647

    /// Returns the media type without parameters, in lower case.
    static func mediaType(_ response: HTTPResponse) -> String? {
        guard let field = response.fields["Content-Type"] else { return nil }
        let type = field.prefix { $0 != ";" }.lowercased()
        return type.filter { $0 != " " && $0 != "\t" }
    }

    /// Returns the form of a response that contains a token or an error, with its pairs as members.
    static func form(_ response: HTTPResponse) -> JSONObject? {
        guard let text = String(validating: response.body, as: UTF8.self), let pairs = FormEncoding.decode(text),
            pairs.contains(where: { $0.name == "access_token" || $0.name == "error" })
        else { return nil }
        return JSONObject(pairs.map { JSONObject.Member(name: $0.name, value: .string($0.value)) })
    }

    /// Throws an error if the status is not 200, for endpoints that send no OAuth errors.
    static func checkStatus(_ response: HTTPResponse) throws(OAuth2Error) {
        guard response.status == 200 else {
            throw .http(status: response.status, retryAfter: response.retryDelay)
        }
    }

    /// Returns the error of a response that is not a success.
    static func failure(_ response: HTTPResponse) -> OAuth2Error {
        // Some providers send errors as a form, even if the client accepts only JSON.
        let isForm = mediaType(response) == "application/x-www-form-urlencoded"
        let object = isForm ? form(response) : (try? JSONValue(parsing: response.body))?.object
        if let object, let error = providerError(object, response) { return .provider(error) }
        return .http(status: response.status, retryAfter: response.retryDelay)
    }

    /// Returns the OAuth error in a response, or `nil` without one.
    static func providerError(_ object: JSONObject, _ response: HTTPResponse) -> ProviderError? {
        guard let code = object.text("error") else { return otherError(object, response) }
        var error = ProviderError(
            code: ErrorCode(rawValue: code), explanation: object["error_description"]?.string,
            uri: object["error_uri"]?.string, status: response.status,
            correlationID: object["correlation_id"]?.string ?? object["trace_id"]?.string)
        error.subcode = object["suberror"]?.string
        error.claims = object["claims"]?.string
        error.interval = object.seconds("interval").flatMap { Int(exactly: $0.rounded(.up)) }
            .map { .seconds($0) }
        error.retryAfter = response.retryDelay
        return error
    }

    /// Returns the error in a form that RFC 6749 section 5.2 does not have, or `nil` without one.
    private static func otherError(_ object: JSONObject, _ response: HTTPResponse) -> ProviderError? {
        var found: ProviderError?
        if let error = object["error"]?.object {
            found = objectError(error)
        } else if let error = object["errors"]?.array?.first?.object, let code = error.text("errorType") {
            // Fitbit.
            found = ProviderError(code: ErrorCode(rawValue: code), explanation: error.text("message"))
        } else if let data = object["data"]?.object, let code = data["error_code"]?.number?.literal, code != "0" {
            // TikTok's older endpoint, with status 200. 10010: the refresh token has expired.
            found = ProviderError(
                code: code == "10010" ? .invalidGrant : ErrorCode(rawValue: code), explanation: data.text("description")
            )
        }
        found?.status = response.status
        found?.retryAfter = response.retryDelay
        return found
    }

    /// Returns an error that is an object, as Facebook and Google's services send it.
    private static func objectError(_ error: JSONObject) -> ProviderError? {
        let number = error["code"]?.number?.literal
        let subcode = error["error_subcode"]?.number?.literal
        guard let word = error.text("type") ?? error.text("status") else { return nil }
        let code: ErrorCode =
            switch (word, number, subcode) {
            // The user revoked the grant, changed the password or logged out.
            case ("OAuthException", "190", _): .invalidGrant
            // The code has expired or was used before.
            case ("OAuthException", "100", "36007"), ("OAuthException", "100", "36009"): .invalidGrant
            // An unknown error, a service that is down, and the limits of the application, the user and the page.
            case ("OAuthException", "1", _), ("OAuthException", "2", _), ("OAuthException", "4", _),
                ("OAuthException", "17", _), ("OAuthException", "32", _):
                .temporarilyUnavailable
            default: ErrorCode(rawValue: word)
            }
        var found = ProviderError(
            code: code, explanation: error.text("message"), correlationID: error.text("fbtrace_id"))
        found.subcode = [number, subcode].compactMap(\.self).joined(separator: "/")
        return found
    }
}
