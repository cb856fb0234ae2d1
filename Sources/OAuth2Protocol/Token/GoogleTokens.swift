import HTTPExchange
import JOSE
import LodgePlatform
import StrictJSON

/// The key of a service account of Google, as its file contains it.
package struct GoogleServiceAccountKey: Sendable {
    /// The mail address of the account, which is its identifier.
    package let mail: String
    /// The client ID of the account, for the delegation.
    package let clientID: String?
    /// The token endpoint in the file, not checked.
    package let tokenURI: String
    /// The identifier of the key, as the console of Google shows it.
    package let keyID: String?
    private let key: JWK

    /// Creates a key from its file.
    ///
    /// - Throws: ``OAuth2Error/configuration(_:)`` without any content of the file.
    package init(parsing bytes: [UInt8]) throws(OAuth2Error) {
        guard let object = (try? JSONValue(parsing: bytes))?.object else {
            throw .configuration("the file is not a JSON object")
        }
        guard object.text("type") == "service_account", let mail = object.text("client_email"),
            let pem = object.text("private_key")
        else {
            let isExternal = object.text("type") == "external_account"
            throw .configuration(
                isExternal
                    ? "the file is an external_account, which needs the grant externalAccount"
                    : "the file is not a service_account with client_email and private_key")
        }
        do throws(CertificateError) {
            key = try JWK(privateKeyPEM: Array(pem.utf8))
        } catch {
            throw .configuration("private_key in the file is \(error.found)")
        }
        guard key.canSign(with: .rs256) else { throw .configuration("private_key in the file is not an RSA key") }
        self.mail = mail
        clientID = object.text("client_id")
        keyID = object.text("private_key_id")
        tokenURI = object.text("token_uri") ?? GoogleTokens.tokenEndpoint
    }

    /// Signs an assertion about the account.
    ///
    /// - Parameters:
    ///   - subject: The user that the account represents, or `nil` for itself.
    ///   - now: Seconds since 1970.
    package func assertion(scope: String, subject: String?, now: Double) throws(OAuth2Error) -> Secret {
        var header: JSONObject = ["typ": "JWT"]
        if let keyID { header["kid"] = .string(keyID) }
        let claims = GoogleTokens.claims(of: mail, scope: scope, subject: subject, now: now)
        do throws(JOSEError) {
            return Secret(try JWT.sign(claims, with: key, algorithm: .rs256, header: header))
        } catch {
            throw .configuration("the assertion cannot be signed: \(error)")
        }
    }
}

extension GoogleServiceAccountKey: Redacted {
    /// The mail address, without the key.
    package var description: String { "service account \(mail)" }
}

