import HTTPExchange
import OAuth2Protocol
import LodgePlatform
import ProviderSettings

/// Checks before a request that a refresh token goes only to the client, the provider and the origin of its token
/// response, even if the settings changed.
enum RefreshTokenBinding {
    /// Checks that the settings still have the client, the provider and the origin of the token endpoint of the
    /// sign-in.
    ///
    /// - Throws: ``AccountStoreError`` of the kind `settings`.
    static func check(_ record: AccountRecord, _ type: AccountType, _ server: AuthorizationServer) throws {
        let source = record.serviceGrant?.source
        if source != nil || type.grant.usesTokenSource {
            guard source == type.grant.rawValue else {
                let signedIn = source ?? (record.serviceGrant == nil ? "a user" : "a client")
                throw error(type, "its settings now name the grant \(type.grant.rawValue), and \(signedIn) signed in")
            }
            return
        }
        guard record.clientID == type.clientID else {
            throw error(type, "its settings now name another client, and the client \(record.clientID) signed in")
        }
        if let saved = record.issuer, let configured = server.issuer,
            !AuthorizationResponse.isIssuer(saved, of: configured)
        {
            throw error(type, "its settings now name the provider \(configured), but \(saved) issued the refresh token")
        }
        let endpoint = server.tokenEndpoint?.origin
        guard let issuing = record.tokenOrigin else {
            // An imported account has no origin before its first refresh. The metadata of its issuer then specifies the
            // endpoint.
            guard record.issuer == nil || server.issuer != nil && type.endpoints.token == nil else {
                throw error(type, "its settings no longer name the provider that issued the refresh token")
            }
            return
        }
        guard (URL(string: issuing)?.origin ?? issuing) == endpoint else {
            throw error(
                type, "\(issuing) issued the refresh token, and the token endpoint is now at \(endpoint ?? "no URL")")
        }
    }

    /// Checks that a source still issues tokens for the application of the sign-in.
    ///
    /// - Throws: ``AccountStoreError`` of the kind `settings`.
    static func check(_ record: AccountRecord, _ type: AccountType, _ application: Application) throws {
        guard
            application
                == Application(
                    issuer: record.issuer ?? "", clientID: record.clientID, subject: record.subject)
        else {
            throw error(
                type,
                "the application is now \(application.clientID) at \(application.issuer), and "
                    + "\(record.clientID) at \(record.issuer ?? "another source") signed in")
        }
    }

    /// Checks that the revocation endpoint has the origin of the token endpoint, because it receives refresh tokens
    /// too.
    ///
    /// - Throws: ``AccountStoreError`` of the kind `settings`.
    static func checkRevocation(_ type: AccountType, _ server: AuthorizationServer) throws {
        guard let endpoint = server.revocationEndpoint, let issuing = server.tokenEndpoint,
            !endpoint.hasOrigin(of: issuing)
        else { return }
        throw error(
            type,
            "\(issuing.origin ?? "") issued the refresh token, and the revocation endpoint is at \(endpoint.origin ?? "")"
        )
    }

    private static func error(_ type: AccountType, _ reason: String) -> AccountStoreError {
        AccountStoreError(
            .settings, what: "cannot use the saved sign-in of \(type.name)", reason: reason, remedy: .signInAgain,
            hint: "restore the settings, or, if the change is right: \(AccountRemedy.signIn(type: type.name))")
    }
}
