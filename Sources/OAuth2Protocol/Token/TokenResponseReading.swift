import LodgePlatform
import HTTPExchange
import JOSE
import StrictJSON

extension TokenResponse {
    private static let knownMembers: Set<String> = [
        "access_token", "token_type", "expires_in", "refresh_token", "scope", "id_token",
    ]

    /// Reads a response of the token endpoint.
    ///
    /// - Throws: ``OAuth2Error``. An `error` member is an error with any status, and a redirect is always an error.
    package static func read(
        _ response: HTTPResponse, expecting expectation: Expectation = .init(), quirks: ResponseQuirks = .providers
    ) throws(OAuth2Error) -> TokenResponse {
        guard response.status == 200 else { throw EndpointResponse.failure(response) }
        let object = try body(response, quirks)
        if let error = EndpointResponse.providerError(object, response) { throw .provider(error) }
        return try TokenResponse(tolerated(object, quirks), expectation, quirks)
    }

    private static func body(_ response: HTTPResponse, _ quirks: ResponseQuirks) throws(OAuth2Error) -> JSONObject {
        let type = EndpointResponse.mediaType(response)
        let isJSON = type == nil || type == "application/json" || type?.hasSuffix("+json") == true
        if isJSON { return try ResponseObject(response).members }
        if quirks.contains(.otherFormats), type != "application/jwt" {
            if let object = (try? JSONValue(parsing: response.body))?.object { return object }
            if let object = EndpointResponse.form(response) { return object }
        }
        throw .invalidResponse(
            member: "content_type",
            reason: "the content type is \(quoted(type ?? "")), expected application/json")
    }

    /// Returns the response with the standard names of its members.
    private static func tolerated(_ object: JSONObject, _ quirks: ResponseQuirks) -> JSONObject {
        var object = object
        func rename(_ other: String, _ name: String) {
            guard object[name] == nil, let value = object[other] else { return }
            object[other] = nil
            object[name] = value
        }
        if quirks.contains(.nestedUserToken), object["access_token"] == nil, let user = object["authed_user"]?.object {
            object = user
        }
        if quirks.contains(.nestedData), object["access_token"] == nil, let data = object["data"]?.object,
            data["access_token"] != nil
        {
            object = data
        }
        if quirks.contains(.camelCaseMembers) {
            rename("accessToken", "access_token")
            rename("tokenType", "token_type")
            rename("expiresIn", "expires_in")
            rename("refreshToken", "refresh_token")
            rename("idToken", "id_token")
        }
        if quirks.contains(.textualLifetime) { rename("expires", "expires_in") }
        if quirks.contains(.scopeLists) { rename("scopes", "scope") }
        return object
    }

    private init(
        _ members: JSONObject, _ expectation: Expectation, _ quirks: ResponseQuirks
    ) throws(OAuth2Error) {
        let object = try ResponseObject(members, unique: Self.knownMembers)
        accessToken = try object.requiredToken("access_token")
        tokenType = try Self.type(object["token_type"], quirks)
        guard expectation.tokenTypes.contains(tokenType) else {
            let tokens = ["access_token", "refresh_token", "id_token"].compactMap { object[$0]?.string?.lowercased() }
            throw .unsupportedTokenType(Self.shown(tokenType, hiding: tokens))
        }
        expiresIn = try Self.lifetime(object["expires_in"], quirks).map { .seconds($0) }
        refreshToken = try object.token("refresh_token")
        scope = try Self.scope(object["scope"], quirks)
        idToken = try object.token("id_token")
        if expectation.idToken { try Self.checkIDToken(idToken) }
        if expectation.issuedTokenType { try Self.checkIssuedType(object["issued_token_type"], expectation) }
        additional = JSONObject(members.members.filter { !Self.knownMembers.contains($0.name) })
    }

    /// Throws an error if the token is missing or does not look like a JWT: three parts, and the first is a JSON
    /// object.
    private static func checkIDToken(_ token: Secret?) throws(OAuth2Error) {
        guard let token else {
            throw .invalidResponse(
                member: "id_token_missing", reason: "id_token is missing although openid was requested")
        }
        let parts = token.value.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decode(parts[0]),
            (try? JSONValue(parsing: header))?.object != nil
        else {
            throw ResponseObject.error("id_token", "is not a signed JWT")
        }
    }

    private static func checkIssuedType(_ value: JSONValue?, _ expectation: Expectation) throws(OAuth2Error) {
        guard let type = value?.string, !type.isEmpty else {
            throw ResponseObject.error("issued_token_type", "is missing")
        }
        guard expectation.requestedTokenType == nil || expectation.requestedTokenType == type else {
            throw ResponseObject.error("issued_token_type", "is not the requested type")
        }
    }

    private static func type(_ value: JSONValue?, _ quirks: ResponseQuirks) throws(OAuth2Error) -> String {
        if quirks.contains(.missingTokenType), value == nil || value == .null || value == "" { return "bearer" }
        guard let text = value?.string, !text.isEmpty else {
            throw ResponseObject.error("token_type", "is missing")
        }
        let type = text.lowercased()
        if quirks.contains(.otherBearerNames), ["bot", "user", "user access token"].contains(type) {
            return "bearer"
        }
        return type
    }

    private static func lifetime(_ value: JSONValue?, _ quirks: ResponseQuirks) throws(OAuth2Error) -> Int? {
        guard let value, !value.isNull else { return nil }
        let literal = value.number?.literal ?? (quirks.contains(.textualLifetime) ? value.string : nil)
        let seconds = literal.flatMap(Double.init)
        guard let literal, let seconds, !seconds.isNaN, seconds >= 0,
            literal.utf8.allSatisfy({ (0x30...0x39).contains($0) || [0x2B, 0x2D, 0x2E, 0x45, 0x65].contains($0) })
        else {
            throw ResponseObject.error("expires_in", "is \(value.kind) that is not a number of seconds")
        }
        if seconds == 0, quirks.contains(.zeroLifetimeIsUnknown) { return nil }
        return seconds >= Double(maximumLifetime) ? maximumLifetime : Int(seconds)
    }

    private static func scope(_ value: JSONValue?, _ quirks: ResponseQuirks) throws(OAuth2Error) -> Scope? {
        switch value {
        case nil, .null: return nil
        case .string(let text):
            guard quirks.contains(.commaSeparatedScope) else { return Scope(parsing: text) }
            return Scope(text.split { $0 == "," || $0 == " " }.map(String.init))
        case .array(let elements) where quirks.contains(.scopeLists): return Scope(elements.compactMap(\.string))
        case let value?: throw ResponseObject.error("scope", "is \(value.kind), expected a string")
        }
    }
}
