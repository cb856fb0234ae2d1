import LodgePlatform
import JOSE
import OAuth2Protocol
import StrictJSON

/// The parameters of a sign-in: the options of the caller, and otherwise the settings of the type.
struct AuthorizationParameters {
    /// The scope of the first access token.
    var scope: Scope
    /// The scope of the user's consent, including the scope for later requests.
    let consent: Scope
    var request = AuthorizationRequest.Options()
    /// The authentication context classes, of which the ID token must have one.
    var requiredContextClasses: [String]

    /// Creates the parameters from the options of the caller and the settings of the type.
    ///
    /// - Throws: `OAuth2Error` if the claims are not a JSON object, or a value is out of range.
    init(_ options: SignInOptions, _ type: AccountType) throws(OAuth2Error) {
        scope = options.scope ?? type.scope
        consent = scope.union(options.extraScopesToConsent)
        var parameters = type.authorizationParameters.merging(options.parameters) { _, requested in requested }
        if let domain = options.domainHint { parameters["domain_hint"] = domain }
        request.prompt = options.prompt.map(\.rawValue)
        request.loginHint = options.loginHint
        // The ID token is checked for both values, even if they come from the settings.
        request.maximumAge = try Self.maximumAge(options.maximumAge, parameters.removeValue(forKey: "max_age"))
        let classes = parameters.removeValue(forKey: "acr_values")?.split(separator: " ").map(String.init)
        request.contextClasses = options.contextClasses.isEmpty ? classes ?? [] : options.contextClasses
        let additional = parameters.removeValue(forKey: "claims")
        let claims = try Self.claims(options.claims ?? additional, type)
        request.claims = claims.map { JSONValue.object($0).text() }
        request.resources = type.resources
        request.authorizationDetails = type.authorizationDetails
        request.parameters = parameters
        requiredContextClasses = Self.essentialClasses(claims) ?? request.contextClasses
    }

    /// The additional parameters of a sign-in without a browser.
    var directParameters: [String: String] {
        var parameters = request.parameters
        if let hint = request.loginHint { parameters["login_hint"] = hint }
        if let claims = request.claims { parameters["claims"] = claims }
        if !request.contextClasses.isEmpty { parameters["acr_values"] = request.contextClasses.joined(separator: " ") }
        if let age = request.maximumAge { parameters["max_age"] = String(age) }
        return parameters
    }

    private static func maximumAge(_ option: Duration?, _ parameter: String?) throws(OAuth2Error) -> Int? {
        let age: Int64
        if let option {
            age = option.components.seconds
        } else {
            guard let parameter else { return nil }
            guard let seconds = Int64(parameter) else {
                throw .configuration("max_age is not a whole number of seconds")
            }
            age = seconds
        }
        guard (0...1_000_000_000).contains(age) else { throw .configuration("max_age is out of range") }
        return Int(age)
    }

    private static func claims(_ text: String?, _ type: AccountType) throws(OAuth2Error) -> JSONObject? {
        var requested: JSONObject?
        if let text, !text.isEmpty {
            requested = (try? JSONValue(parsing: text))?.object
            guard requested != nil else {
                throw .configuration(
                    "the claims to ask for are not a JSON object; expected such as {\"id_token\": {…}}")
            }
        }
        return ClaimsParameter.merged(
            capabilities: type.clientCapabilities, claims: type.claims, challenge: requested)
    }

    /// Returns the classes that the `claims` parameter makes essential (OpenID Connect Core 1.0 section 5.5.1.1).
    private static func essentialClasses(_ claims: JSONObject?) -> [String]? {
        guard let wanted = claims?[path: "id_token", "acr"]?.object, wanted["essential"]?.bool == true else {
            return nil
        }
        let classes = wanted["values"]?.array?.compactMap(\.string) ?? wanted["value"]?.string.map { [$0] } ?? []
        return classes.isEmpty ? nil : classes
    }
}

extension ProviderClient {
    /// Creates the authorization request: a plain one, a signed one (RFC 9101) or a pushed one (RFC 9126).
    func authorizationRequest(_ requested: AuthorizationParameters, redirectURI: RedirectURI) async throws
        -> AuthorizationRequest
    {
        // Prefer pushed requests: other users of the machine can read the arguments of the browser, and the URL of a
        // pushed request has no `state`.
        let isRequired = type.pushedAuthorizationRequests ?? server.requiresPushedAuthorizationRequests
        let isOffered = server.pushedAuthorizationRequestEndpoint != nil && type.pushedAuthorizationRequests != false
        let key = type.requestObjectSigning ? try requestSigningKey() : nil
        let now = serverTime(of: server.tokenEndpoint)
        if isRequired || isOffered {
            let pushed = try await PushedAuthorizationRequest(
                server: server, client: preparedClient(), redirectURI: redirectURI, scope: requested.consent,
                options: requested.request, signedWith: key, now: now, random: dependencies.random)
            let response = try await send(pushed.request)
            do throws(OAuth2Error) {
                return try AuthorizationRequest(
                    pushed: PushedAuthorizationResponse.read(response), server: server, client: client,
                    pending: pushed.pending)
            } catch {
                // Some providers accept pushed requests from other clients only. Continue without pushing.
                guard !isRequired, (400..<500).contains(response.status), !error.isTransient else { throw error }
            }
        }
        let plain = try AuthorizationRequest(
            server: server, client: client, redirectURI: redirectURI, scope: requested.consent,
            options: requested.request,
            random: dependencies.random)
        guard let key else { return plain }
        return try AuthorizationRequest(
            signedWith: key, server: server, client: client, pending: plain.pending, options: requested.request,
            now: now,
            random: dependencies.random)
    }
}
