import LodgePlatform
import HTTPExchange
import StrictJSON

/// The request that starts the device grant: a sign-in on another device, for machines without a browser.
///
/// [RFC 8628 section 3.1](https://www.rfc-editor.org/rfc/rfc8628#section-3.1)
package struct DeviceAuthorizationRequest: Sendable {
    /// The request to send.
    package let request: HTTPRequest

    /// Creates the request.
    ///
    /// - Throws: ``OAuth2Error/configuration(_:)`` if the provider does not support the grant, or a scope token or an
    ///   additional parameter is invalid.
    package init(
        server: AuthorizationServer, client: Client, scope: Scope, parameters: [String: String] = [:],
        headers: [String: String] = [:], resources: [String] = []
    ) throws(OAuth2Error) {
        let endpoint = try server.endpoint(
            "device_authorization_endpoint", missing: "the provider does not offer the device grant")
        try scope.check()
        var pairs: [FormEncoding.Pair] = scope.isEmpty ? [] : [("scope", server.text(of: scope))]
        pairs += try RequestParameters.resources(resources)
        pairs += try RequestParameters.extra(parameters, besides: Set(pairs.map(\.name)))
        // Section 3.1 requires the client_id in the form. Many servers require it with HTTP Basic too.
        request = try client.request(pairs, endpoint: endpoint, headers: headers, namesClient: true)
    }
}

/// The code and URL for the sign-in on another device, and the values for polling.
///
/// [RFC 8628 section 3.2](https://www.rfc-editor.org/rfc/rfc8628#section-3.2)
package struct DeviceAuthorization: Sendable, Equatable {
    /// The secret that the client polls with.
    package let deviceCode: Secret
    /// The code that the user enters. The provider sends it: escape control characters before you print it.
    package let userCode: String
    /// The URL that the user opens.
    package let verificationURI: URL
    /// The URL with the code. Show the code too, so that the user can compare it (section 3.3.1).
    package let verificationURIComplete: URL?
    /// The lifetime of the codes in seconds.
    package let expiresIn: Int
    /// The seconds between polls, at least one.
    package let interval: Int

    /// The maximum length of a user code in bytes.
    static let maximumUserCodeSize = 128

    private static let knownMembers: Set<String> = [
        "device_code", "user_code", "verification_uri", "verification_url", "verification_uri_complete", "expires_in",
        "interval",
    ]

    /// Reads the response.
    ///
    /// - Parameter quirks: ``TokenResponse/ResponseQuirks/strict`` rejects Google's `verification_url`.
    package static func read(
        _ response: HTTPResponse, quirks: TokenResponse.ResponseQuirks = .providers, allowsLoopbackHTTP: Bool = false
    ) throws(OAuth2Error) -> DeviceAuthorization {
        guard response.status == 200 else { throw EndpointResponse.failure(response) }
        let members = try ResponseObject(response).members
        if let error = EndpointResponse.providerError(members, response) { throw .provider(error) }
        let object = try ResponseObject(members, unique: knownMembers)
        let code = try object.requiredToken("device_code")
        let userCode = try object.requiredText("user_code")
        guard userCode.utf8.count <= maximumUserCodeSize else {
            throw ResponseObject.error("user_code", "is longer than \(maximumUserCodeSize) bytes")
        }
        // Google's name is older than the specification.
        let isOlder = quirks != .strict && object.text("verification_uri") == nil
        let uri = object.url(isOlder ? "verification_url" : "verification_uri", allowsLoopbackHTTP: allowsLoopbackHTTP)
        guard let uri else { throw ResponseObject.error("verification_uri", "is missing or not https") }
        let lifetime = try object.lifetime(acceptsText: quirks.contains(.textualLifetime))
        return DeviceAuthorization(
            deviceCode: code, userCode: userCode, verificationURI: uri,
            verificationURIComplete: object.url("verification_uri_complete", allowsLoopbackHTTP: allowsLoopbackHTTP),
            expiresIn: lifetime, interval: members.pollingInterval)
    }
}

extension DeviceAuthorization: Redacted {
    /// The URL and the user code, but not the device code, which is a secret.
    package var description: String {
        "\(verificationURI.absoluteString) with the code \(quoted(userCode))"
    }
}