/// The requests for tokens of Google without a user.
package enum GoogleTokens {
    /// The token endpoint, and the audience of assertions for every token endpoint.
    package static let tokenEndpoint = "https://oauth2.googleapis.com/token"
    /// The scope of a token for impersonations.
    package static let impersonationScope = "https://www.googleapis.com/auth/iam"
    private static let lifetime: Int64 = 3600

    static func claims(of mail: String, scope: String, subject: String?, now: Double) -> JSONObject {
        let issued = Int64(min(max(now, 0), 1e15))
        var claims: JSONObject = [
            "iss": .string(mail), "scope": .string(scope), "aud": .string(tokenEndpoint),
            "iat": .number(JSONNumber(issued)), "exp": .number(JSONNumber(issued + lifetime)),
        ]
        if let subject { claims["sub"] = .string(subject) }
        return claims
    }

    private static func form(_ pairs: [FormEncoding.Pair], to url: URL) -> HTTPRequest {
        var request = HTTPRequest(
            .post, url,
            fields: ["Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"],
            body: Data(FormEncoding.encode(pairs).utf8))
        request.maximumResponseSize = ManagedIdentityRequest.maximumResponseSize
        return request
    }

    private static func json(_ object: JSONObject, to url: URL, bearer: Secret) -> HTTPRequest {
        var request = HTTPRequest(
            .post, url,
            fields: [
                "Content-Type": "application/json", "Accept": "application/json",
                "Authorization": "Bearer \(bearer.value)",
            ],
            body: Data(JSONValue.object(object).serialized()))
        request.maximumResponseSize = ManagedIdentityRequest.maximumResponseSize
        return request
    }

    /// Returns a token without the members that the store must not save.
    private static func plain(_ token: TokenResponse) -> TokenResponse {
        var token = token
        token.refreshToken = nil
        token.idToken = nil
        token.additional = [:]
        return token
    }

    // MARK: The metadata service

    /// Returns the request for a token of the machine's service account.
    package static func metadataRequest(_ url: URL, scope: Scope) -> HTTPRequest {
        var request = ManagedIdentityRequest.get(
            url, scope.isEmpty ? [] : [("scopes", scope.tokens.joined(separator: ","))],
            ["Metadata-Flavor": "Google"], connecting: 3)
        request.timeout = .seconds(3)
        return request
    }

    /// Reads the response of the metadata service. Without its header field, it is of another service.
    package static func readMetadata(_ response: HTTPResponse) throws(OAuth2Error) -> TokenResponse {
        guard response.fields["Metadata-Flavor"] == "Google" else {
            throw ResponseObject.error("Metadata-Flavor", "is missing: this is not Google's metadata service")
        }
        guard response.status == 200 else { throw .http(status: response.status, retryAfter: response.retryDelay) }
        return plain(try TokenResponse.read(response))
    }

    // MARK: Service accounts

    /// Returns the request that exchanges an assertion for a token (RFC 7523 section 2.1).
    package static func tokenRequest(_ url: URL, assertion: Secret) -> HTTPRequest {
        form(
            [("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"), ("assertion", assertion.value)], to: url)
    }

    package static func read(_ response: HTTPResponse) throws(OAuth2Error) -> TokenResponse {
        plain(try TokenResponse.read(response))
    }

    // MARK: External accounts

    /// Returns the request that exchanges the token of another provider for one of Google (RFC 8693).
    package static func exchangeRequest(
        _ account: GoogleExternalAccount, _ url: URL, subjectToken: Secret, scope: String
    ) -> HTTPRequest {
        var pairs: [FormEncoding.Pair] = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"), ("audience", account.audience),
            ("scope", scope), ("requested_token_type", TokenExchange.accessTokenType),
            ("subject_token", subjectToken.value), ("subject_token_type", account.subjectTokenType),
        ]
        if let project = account.userProject {
            pairs.append(("options", JSONValue.object(["userProject": .string(project)]).text()))
        }
        return form(pairs, to: url)
    }

    /// Returns the request for a token of a service account.
    package static func impersonationRequest(_ url: URL, scope: Scope, bearer: Secret) -> HTTPRequest {
        json(
            [
                "delegates": [], "scope": .array(scope.tokens.map { .string($0) }),
                "lifetime": .string("\(lifetime)s"),
            ], to: url, bearer: bearer)
    }

    /// Reads the token of a service account.
    ///
    /// - Parameter now: The time of this machine in seconds since 1970. The `Date` field of the response has priority.
    package static func readImpersonation(_ response: HTTPResponse, now: Double) throws(OAuth2Error) -> TokenResponse {
        let object = try success(response)
        var token = TokenResponse(accessToken: try object.requiredToken("accessToken"))
        guard let end = object.text("expireTime").flatMap(date) else {
            throw ResponseObject.error("expireTime", "is not a time (RFC 3339)")
        }
        let start = response.fields["Date"].flatMap(HTTPDate.parse)?.timeIntervalSince1970 ?? now
        let seconds = end - start
        guard seconds >= 1 else {
            throw ResponseObject.error("expireTime", "is in the past: check the clock of this machine")
        }
        token.expiresIn = .seconds(Int(min(seconds, Double(TokenResponse.maximumLifetime))))
        return token
    }

    /// Returns the request that signs an assertion with a key of Google.
    package static func signingRequest(
        _ url: URL, mail: String, scope: String, subject: String, bearer: Secret, now: Double
    ) -> HTTPRequest {
        let claims = claims(of: mail, scope: scope, subject: subject, now: now)
        return json(
            ["delegates": [], "payload": .string(JSONValue.object(claims).text())], to: url, bearer: bearer)
    }

    /// Reads a signed assertion.
    package static func readSigned(_ response: HTTPResponse) throws(OAuth2Error) -> Secret {
        try success(response).requiredToken("signedJwt")
    }

    private static func success(_ response: HTTPResponse) throws(OAuth2Error) -> ResponseObject {
        guard response.status == 200 else { throw EndpointResponse.failure(response) }
        return try ResponseObject(response)
    }

    /// Returns the seconds since 1970 of a time in UTC, as Google sends it: `2026-11-24T10:00:00Z`.
    private static func date(_ text: String) -> Double? {
        guard let match = text.wholeMatch(of: /(\d{4})-(\d\d)-(\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?Z/),
            let year = Int(match.1), let month = Int(match.2), let day = Int(match.3)
        else { return nil }
        return Date(year: year, month: month, day: day, time: match.4)?.timeIntervalSince1970
    }
}

