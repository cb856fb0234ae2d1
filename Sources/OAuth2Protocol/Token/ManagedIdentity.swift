import HTTPExchange
import LodgePlatform
import StrictJSON

/// An identity of an application that the platform manages: the service that issues its tokens, and one of several identities.
package struct ManagedIdentity: Sendable, Equatable {
    /// A service of the platform that issues tokens.
    package enum Source: String, Sendable, Equatable, CaseIterable {
        /// The metadata service of Azure's virtual machines.
        case imds
        /// App Service, Functions, Container Apps and Automation.
        case appService
        /// The agent on a server outside Azure.
        case azureArc
        /// The shell in the browser, with the identity of its user.
        case cloudShell
        /// The compute instances of Machine Learning.
        case machineLearning
        /// The metadata service of Google Compute.
        case google
    }

    /// An identity of a machine that has several.
    package enum Identity: Sendable, Equatable {
        case clientID(String)
        case objectID(String)
        case resourceID(String)

        /// The identifier.
        package var text: String {
            switch self {
            case .clientID(let text), .objectID(let text), .resourceID(let text): text
            }
        }
    }

    /// The source, or `nil` to detect it.
    package var source: Source?
    /// The identity, or `nil` for the identity that the platform assigned to the machine.
    package var identity: Identity?

    /// Creates the identity of a machine.
    package init(source: Source? = nil, identity: Identity? = nil) {
        self.source = source
        self.identity = identity
    }
}

/// A request for a token of a managed identity of Azure.
///
/// Each source has its own names for the same parameters.
package struct ManagedIdentityRequest: Sendable {
    /// The service that issues the token, and what the environment says about it.
    package enum Endpoint: Sendable, Equatable {
        case imds(URL)
        case appService(URL, header: Secret)
        case azureArc(URL)
        case cloudShell(URL)
        case machineLearning(URL, secret: Secret)

        /// The source.
        package var source: ManagedIdentity.Source {
            switch self {
            case .imds: .imds
            case .appService: .appService
            case .azureArc: .azureArc
            case .cloudShell: .cloudShell
            case .machineLearning: .machineLearning
            }
        }

        /// The URL.
        package var url: URL {
            switch self {
            case .imds(let url), .appService(let url, _), .azureArc(let url), .cloudShell(let url),
                .machineLearning(let url, _):
                url
            }
        }
    }

    /// The maximum size of a response in bytes.
    package static let maximumResponseSize = 64 * 1024
    /// The time limit of an attempt.
    package static let timeout = Duration.seconds(10)

    /// The request to send. It may go to a link-local address by plain http.
    package let request: HTTPRequest
    private let endpoint: Endpoint
    private let identity: ManagedIdentity.Identity?

    /// Creates the request.
    ///
    /// - Parameters:
    ///   - resource: The resource of the token: the scope without `/.default`.
    ///   - challenge: The content of the file that Azure Arc named, for the second request.
    /// - Throws: ``OAuth2Error/configuration(_:)`` if the source does not support the identity.
    package init(
        to endpoint: Endpoint, resource: String, identity: ManagedIdentity.Identity?, challenge: Secret? = nil
    ) throws(OAuth2Error) {
        var pairs = [("resource", resource)]
        if let identity { pairs.append((try Self.name(of: identity, at: endpoint), identity.text)) }
        self.endpoint = endpoint
        self.identity = identity
        switch endpoint {
        case .imds(let url):
            request = Self.get(url, [("api-version", "2018-02-01")] + pairs, ["Metadata": "true"], connecting: 2)
        case .appService(let url, let header):
            request = Self.get(
                url, [("api-version", "2019-08-01")] + pairs, ["X-IDENTITY-HEADER": header.value])
        case .azureArc(let url):
            var fields: HTTPFields = ["Metadata": "true"]
            if let challenge { fields["Authorization"] = "Basic \(challenge.value)" }
            request = Self.get(url, [("api-version", "2020-06-01")] + pairs, fields)
        case .machineLearning(let url, let secret):
            request = Self.get(url, [("api-version", "2017-09-01")] + pairs, ["secret": secret.value])
        case .cloudShell(let url):
            request = Self.limited(
                HTTPRequest(
                    .post, url,
                    fields: ["Metadata": "true", "Content-Type": "application/x-www-form-urlencoded"],
                    body: Data(FormEncoding.encode(pairs).utf8)))
        }
    }

    /// Returns the request that shows whether a machine has Azure's metadata service, which rejects it with status 400.
    package static func probe(_ url: URL) -> HTTPRequest {
        var request = get(url, [("api-version", "2018-02-01")], [:], connecting: 1)
        request.timeout = .seconds(2)
        return request
    }

    /// Returns a request to a service of the platform with the limits of these services.
    package static func get(
        _ url: URL, _ pairs: [FormEncoding.Pair], _ fields: HTTPFields, connecting seconds: Int = 10
    ) -> HTTPRequest {
        let text = url.absoluteString
        let query = FormEncoding.encode(pairs)
        let address = query.isEmpty ? url : URL(string: text + (text.contains("?") ? "&" : "?") + query) ?? url
        var request = limited(HTTPRequest(.get, address, fields: fields))
        request.connectTimeout = .seconds(seconds)
        return request
    }

    private static func limited(_ request: HTTPRequest) -> HTTPRequest {
        var request = request
        request.allowsLinkLocal = true
        request.timeout = timeout
        request.maximumResponseSize = maximumResponseSize
        return request
    }

    private static func name(
        of identity: ManagedIdentity.Identity, at endpoint: Endpoint
    ) throws(OAuth2Error) -> String {
        switch (endpoint, identity) {
        case (.machineLearning, .clientID): "clientid"
        case (.machineLearning, _), (.cloudShell, _):
            throw .configuration("the source \(endpoint.source.rawValue) cannot select this managed identity")
        case (_, .clientID): "client_id"
        case (_, .objectID): "object_id"
        case (.appService, .resourceID): "mi_res_id"
        case (_, .resourceID): "msi_res_id"
        }
    }
}

