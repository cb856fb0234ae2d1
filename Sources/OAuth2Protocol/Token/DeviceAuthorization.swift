import Platform
import HTTPExchange
import StrictJSON

/// The request that begins the device grant: signing in on another device, for machines without a browser.
///
/// [RFC 8628 section 3.1](https://www.rfc-editor.org/rfc/rfc8628#section-3.1)
public struct DeviceAuthorizationRequest: Sendable {
    /// The request to send.
    public let request: HTTPRequest

    /// Builds the request.
    ///
    /// - Throws: ``OAuth2Error/configuration(_:)`` when the provider does not offer the grant, or a scope token or an extra
    ///   parameter may not be sent.
    public init(
        server: AuthorizationServer, client: Client, scope: Scope, parameters: [String: String] = [:],
        headers: [String: String] = [:], resources: [String] = []
    ) throws(OAuth2Error) {
        guard let endpoint = server.deviceAuthorizationEndpoint else {
            throw .configuration(
                server.unusable["device_authorization_endpoint"] ?? "the provider does not offer the device grant")
        }
        try scope.check()
        var pairs: [FormEncoding.Pair] = scope.isEmpty ? [] : [("scope", scope.text)]
        pairs += try RequestParameters.resources(resources)
        pairs += try RequestParameters.extra(parameters, besides: Set(pairs.map(\.name)))
        var request = try client.request(pairs, endpoint: endpoint, headers: headers)
        // Section 3.1 wants the client named in the form; with HTTP Basic too, many servers insist on it.
        if !client.authentication.namesClientInForm {
            let separator = pairs.isEmpty ? "" : "&"
            request.body?.append(contentsOf: (separator + FormEncoding.encode([("client_id", client.id)])).utf8)
        }
        self.request = request
    }
}

/// What the person needs to sign in on another device, and what the client needs to ask for the outcome.
///
/// [RFC 8628 section 3.2](https://www.rfc-editor.org/rfc/rfc8628#section-3.2)
public struct DeviceAuthorization: Sendable, Equatable {
    /// The secret with which the client asks for the outcome.
    public let deviceCode: Secret
    /// The code that the person types. From the provider: make control characters visible before showing it.
    public let userCode: String
    /// The address that the person visits.
    public let verificationURI: URL
    /// The same with the code in it. Show the code beside it all the same, so that the person can compare (section 3.3.1).
    public let verificationURIComplete: URL?
    /// How long the codes are good, in seconds.
    public let expiresIn: Int
    /// How many seconds to wait between polls, at least one.
    public let interval: Int

    private static let knownMembers: Set<String> = [
        "device_code", "user_code", "verification_uri", "verification_url", "verification_uri_complete", "expires_in",
        "interval",
    ]

    /// Reads the answer.
    ///
    /// - Parameter tolerance: ``TokenResponse/ResponseQuirks/strict`` refuses Google's `verification_url`.
    /// - Throws: ``OAuth2Error``
    public static func read(
        _ response: HTTPResponse, tolerance: TokenResponse.ResponseQuirks = .providers, allowsLoopbackHTTP: Bool = false
    ) throws(OAuth2Error) -> DeviceAuthorization {
        guard response.status == 200 else { throw EndpointResponse.failure(response) }
        let object = try JSONBody.object(response, what: "the answer")
        if let error = EndpointResponse.providerError(object, response) { throw .provider(error) }
        try JSONBody.refuseDuplicates(object, of: knownMembers, what: "the answer")
        guard let code = try JSONBody.token("device_code", object) else {
            throw .invalidResponse(member: "device_code", reason: "the answer has no device_code")
        }
        guard let userCode = object.text("user_code") else {
            throw .invalidResponse(member: "user_code", reason: "the answer has no user_code")
        }
        // Google's name is older than the specification.
        let other = tolerance == .strict ? nil : object.text("verification_url")
        guard let text = object.text("verification_uri") ?? other,
            let uri = try? EndpointURL.check(text, name: "verification_uri", allowsLoopbackHTTP: allowsLoopbackHTTP)
        else {
            throw .invalidResponse(member: "verification_uri", reason: "the answer has no https verification_uri")
        }
        // An address that cannot be opened safely is left out: the other one and the code are enough.
        let complete = object.text("verification_uri_complete").flatMap {
            try? EndpointURL.check($0, name: "verification_uri_complete", allowsLoopbackHTTP: allowsLoopbackHTTP)
        }
        guard let lifetime = object["expires_in"]?.number?.double, lifetime > 0 else {
            throw .invalidResponse(
                member: "expires_in", reason: "the answer's expires_in is not a positive number of seconds")
        }
        let interval = object["interval"]?.number?.double ?? 0
        return DeviceAuthorization(
            deviceCode: code, userCode: userCode, verificationURI: uri, verificationURIComplete: complete,
            expiresIn: Int(min(lifetime, Double(EndpointResponse.maximumLifetime))),
            // Missing, null, zero and negative mean the default: never a busy loop.
            interval: interval > 0 ? Int(min(interval, 86_400).rounded(.up)) : 5)
    }
}

extension DeviceAuthorization: Redacted {
    /// The address and the person's code; not the device's, which is a secret.
    public var description: String {
        "\(verificationURI.absoluteString) with the code \(quoted(userCode))"
    }
}
