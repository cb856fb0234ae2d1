import LodgePlatform
import OAuth2Protocol

/// A source of client assertions: JWTs that authenticate the client in place of a secret (RFC 7523 section 2.2).
package protocol AssertionSource: Sendable {
    /// Returns an assertion for one request. The store neither saves it nor requests it for another request.
    ///
    /// - Parameter audience: The `aud` of an assertion that the source issues itself.
    /// - Throws: `SettingsError` if the settings cannot supply an assertion.
    func assertion(audience: String) async throws -> Secret
}

extension AccountType.ClientAssertion {
    /// Creates the source of a type. It checks the settings, looks up a key in a device, and sends no request.
    ///
    /// - Parameter time: Returns the time of the server of an audience, in seconds since 1970.
    func source(
        for type: AccountType, _ dependencies: Dependencies, time: @escaping @Sendable (_ audience: String) -> Double
    ) async throws -> any AssertionSource {
        switch self {
        case .certificate(let credential):
            try await CertificateAssertions(credential, of: type, dependencies, time: time)
        case .federated(let credential): FederatedAssertions(credential, of: type, dependencies, time: time)
        }
    }
}

extension AccountType {
    /// Returns the audience of a client assertion: at Microsoft's providers the token endpoint, otherwise the issuer.
    ///
    /// - Throws: ``OAuth2Error/configuration(_:)`` if the provider has neither.
    func assertionAudience(at server: AuthorizationServer) throws(OAuth2Error) -> String {
        let endpoint = server.tokenEndpoint?.absoluteString
        let audience = hasMicrosoftAssertions ? endpoint ?? server.issuer : server.issuer ?? endpoint
        guard let audience = clientAssertionAudience ?? audience else {
            throw .configuration("the provider has no issuer for the audience of the client assertion")
        }
        return audience
    }
}