extension ManagedIdentityRequest {
    /// The minimum lifetime of a token that is refreshed at half its lifetime, in seconds.
    private static let longLifetime = 7200

    /// Reads the response.
    ///
    /// - Parameter now: The time of this machine in seconds since 1970. The `Date` field of the response has priority.
    /// - Throws: ``OAuth2Error``.
    package func read(_ response: HTTPResponse, now: Double) throws(OAuth2Error) -> TokenResponse {
        guard response.status == 200 else { throw Self.failure(response) }
        let object = try ResponseObject(response, unique: ["access_token", "expires_on"])
        if let error = Self.providerError(object.members, response) { throw .provider(error) }
        try checkIdentity(object)
        var token = TokenResponse(accessToken: try object.requiredToken("access_token"))
        let type = object.text("token_type") ?? "bearer"
        guard type.lowercased() == "bearer" else { throw .unsupportedTokenType(type) }
        let date = response.fields["Date"].flatMap(HTTPDate.parse)?.timeIntervalSince1970
        if let lifetime = try Self.lifetime(object.members, now: date ?? now) {
            token.expiresIn = .seconds(lifetime)
            let early = object.members.seconds("refresh_in").map { Int(min($0, Double(lifetime))) }
            if let early = early ?? (lifetime >= Self.longLifetime ? lifetime / 2 : nil) {
                token.additional = ["refresh_in": .number(JSONNumber(Int64(early)))]
            }
        }
        return token
    }

    /// Returns the lifetime in seconds. `expires_on` has priority, because App Service has no other member. A value in
    /// another form, as older services send it, is ignored.
    private static func lifetime(_ object: JSONObject, now: Double) throws(OAuth2Error) -> Int? {
        let limit = Double(TokenResponse.maximumLifetime)
        if let end = object.seconds("expires_on") {
            let seconds = end - now
            guard seconds >= 1 else {
                throw ResponseObject.error("expires_on", "is in the past: check the clock of this machine")
            }
            return Int(min(seconds, limit))
        }
        guard let seconds = object.seconds("expires_in") else { return nil }
        guard seconds >= 1 else { throw ResponseObject.error("expires_in", "is not a positive number of seconds") }
        return Int(min(seconds, limit))
    }

    /// Throws if the response is for an identity other than the requested one. Old agents of Azure Arc ignore the
    /// request, so they must confirm it.
    private func checkIdentity(_ object: ResponseObject) throws(OAuth2Error) {
        guard let identity else { return }
        let names =
            switch identity {
            case .clientID: ["client_id"]
            case .objectID: ["object_id"]
            case .resourceID: ["msi_res_id", "mi_res_id"]
            }
        let echo = names.lazy.compactMap { object.text($0) }.first
        guard let echo else {
            guard endpoint.source == .azureArc else { return }
            throw ResponseObject.error(names[0], "is missing, so that the token can be of another identity")
        }
        guard echo.lowercased() == identity.text.lowercased() else {
            throw ResponseObject.error(names[0], "is not the requested identity")
        }
    }

    /// Returns the error of a response that is not a success.
    package static func failure(_ response: HTTPResponse) -> OAuth2Error {
        guard !response.isMarkup, let object = (try? JSONValue(parsing: response.body))?.object,
            let error = providerError(object, response)
        else { return .http(status: response.status, retryAfter: response.retryDelay) }
        return .provider(error)
    }