/// A file of Google's workload identity federation: another provider identifies the application.
package struct GoogleExternalAccount: Sendable, Equatable {
    /// The source of the token of the other provider.
    package enum Source: Sendable, Equatable {
        case file(String)
        case url(String, headers: [String: String])
        case command([String])
    }

    /// The resource of the identity provider at Google.
    package let audience: String
    package let subjectTokenType: String
    /// The endpoint of the exchange, not checked.
    package let tokenURL: String
    /// The endpoint of the impersonation, not checked.
    package let impersonationURL: String?
    package let userProject: String?
    package let source: Source
    /// The member of a JSON source with the token, or `nil` if the source is the token.
    package let member: String?

    /// Creates an account from its file.
    ///
    /// - Throws: ``OAuth2Error/configuration(_:)`` that names the member.
    package init(parsing bytes: [UInt8]) throws(OAuth2Error) {
        guard let object = (try? JSONValue(parsing: bytes))?.object else {
            throw .configuration("the file is not a JSON object")
        }
        guard object.text("type") == "external_account" else {
            throw .configuration("the file is not an external_account")
        }
        func required(_ name: String) throws(OAuth2Error) -> String {
            guard let text = object.text(name) else { throw .configuration("\(name) is missing in the file") }
            return text
        }
        audience = try required("audience")
        subjectTokenType = try required("subject_token_type")
        tokenURL = object.text("token_url") ?? "https://sts.googleapis.com/v1/token"
        impersonationURL = object.text("service_account_impersonation_url")
        userProject = object.text("workforce_pool_user_project")
        guard let source = object["credential_source"]?.object else {
            throw .configuration("credential_source is missing in the file")
        }
        if let environment = source.text("environment_id") {
            let isAWS = environment.hasPrefix("aws")
            throw .configuration(
                isAWS
                    ? "credential_source is AWS, whose signed requests are not supported; use a file, a url or an executable"
                    : "credential_source has an environment_id that is not supported")
        }
        let kinds = ["file", "url", "executable"].filter { source[$0] != nil }
        guard kinds.count == 1 else {
            throw .configuration("credential_source needs exactly one of file, url and executable")
        }
        if let file = source.text("file") {
            self.source = .file(file)
        } else if let url = source.text("url") {
            self.source = .url(url, headers: try Self.headers(source["headers"]))
        } else if let command = source["executable"]?.object {
            self.source = .command(try Self.words(command["command"]))
        } else {
            throw .configuration("\(kinds[0]) in credential_source has another form")
        }
        let format = source["format"]?.object
        switch format?.text("type") ?? "text" {
        case "text": member = nil
        case "json":
            guard let name = format?.text("subject_token_field_name") else {
                throw .configuration("subject_token_field_name is missing in the format of credential_source")
            }
            member = name
        default: throw .configuration("the format of credential_source is neither text nor json")
        }
    }

    private static func headers(_ value: JSONValue?) throws(OAuth2Error) -> [String: String] {
        var headers: [String: String] = [:]
        for header in value?.object?.members ?? [] {
            guard let text = header.value.string, HTTPFields.isToken(header.name), HTTPFields.isValue(text) else {
                throw .configuration("headers of credential_source are not header fields")
            }
            headers[header.name] = text
        }
        return headers
    }

    /// Returns the words of a command. The file has one text with spaces, in which no shell looks for quotes.
    private static func words(_ value: JSONValue?) throws(OAuth2Error) -> [String] {
        let words = value?.string?.split(separator: " ").map(String.init) ?? value?.array?.compactMap(\.string) ?? []
        guard let first = words.first, !first.isEmpty, !words.contains(where: { $0.utf8.contains(0) }) else {
            throw .configuration("command in credential_source is missing")
        }
        return words
    }

    /// The mail address of the service account that the impersonation names.
    package var serviceAccount: String? {
        guard let url = impersonationURL, let start = url.firstRange(of: "/serviceAccounts/"),
            let end = url.firstRange(of: ":generateAccessToken"), start.upperBound < end.lowerBound
        else { return nil }
        let mail = url[start.upperBound..<end.lowerBound]
        return mail.contains("/") ? nil : String(mail)
    }

    /// The endpoint that signs assertions of the service account.
    package var signingURL: String? {
        serviceAccount == nil ? nil : impersonationURL.map { $0.replacing(":generateAccessToken", with: ":signJwt") }
    }

    /// Returns the token of the other provider in the text of its source.
    ///
    /// - Throws: ``OAuth2Error/configuration(_:)`` without the text. A file without a token, such as one with passwords, is
    ///   refused, because the token is sent to Google.
    package func subjectToken(in bytes: [UInt8]) throws(OAuth2Error) -> Secret {
        var text = String(decoding: bytes, as: UTF8.self)
        if case .command = source {
            text = try Self.commandToken(bytes)
        } else if let member {
            guard let object = (try? JSONValue(parsing: bytes))?.object, let found = object.text(member) else {
                throw .configuration("the source of the token has no member \(member)")
            }
            text = found
        }
        while text.last?.isWhitespace == true { text.removeLast() }
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw .configuration("the source of the token is empty or has characters that a token cannot contain")
        }
        return Secret(text)
    }

    /// Reads the response of a command, as Google defines it.
    private static func commandToken(_ bytes: [UInt8]) throws(OAuth2Error) -> String {
        guard let object = (try? JSONValue(parsing: bytes))?.object, object["version"]?.number?.int64 == 1 else {
            throw .configuration("the command did not print a response of version 1")
        }
        guard object["success"]?.bool == true else {
            throw .configuration("the command reports an error: \(quoted(object.text("code") ?? "without a code"))")
        }
        guard let token = object.text("id_token") ?? object.text("saml_response") else {
            throw .configuration("the command printed no id_token and no saml_response")
        }
        return token
    }
}
