import HTTPExchange
import JOSE
import OAuth2Protocol
import LodgePlatform
import ProviderSettings
import StrictJSON
import Synchronization

/// Runs all sign-ins, and stores the sign-ins that wait for a redirect.
///
/// It is a class with a lock and not an actor, because a redirect can arrive on any thread, and code without `await`
/// must find its sign-in.
final class SignInCoordinator: StoreCollaborator {
    let context: StoreContext
    let registrar: AccountRegistrar
    let publisher: ChangePublisher
    /// The sign-ins that wait for a redirect, keyed by their state.
    let pending = Mutex<[String: PendingSignIn]>([:])
    /// The maximum number of sign-ins that wait in memory. A new sign-in never ends another one.
    let maximumPending: Int

    init(registrar: AccountRegistrar, publisher: ChangePublisher, maximumPending: Int) {
        context = registrar.context
        self.registrar = registrar
        self.publisher = publisher
        self.maximumPending = maximumPending
    }

    static let defaultTimeout = Duration.seconds(300)

    /// Prepares a sign-in, which then waits for its redirect.
    func prepareSignIn(
        to type: String, options: SignInOptions = .init(), redirectURI: RedirectURI? = nil
    ) async throws -> PreparedSignIn {
        try await AccountStoreError.wrappingErrors("cannot begin the sign-in") {
            // Check the limit before the requests too, because sign-ins beyond the limit must not load the provider.
            try pending.withLock { try checkCapacity(&$0, now: dependencies.now()) }
            let connection = try await client(ofSignInTo: type, options)
            // Check this before the user signs in, so that the account can be saved afterwards.
            try await storage.checkWritable()
            var requested = try AuthorizationParameters(options, connection.type)
            try await registrar.expectSignedInPerson(in: &requested, connection.type)
            let senderKey = try connection.newSenderKey()
            // The authorization code is bound to the key too (RFC 9449 section 10).
            requested.request.dpopKeyThumbprint = senderKey?.key.thumbprint()
            let authorization = try await connection.authorizationRequest(
                requested, redirectURI: redirectURI ?? connection.type.redirectURI)
            let now = dependencies.now()
            let sign = PendingSignIn(
                connection: connection, authorization: authorization.pending, senderKey: senderKey,
                contextClasses: requested.requiredContextClasses, scope: requested.scope,
                expires: now.addingTimeInterval((options.timeout ?? Self.defaultTimeout) / .seconds(1)))
            try pending.withLock { pending in
                try checkCapacity(&pending, now: now)
                pending[authorization.pending.state] = sign
            }
            return PreparedSignIn(
                url: authorization.url, id: authorization.pending.state,
                redirectURI: authorization.pending.redirectURI)
        }
    }

    /// Removes expired sign-ins, and throws if the others reach the limit.
    private func checkCapacity(_ pending: inout [String: PendingSignIn], now: Date) throws(AccountStoreError) {
        pending = pending.filter { $0.value.expires > now }
        guard pending.count >= maximumPending else { return }
        let seconds = pending.values.map { $0.expires.timeIntervalSince(now) }.min() ?? 1
        throw AccountStoreError(
            .tooManySignIns, what: "cannot begin the sign-in",
            reason: "\(pending.count) sign-ins wait for their redirect, which is the maximum",
            remedy: .retryLater(after: .seconds(max(1, seconds.rounded(.up)))))
    }

    /// Returns the client of a type's provider for a sign-in, after discovery if necessary.
    ///
    /// - Throws: ``AccountStoreError`` of the kind `settings` if the type has no provider; the errors of discovery.
    func client(
        ofSignInTo name: String, _ options: SignInOptions, offering endpoint: String? = nil, asApplication: Bool = false
    ) async throws -> ProviderClient {
        let type = try context.type(name, policy: options.policy)
        guard asApplication || !type.grant.isOfApplication else {
            throw AccountStoreError(
                .settings, what: "cannot sign in a user to \(name)",
                reason: "its settings have the grant \(type.grant.rawValue), which signs in the application",
                remedy: .changeSettings, hint: "\(AccountRemedy.signIn(type: name))")
        }
        guard type.provider != .staticToken else {
            throw AccountStoreError(
                .settings, what: "cannot sign in to \(name)",
                reason: "its settings do not have a provider: it uses a token that you supply", remedy: .changeSettings,
                hint: "\(AccountRemedy.supplyToken(type: name))")
        }
        return try await client(of: type, offering: endpoint)
    }

    func cancel(_ signIn: PreparedSignIn) {
        pending.withLock { _ = $0.removeValue(forKey: signIn.id) }
    }

    func isRedirect(_ url: URL) -> Bool {
        let text = url.absoluteString
        return pending.withLock { $0.values.contains { $0.authorization.redirectURI.matches(text) } }
    }

    /// Finds the sign-in of a redirect by its state, redeems the code and saves the account. If the sign-in fails,
    /// publishes the failure.
    ///
    /// - Parameter expected: The sign-in that the redirect must belong to. The default is any sign-in.
    func handleRedirect(_ url: URL, for expected: PreparedSignIn.ID? = nil) async throws -> Account {
        try await publishingFailure { typeName in
            let (sign, redirect) = try take(url.absoluteString, expected)
            typeName = sign.connection.type.name
            return try await finish(sign, try redirect.code.get(), redirectIssuer: redirect.issuer)
        }
    }

