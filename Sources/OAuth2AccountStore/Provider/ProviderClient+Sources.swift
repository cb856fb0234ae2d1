import HTTPExchange
import LodgePlatform
import OAuth2Protocol

extension AccountType {
    /// Whether the platform is Google's. Either the settings have this source, or the directory is Google's.
    var usesGoogleMetadata: Bool { managedIdentity?.source.map { $0 == .google } ?? (directory == .google) }
}

/// The tokens of applications without a registered client.
extension ProviderClient {
    /// Returns the application that the settings of the type name, without a request for a token.
    ///
    /// - Throws: ``AccountStoreError`` if the machine has no source, or the file of the settings cannot be used.
    func application() async throws -> Application {
        switch type.grant {
        case .managedIdentity where type.usesGoogleMetadata: GoogleMetadataSource.application
        case .managedIdentity: try await managedIdentity.application()
        case .serviceAccount: try serviceAccount.application()
        case .externalAccount: try externalAccount.application()
        case .authorizationCode, .clientCredentials:
            Application(issuer: server.issuer ?? "", clientID: type.clientID)
        }
    }

    /// Requests a token of the source of the type.
    func sourceTokens(_ grant: AccountRecord.ServiceGrant, resources: [String]) async throws -> TokenResponse {
        let source: any TokenSource =
            switch type.grant {
            case .serviceAccount: try serviceAccount
            case .externalAccount: try externalAccount
            default: type.usesGoogleMetadata ? GoogleMetadataSource(services: services) : managedIdentity
            }
        let isAtAzure = source is ManagedIdentitySource
        return try await source.token(for: isAtAzure ? azureResource(grant.scope, resources) : grant.scope.text)
    }

    // MARK: Sources

    private var services: MetadataServices { MetadataServices(dependencies: dependencies, detected: hints.detected) }

    private var managedIdentity: ManagedIdentitySource {
        ManagedIdentitySource(services: services, identity: type.managedIdentity ?? ManagedIdentity())
    }

    private var exchange: GoogleExchange {
        GoogleExchange(
            send: { try await send($0) }, time: { serverTime(of: $0) }, knownHosts: type.knownAuthorities)
    }

    private var serviceAccount: GoogleServiceAccountSource {
        get throws { GoogleServiceAccountSource(exchange: exchange, account: try googleAccount) }
    }

    private var externalAccount: GoogleExternalSource {
        get throws {
            GoogleExternalSource(
                exchange: exchange, account: try googleAccount, services: services, tokenEndpoint: type.endpoints.token)
        }
    }

    /// The file of the settings. Only a type that a program creates in code can lack it.
    private var googleAccount: AccountType.GoogleAccount {
        get throws {
            guard let account = type.googleAccount else { throw GoogleSource.error("the settings do not have a file") }
            return account
        }
    }

    /// Returns the resource of a request to Azure: the scope without `/.default`.
    private func azureResource(_ scope: Scope, _ resources: [String]) throws -> String {
        func failure(_ reason: String) -> AccountStoreError {
            AccountStoreError(
                .settings, what: ManagedIdentitySource.what, reason: reason, remedy: .changeSettings,
                hint: "a managed identity has one scope, such as https://graph.microsoft.com/.default")
        }
        if let resource = resources.first {
            guard resources.count == 1 else { throw failure("\(resources.count) resources are requested") }
            return resource
        }
        guard scope.tokens.count == 1, let only = scope.tokens.first else {
            throw failure("\(scope.tokens.count) scopes are requested")
        }
        guard only.hasSuffix("/.default"), case let resource = String(only.dropLast("/.default".count)),
            !resource.isEmpty
        else { throw failure("the scope \(only) is not a resource with /.default") }
        return resource
    }
}
