import HTTPTransport
import StrictJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The tokens of a token answer, whatever grant it answers.
///
/// [RFC 6749 section 5](https://www.rfc-editor.org/rfc/rfc6749#section-5)
public struct TokenResponse: Sendable, Equatable {
    /// How strictly an answer is read.
    public enum Tolerance: Sendable {
        /// As the specifications say.
        case strict
        /// With what real providers send: no `token_type` (Bearer is meant), `scope` as an array or separated by commas, a form
        /// or a text content type in place of JSON.
        case providers
    }

    /// The longest lifetime that is believed, in seconds: about 68 years.
    public static let maximumLifetime = 2_147_483_647

    /// The access token.
    public var accessToken: Secret
    /// The type, in lower case: `bearer`.
    public var tokenType: String
    /// The lifetime in seconds, when the provider said so. An unknown lifetime is not for ever.
    public var expiresIn: Int?
    /// The refresh token, when one came.
    public var refreshToken: Secret?
    /// The scope granted; nil means the scope asked for.
    public var scope: Scope?
    /// The ID token, unchecked.
    public var idToken: Secret?
    /// What else the answer has.
    public var additional: JSONObject

    private static let knownMembers: Set<String> = [
        "access_token", "token_type", "expires_in", "refresh_token", "scope", "id_token",
    ]

    /// Reads an answer of the token endpoint.
    ///
    /// - Throws: ``OAuth2Error``. An `error` member is an error whatever the status; redirects are never tokens.
    public static func read(
        _ response: HTTPResponse, tolerance: Tolerance = .providers
    ) throws(OAuth2Error) -> TokenResponse {
        guard response.status == 200 else { throw failure(response) }
        let object = try body(response, tolerance)
        if let error = providerError(object, status: 200) { throw .provider(error) }
        return try TokenResponse(object, tolerance)
    }