    /// Finishes a sign-in with its redirect, without publishing a failure.
    ///
    /// - Parameters:
    ///   - address: The URL of the redirect, as received.
    ///   - expected: The sign-in that the redirect must belong to.
    ///   - isOwn: Whether the redirect comes from the window of this sign-in, so that no other visitor can have sent
    ///     it.
    func finish(redirect address: String, for expected: PreparedSignIn.ID, isOwn: Bool = false) async throws -> Account
    {
        try await AccountStoreError.wrappingErrors("cannot sign in") {
            let (sign, redirect) = try take(address, expected, isOwn: isOwn)
            return try await finish(sign, try redirect.code.get(), redirectIssuer: redirect.issuer)
        }
    }

    /// Runs the last part of a sign-in. If it fails, publishes the failure, unless it was cancelled or `body` has not
    /// set the name of the account type.
    func publishingFailure(_ body: (_ typeName: inout String?) async throws -> Account) async throws -> Account {
        var typeName: String?
        do {
            return try await body(&typeName)
        } catch {
            let failure = AccountStoreError.wrapping(error, what: "cannot sign in")
            if let typeName, failure.kind != .cancelled {
                publisher.publish(.signInFailed(type: typeName, failure))
            }
            throw failure
        }
    }

    /// Removes the sign-in that a redirect belongs to, and returns it with the code or the provider's error. If no
    /// sign-in matches, all sign-ins continue to wait.
    ///
    /// Some providers omit the state of an error. Such an error ends the sign-in if it is the only one that waits at
    /// this URL. At an HTTPS redirect URI it does not, because any visitor of the server could end the sign-in of
    /// another visitor.
    private func take(
        _ address: String, _ expected: PreparedSignIn.ID?, isOwn: Bool = false
    ) throws -> (PendingSignIn, ReceivedRedirect) {
        let response = try AuthorizationResponse(redirect: address)
        let now = dependencies.now()
        return try pending.withLock { pending in
            let state = response.state
            if let state, let expected, state != expected, pending[state] != nil {
                throw OAuth2Error.redirect(.differentSignIn)
            }
            guard let state, let sign = pending[state] else {
                let candidates = pending.values.filter {
                    $0.expires > now && $0.authorization.redirectURI.matches(address)
                        && (expected == nil || $0.authorization.state == expected)
                }
                guard let candidate = candidates.first else { throw OAuth2Error.redirect(.noPendingRequest) }
                if !response.hasState, let error = response.providerError, candidates.count == 1,
                    isOwn || !candidate.authorization.redirectURI.isHTTPS
                {
                    pending[candidate.authorization.state] = nil
                    return (candidate, ReceivedRedirect(code: .failure(.provider(error))))
                }
                // Throws the precise error: the state is missing, repeated or different.
                _ = try response.code(for: candidate.authorization)
                throw OAuth2Error.redirect(.stateMismatch)
            }
            guard sign.expires > now else {
                pending[state] = nil
                throw OAuth2Error.redirect(.noPendingRequest)
            }
            let redirect = try ReceivedRedirect(response, for: sign.authorization)
            pending[state] = nil
            return (sign, redirect)
        }
    }

    /// Redeems the code and saves the account.
    ///
    /// - Parameter redirectIssuer: The issuer that the redirect named.
    func finish(_ sign: PendingSignIn, _ code: Secret, redirectIssuer: String? = nil) async throws -> Account {
        let connection = sign.connection, type = connection.type
        let consented = sign.authorization.scope
        var response = try await connection.tokens(
            for: .authorizationCode(code, sign.authorization), parameters: type.signInParameters,
            resources: type.resources, idToken: consented.contains("openid"), boundTo: sign.senderKey)
        let received = dependencies.now()
        response = try await connection.longLived(response)
        let identity = try await registrar.revokingIfRejected(response, connection) {
            try await registrar.verifier.identity(response, connection) { validation in
                validation.nonce = sign.authorization.nonce
                validation.code = code
                validation.maximumAge = sign.authorization.maximumAge
                validation.requiredContextClasses = sign.contextClasses
            }
        }
        return try await registrar.save(
            response, received: received, requested: sign.scope, consented: consented, identity, connection,
            senderKey: sign.senderKey, redirectIssuer: sign.authorization.issuer == nil ? redirectIssuer : nil)
    }

    /// Adds an account from a token response.
    func add(_ response: TokenResponse, toType type: String) async throws -> Account {
        try await AccountStoreError.wrappingErrors("cannot add the account") {
            let connection = try await client(of: self.type(type))
            let received = dependencies.now()
            var response = response
            // The type has no token endpoint at which to use it.
            if connection.type.provider == .staticToken { response.refreshToken = nil }
            let identity = try await registrar.verifier.identity(response, connection) { validation in
                validation.allowsUnaskedNonce = true
                // The ID token can be old. It only identifies the user.
                validation.clockSkew = .greatestFiniteMagnitude
            }
            return try await registrar.save(
                response, received: received, requested: response.scope ?? connection.type.scope, identity, connection)
        }
    }
}

/// The content of a redirect that ends its sign-in.
struct ReceivedRedirect: Sendable {
    /// The code, or the error that the provider reports.
    let code: Result<Secret, OAuth2Error>
    /// The issuer that the redirect names.
    var issuer: String?
}

extension ReceivedRedirect {
    /// Creates the content from the response to this sign-in.
    ///
    /// - Throws: `OAuth2Error` if the response does not end the sign-in, so that it continues to wait.
    init(_ response: AuthorizationResponse, for authorization: PendingAuthorization) throws(OAuth2Error) {
        do throws(OAuth2Error) {
            self.init(code: .success(try response.code(for: authorization)), issuer: response.issuer)
        } catch {
            if case .redirect(let redirect) = error, !redirect.endsSignIn { throw error }
            self.init(code: .failure(error))
        }
    }
}
