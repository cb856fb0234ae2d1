import LodgePlatform
import OAuth2Protocol

extension SignInCoordinator {
    /// Signs in, and publishes a failure unless the user or the program cancelled the sign-in.
    func signIn(
        to type: String, by method: SignInMethod = .configured, options: SignInOptions = .init()
    ) async throws -> Account {
        try await publishingFailure { typeName in
            typeName = type
            return try await run(method, type, options)
        }
    }

    private func run(_ method: SignInMethod, _ type: String, _ options: SignInOptions) async throws -> Account {
        switch method.kind {
        case .configured:
            // An unknown type is an error of the sign-in.
            let isOfApplication = try context.type(type).grant.isOfApplication
            return try await run(isOfApplication ? .clientCredentials : .browser, type, options)
        case .browser(let browser): return try await signInByBrowser(type, browser, options)
        case .webSession(let present): return try await signInByWebSession(type, present, options)
        case .paste(let read): return try await signInByPaste(type, read, options)
        case .device(let show):
            return try await signingIn(type, options, offering: "device_authorization_endpoint") {
                try await signInByDevice($0, show, AuthorizationParameters(options, $0.type), options)
            }
        case .clientCredentials:
            // Wrong settings are an error before the first request.
            _ = try serviceGrant(context.type(type, policy: options.policy), options)
            return try await signingIn(type, options, asApplication: true) { try await signInClient($0, options) }
        case .password(let name, let password):
            return try await signingIn(type, options) { connection in
                guard connection.type.allowsPasswordGrant else {
                    throw AccountStoreError(
                        .settings, what: "cannot sign in with a password",
                        reason: "the settings of \(type) do not allow it", remedy: .changeSettings,
                        hint: "sign in with the browser or another device; for a server that knows nothing else set "
                            + "allowsPasswordGrant to true")
                }
                let requested = try AuthorizationParameters(options, connection.type)
                do {
                    return try await signIn(
                        connection, .password(username: name, password, scope: requested.scope), requested)
                } catch OAuth2Error.provider(let error) where error.code == .invalidGrant {
                    // For this grant, invalid_grant means that the user name or the password is wrong (RFC 6749 section
                    // 5.2).
                    var failure = AccountStoreError.signInNeeded(.grantGone, error)
                    failure.what = "cannot sign in"
                    failure.reason = "the provider rejected the user name or the password"
                    failure.hint = "check the user name and the password, and sign in again"
                    throw failure
                }
            }
        case .assertion(let grant):
            return try await signingIn(type, options) { connection in
                let requested = try AuthorizationParameters(options, connection.type)
                return try await signIn(connection, grant.asking(for: requested.scope), requested)
            }
        }
    }

    /// Runs a sign-in without a redirect.
    private func signingIn(
        _ type: String, _ options: SignInOptions, offering endpoint: String? = nil, asApplication: Bool = false,
        _ body: (ProviderClient) async throws -> Account
    ) async throws -> Account {
        let connection = try await client(
            ofSignInTo: type, options, offering: endpoint, asApplication: asApplication)
        // Check this before the user signs in, so that the account can be saved afterwards.
        try await storage.checkWritable()
        return try await body(connection)
    }

    private func signIn(
        _ connection: ProviderClient, _ grant: TokenRequest.Grant, _ requested: AuthorizationParameters
    ) async throws -> Account {
        let key = try connection.newSenderKey()
        let type = connection.type
        let response = try await connection.tokens(
            for: grant, parameters: type.signInParameters.merging(requested.directParameters) { $1 },
            resources: type.resources, authorizationDetails: true, boundTo: key)
        // The provider can return an ID token for these grants too. It is validated then.
        return try await save(direct: response, requested, connection, key)
    }

    /// Saves the account of a sign-in without a browser.
    func save(
        direct response: TokenResponse, _ requested: AuthorizationParameters, consented: Scope? = nil,
        _ connection: ProviderClient, _ key: SigningKey?
    ) async throws -> Account {
        let received = dependencies.now()
        let identity = try await registrar.revokingIfRejected(response, connection) {
            try await registrar.verifier.identity(response, connection) { validation in
                validation.allowsUnaskedNonce = true
                validation.maximumAge = requested.request.maximumAge
                validation.requiredContextClasses = requested.requiredContextClasses
            }
        }
        return try await registrar.save(
            response, received: received, requested: requested.scope, consented: consented, identity, connection,
            senderKey: key)
    }

    /// Returns the grant of an application.
    ///
    /// - Throws: `SettingsError` if the tenant or the scope is not for an application.
    private func serviceGrant(_ type: AccountType, _ options: SignInOptions) throws -> AccountRecord.ServiceGrant {
        let requested = try AuthorizationParameters(options, type)
        let grant = AccountRecord.ServiceGrant(
            scope: options.scope ?? Scope(requested.scope.tokens.filter { !AccountType.userScopes.contains($0) }),
            parameters: options.parameters, source: type.grant.usesTokenSource ? type.grant.rawValue : nil)
        if !type.grant.usesTokenSource, let problem = type.applicationProblem(grant.scope) {
            throw SettingsError(
                file: settings.source, key: "types.\(type.name).\(problem.key)", expected: problem.expected,
                found: problem.found)
        }
        return grant
    }

    private func signInClient(_ connection: ProviderClient, _ options: SignInOptions) async throws -> Account {
        let type = connection.type
        let serviceGrant = try serviceGrant(type, options)
        var identity = Identity()
        if type.grant.usesTokenSource {
            let application = try await connection.application()
            (identity.issuer, identity.clientID) = (application.issuer, application.clientID)
            identity.subject = application.subject
        }
        let key = try connection.newSenderKey()
        let response = try await connection.clientTokens(serviceGrant, boundTo: key)
        return try await registrar.save(
            response, received: dependencies.now(), requested: serviceGrant.scope, identity, connection, senderKey: key,
            serviceGrant: serviceGrant)
    }
}

extension TokenRequest.Grant {
    fileprivate func asking(for scope: Scope) -> TokenRequest.Grant {
        switch self {
        case .jwtBearer(let assertion, _): .jwtBearer(assertion, scope: scope)
        case .samlBearer(let assertion, _): .samlBearer(assertion, scope: scope)
        default: self
        }
    }
}
