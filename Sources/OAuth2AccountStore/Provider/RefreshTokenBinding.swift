import OAuth2Protocol
import Platform
import ProviderSettings

/// A refresh token goes only to the provider that issued it.
enum RefreshTokenBinding {
    /// Checks that the settings still name the client and the provider of the sign-in.
    ///
    /// - Throws: ``AccountStoreError`` of the kind `settings`.
    static func check(_ record: AccountRecord, _ type: AccountType, _ server: AuthorizationServer) throws {
        guard record.clientID == type.clientID, isSameProvider(record, type, server) else {
            throw AccountStoreError(
                .settings, what: "the saved sign-in is not used",
                reason:
                    "the settings of \(type.name) now name another provider or client than the one that was signed in to",
                remedy: .signInAgain, hint: "sign in again, or put the old settings back")
        }
    }

    private static func isSameProvider(
        _ record: AccountRecord, _ type: AccountType, _ server: AuthorizationServer
    ) -> Bool {
        if let saved = record.issuer, let configured = server.issuer {
            return AuthorizationResponse.isIssuer(saved, of: configured) && isKnown(record.tokenOrigin, type, server)
        }
        // Without an issuer, only the origin of the token endpoint distinguishes providers.
        guard let saved = record.tokenOrigin else { return record.issuer == nil }
        return saved == server.tokenEndpoint?.origin
    }

    /// Returns whether the token endpoint has its previous origin, or one that the settings name: the host of the issuer or the
    /// authority, or below it, a known authority, an endpoint. No metadata document can direct a refresh token to another cloud.
    private static func isKnown(_ saved: String?, _ type: AccountType, _ server: AuthorizationServer) -> Bool {
        guard let saved, let endpoint = server.tokenEndpoint, saved != endpoint.origin,
            type.endpoints["token_endpoint"] == nil
        else { return true }
        let own: String? =
            switch type.provider {
            case .issuer(let address), .authority(let address): URL(string: address)?.host(percentEncoded: true)
            case .endpoints: nil
            }
        guard let host = endpoint.host(percentEncoded: true)?.lowercased() else { return false }
        return (type.knownAuthorities + [own].compactMap(\.self)).map { $0.lowercased() }
            .contains { host == $0 || host.hasSuffix("." + $0) }
    }
}