    /// Returns the error of a response: of IMDS and Arc, of App Service, or nested as in Cloud Shell.
    private static func providerError(_ object: JSONObject, _ response: HTTPResponse) -> ProviderError? {
        let nested = object["error"]?.object
        let code = nested?.text("code") ?? object.text("error")
        let explanation = nested?.text("message") ?? object.text("error_description") ?? object.text("message")
        guard let code = code ?? (object["statusCode"] == nil ? nil : "status_\(response.status)") else { return nil }
        var error = ProviderError(
            code: ErrorCode(rawValue: code), explanation: explanation, status: response.status,
            correlationID: object.text("correlation_id") ?? object.text("trace_id"))
        error.retryAfter = response.retryDelay
        return error
    }
}

extension ManagedIdentityRequest {
    /// The folder of the files that Azure Arc names in its challenge.
    package static let challengeFolder = "/var/opt/azcmagent/tokens"
    /// The maximum size of such a file in bytes.
    package static let maximumChallengeSize = 4096

    /// Returns the path of the file in the challenge of Azure Arc.
    ///
    /// - Throws: ``OAuth2Error`` if it is not a file with the suffix `.key` directly in the folder. The program must not
    ///   read any other file, because its content would be sent.
    package static func challengeFile(
        _ response: HTTPResponse, folder: String = challengeFolder
    ) throws(OAuth2Error) -> String {
        func rejection(_ reason: String) -> OAuth2Error {
            .invalidResponse(member: "WWW-Authenticate", reason: "the challenge of Azure Arc \(reason)")
        }
        guard response.status == 401, let field = response.fields["WWW-Authenticate"] else {
            throw rejection("is missing")
        }
        guard let equals = field.firstIndex(of: "="),
            field[..<equals].trimmed().lowercased() == "basic realm"
        else { throw rejection("is not Basic with a realm") }
        var path = field[field.index(after: equals)...].trimmed()
        if path.utf8.count > 1, path.hasPrefix("\""), path.hasSuffix("\"") {
            path = String(path.dropFirst().dropLast())
        }
        let prefix = folder + "/"
        let name = path.dropFirst(prefix.count)
        guard path.hasPrefix(prefix), !name.contains("/"), !name.hasPrefix("."), name.hasSuffix(".key"),
            name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else { throw rejection("names a file that is not a key of its agent; the file was not read") }
        return path
    }
}

extension StringProtocol {
    fileprivate func trimmed() -> String {
        String(drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
    }
}

/// The delays between the attempts of a request to a service of the platform.
///
/// The services document them: an update of Azure's metadata service takes up to 70 seconds.
package struct MetadataRetryPolicy: Sendable {
    /// Whether the service is Azure's metadata service, which documents more cases.
    let isIMDS: Bool
    private let maximumRetries: Int
    private var attempts = 0
    /// The delays so far during an update of the service.
    private var updating = Duration.zero

    /// Creates the policy of a request.
    package init(isIMDS: Bool = false, maximumRetries: Int = 3) {
        self.isIMDS = isIMDS
        self.maximumRetries = maximumRetries
    }

    private static let maximumUpdate = Duration.seconds(70)
    /// The maximum delay that a service can request.
    private static let maximumDelay = Duration.seconds(60)

    /// Returns the delay before the next attempt, or `nil` if the last attempt failed.
    ///
    /// - Parameter response: The response, or `nil` after the time limit.
    package mutating func delay(after response: HTTPResponse?) -> Duration? {
        let status = response?.status ?? 0
        if isIMDS, status == 410 {
            let delay = response?.retryDelay.map { min(max($0, .seconds(1)), Self.maximumDelay) } ?? .seconds(10)
            guard updating + delay <= Self.maximumUpdate else { return nil }
            updating += delay
            return delay
        }
        let mayRetry =
            switch status {
            case 0, 429, 500...599: true
            case 404: isIMDS
            case 400: isIMDS && response.map(Self.saysNotFound) ?? false
            default: false
            }
        guard mayRetry, attempts < maximumRetries else { return nil }
        let seconds = (status == 429 ? 2 : 1) << attempts
        attempts += 1
        return response?.retryDelay.map { min($0, Self.maximumDelay) } ?? .seconds(seconds)
    }

    /// Returns whether the service does not know the identity yet. A new assignment takes time.
    private static func saysNotFound(_ response: HTTPResponse) -> Bool {
        guard case .provider(let error) = ManagedIdentityRequest.failure(response) else { return false }
        return error.explanation?.lowercased() == "identity not found"
    }
}
