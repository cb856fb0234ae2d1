import Platform
import HTTPExchange
import StrictJSON

/// The parts that the responses of all protocol endpoints share.
enum EndpointResponse {
    /// The maximum lifetime in seconds; a longer one is shortened to this.
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

    /// Throws the status of a response that is not 200, where an OAuth error is not expected.
    static func checkStatus(_ response: HTTPResponse) throws(OAuth2Error) {
        guard response.status == 200 else {
            throw .http(status: response.status, retryAfter: response.retryAfterSeconds)
        }
    }

    /// Returns the error of a response that is not a success.
    static func failure(_ response: HTTPResponse) -> OAuth2Error {
        // Some providers send errors as a form, even if the client accepts only JSON.
        let isForm = mediaType(response) == "application/x-www-form-urlencoded"
        let object = isForm ? form(response) : (try? JSONValue(parsing: response.body))?.object
        if let object, let error = providerError(object, response) { return .provider(error) }
        return .http(status: response.status, retryAfter: response.retryAfterSeconds)
    }

    /// Returns the OAuth error in a response, or `nil` without one.
    static func providerError(_ object: JSONObject, _ response: HTTPResponse) -> ProviderError? {
        guard let code = object.text("error") else { return nil }
        var error = ProviderError(
            code: ErrorCode(rawValue: code), explanation: object["error_description"]?.string,
            uri: object["error_uri"]?.string, status: response.status,
            correlationID: object["correlation_id"]?.string ?? object["trace_id"]?.string)
        error.subcode = object["suberror"]?.string
        error.claims = object["claims"]?.string
        error.interval = object["interval"]?.number?.double.flatMap { Int(exactly: $0.rounded(.up)) }
        error.retryAfter = response.retryAfterSeconds
        return error
    }
}