    private static func body(_ response: HTTPResponse, _ tolerance: Tolerance) throws(OAuth2Error) -> JSONObject {
        let type = mediaType(response)
        let isJSON = type == nil || type == "application/json" || type?.hasSuffix("+json") == true
        if !isJSON, tolerance == .strict || type == "text/html" || type == "application/jwt" {
            throw .invalidResponse(
                member: "content_type",
                reason: "its content type is \((type ?? "").debugDescription), expected application/json")
        }
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue(parsing: response.body)
        } catch {
            // GitHub's and Facebook's older endpoints answer with a form.
            if tolerance == .providers, !isJSON, let form = form(response) { return form }
            throw .invalidResponse(member: "not_json", reason: "it is not JSON: \(error)")
        }
        guard let object = value.object else {
            throw .invalidResponse(member: "not_object", reason: "it is \(value.kind), expected an object")
        }
        return object
    }

    private static func form(_ response: HTTPResponse) -> JSONObject? {
        guard let text = String(validating: response.body, as: UTF8.self), let pairs = FormEncoding.decode(text),
            pairs.contains(where: { $0.name == "access_token" || $0.name == "error" })
        else { return nil }
        return JSONObject(pairs.map { JSONObject.Member(name: $0.name, value: .string($0.value)) })
    }

    static func mediaType(_ response: HTTPResponse) -> String? {
        guard let field = response.fields["Content-Type"] else { return nil }
        let type = field.prefix { $0 != ";" }.lowercased()
        return type.filter { $0 != " " && $0 != "\t" }
    }

    private init(_ object: JSONObject, _ tolerance: Tolerance) throws(OAuth2Error) {
        for name in object.duplicatedNames where Self.knownMembers.contains(name) {
            throw .invalidResponse(member: name, reason: "it has \(name) twice")
        }
        guard let token = try Self.token("access_token", object) else {
            throw .invalidResponse(member: "access_token", reason: "it has no access_token")
        }
        accessToken = token
        tokenType = try Self.type(object, tolerance)
        expiresIn = try Self.lifetime(object["expires_in"])
        refreshToken = try Self.token("refresh_token", object)
        scope = try Self.scope(object["scope"], tolerance)
        idToken = try Self.token("id_token", object)
        additional = JSONObject(object.members.filter { !Self.knownMembers.contains($0.name) })
    }

    private static func token(_ name: String, _ object: JSONObject) throws(OAuth2Error) -> Secret? {
        guard let value = object[name], !value.isNull else { return nil }
        guard let text = value.string else {
            throw .invalidResponse(member: name, reason: "its \(name) is \(value.kind), expected a string")
        }
        if text.isEmpty { return nil }
        // Tokens go into header fields: a space or a line break would let the provider write fields of its own.
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw .invalidResponse(member: name, reason: "its \(name) has characters that no token may have")
        }
        return Secret(text)
    }

    private static func type(_ object: JSONObject, _ tolerance: Tolerance) throws(OAuth2Error) -> String {
        let value = object["token_type"]
        if tolerance == .providers, value == nil || value == .null || value == "" { return "bearer" }
        guard let text = value?.string, !text.isEmpty else {
            throw .invalidResponse(member: "token_type", reason: "it has no token_type")
        }
        let type = text.lowercased()
        // Slack's user tokens and Salesforce's older answers name the bearer type in their own words.
        if tolerance == .providers, type == "user" || type == "bot" { return "bearer" }
        guard type == "bearer" else { throw .unsupportedTokenType(type) }
        return type
    }

    private static func lifetime(_ value: JSONValue?) throws(OAuth2Error) -> Int? {
        guard let value, !value.isNull else { return nil }
        let literal = value.number?.literal ?? value.string
        let seconds = literal.flatMap(Double.init)
        guard let literal, let seconds, !seconds.isNaN, seconds >= 0,
            literal.utf8.allSatisfy({ (0x30...0x39).contains($0) || [0x2B, 0x2D, 0x2E, 0x45, 0x65].contains($0) })
        else {
            throw .invalidResponse(
                member: "expires_in", reason: "its expires_in is \(value.kind) that is no number of seconds")
        }
        return seconds >= Double(maximumLifetime) ? maximumLifetime : Int(seconds)
    }

    private static func scope(_ value: JSONValue?, _ tolerance: Tolerance) throws(OAuth2Error) -> Scope? {
        switch value {
        case nil, .null: return nil
        case .string(let text):
            // GitHub and a few others separate by commas; no scope token of theirs has one.
            if tolerance == .providers, text.contains(","), !text.contains(" ") {
                return Scope(text.split(separator: ",").map(String.init))
            }
            return Scope(parsing: text)
        case .array(let elements) where tolerance == .providers: return Scope(elements.compactMap(\.string))
        case let value?:
            throw .invalidResponse(member: "scope", reason: "its scope is \(value.kind), expected a string")
        }
    }

    /// What an answer without tokens means.
    static func failure(_ response: HTTPResponse) -> OAuth2Error {
        if let value = try? JSONValue(parsing: response.body), let object = value.object,
            let error = providerError(object, status: response.status)
        {
            return .provider(error)
        }
        return .http(status: response.status, retryAfter: RetryAfter.seconds(response))
    }

    static func providerError(_ object: JSONObject, status: Int) -> ProviderError? {
        guard let code = object["error"]?.string, !code.isEmpty else { return nil }
        return ProviderError(
            code: ErrorCode(rawValue: code), explanation: object["error_description"]?.string,
            uri: object["error_uri"]?.string, status: status,
            correlationID: object["correlation_id"]?.string ?? object["trace_id"]?.string)
    }
}

extension TokenResponse: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The type, the lifetime and the scope; no tokens.
    public var description: String {
        let lifetime = expiresIn.map { "\($0) s" } ?? "unknown lifetime"
        return "\(tokenType) token, \(lifetime), scope \(scope?.text ?? "as asked for")"
    }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// The type, the lifetime and the scope; no tokens.
    public var customMirror: Mirror { Mirror(self, children: ["tokens": description]) }
}
