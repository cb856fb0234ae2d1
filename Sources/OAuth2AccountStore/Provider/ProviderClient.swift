import LodgePlatform
import HTTPExchange
import JOSE
import OAuth2Protocol
import StrictJSON

/// The client of an account type at its provider. Every request gets a new client assertion and a new DPoP proof, with
/// the clock offset and the nonce of the last response.
struct ProviderClient: Sendable {
    let type: AccountType
    let server: AuthorizationServer
    /// The client without an assertion.
    let client: Client
    let transport: any HTTPTransport
    let hints: ServerHints
    let dependencies: Dependencies
    /// The source of the client's assertions, or `nil` if the client has another authentication method.
    let assertions: (any AssertionSource)?

    /// Returns the client for one request. If it authenticates with a JWT, it has a new assertion.
    func preparedClient() async throws -> Client {
        guard let assertions else {
            return try client.prepared(
                for: server, audience: type.clientAssertionAudience, now: serverTime(of: server.tokenEndpoint),
                random: dependencies.random)
        }
        var prepared = client
        prepared.authentication = .assertion(
            try await assertions.assertion(audience: type.assertionAudience(at: server)))
        return prepared
    }

    /// Returns the secret that verifies ID tokens, or `nil` if the client did not register for HMAC.
    func verifyingSecret() throws -> Secret? {
        let names = [type.idTokenSigningAlgorithm, type.userinfoSigningAlgorithm]
        guard names.contains(where: { $0.flatMap(JWSAlgorithm.init(name:))?.isSymmetric == true }) else { return nil }
        return try ClientCredentials(type: type, environment: dependencies.environment).secret()
    }

    /// Returns the key for signed requests (RFC 9101).
    func requestSigningKey() throws -> SigningKey {
        try ClientCredentials(type: type, environment: dependencies.environment).signingKey()
    }

    /// Returns a new key for the tokens of a sign-in, or `nil` if the settings do not require bound tokens.
    func newSenderKey() throws -> SigningKey? { type.dpop ? try DPoPKey.make(for: server) : nil }

    /// Returns the time of a server in seconds since 1970, or this machine's time if it is unknown.
    func serverTime(of url: URL?) -> Double {
        dependencies.now().timeIntervalSince1970 + (url.map { hints.offset(of: $0) } ?? 0)
    }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let response = try await transport.send(request)
        try response.checkIsFromServer(of: request.url)
        hints.note(response, from: request.url, now: dependencies.now())
        return response.resolvingRetryAfter(now: dependencies.now())
    }

    /// Sends a request, which `build` creates for each attempt. With a key, the request has a proof.
    func send(
        to url: URL?, boundTo key: SigningKey?, accessToken: Secret? = nil, _ build: () async throws -> HTTPRequest
    ) async throws -> HTTPResponse {
        var attempts = SignedAttempts(hints: hints)
        return try await attempts.send(to: url, isClockError: isClockError) {
            let response = try await sendOnce(boundTo: key, accessToken: accessToken, build)
            return (response, response, key != nil || signsAssertions && isClockError(response))
        }.response
    }

    /// Returns whether the server can have rejected the request because of the time of a proof or an assertion. The
    /// request had no effect then.
    private func isClockError(_ response: HTTPResponse) -> Bool {
        guard let code = (try? JSONValue(parsing: response.body))?.object?["error"]?.string else { return false }
        return [ErrorCode.invalidClient, .invalidDPoPProof, .useDPoPNonce].contains(ErrorCode(rawValue: code))
    }

    private var signsAssertions: Bool {
        switch client.authentication {
        case .secretJWT, .privateKeyJWT, .suppliedAssertion: true
        default: false
        }
    }

    /// Sends a request once. With a key, the request has a proof.
    func sendOnce(
        boundTo key: SigningKey?, accessToken: Secret? = nil, _ build: () async throws -> HTTPRequest
    ) async throws -> HTTPResponse {
        var request = try await build()
        if let key {
            request = try DPoP.signed(
                request, key: key, accessToken: accessToken, nonce: hints.nonce(for: request.url),
                now: serverTime(of: request.url), allowsLoopbackHTTP: true, random: dependencies.random)
        }
        return try await send(request)
    }

    /// Creates a token request of a client, which ``preparedClient()`` returned for this request.
    func tokenRequest(
        _ grant: TokenRequest.Grant, by client: Client, parameters: [String: String], resources: [String] = [],
        authorizationDetails: Bool = false
    ) throws -> HTTPRequest {
        var parameters = parameters
        parameters["claims"] = try ClaimsParameter.declaring(type.clientCapabilities, in: parameters["claims"])
        return try TokenRequest(
            grant, server: server, client: client, method: type.tokenRequestMethod, parameters: parameters,
            headers: type.tokenHeaders, resources: resources,
            authorizationDetails: authorizationDetails ? type.authorizationDetails : []
        ).request
    }

    func expectation(
        _ grant: TokenRequest.Grant, idToken: Bool, boundTo key: SigningKey?
    ) -> TokenResponse.Expectation {
        var expectation = grant.expectation
        expectation.idToken = idToken
        // Without the binding, anyone who has the token could use it (RFC 9449 section 5).
        if key != nil {
            expectation.tokenTypes.remove("bearer")
            expectation.tokenTypes.insert("dpop")
        }
        return expectation
    }

    func tokens(
        for grant: TokenRequest.Grant, parameters: [String: String], resources: [String] = [],
        authorizationDetails: Bool = false, idToken: Bool = false, boundTo key: SigningKey?
    ) async throws -> TokenResponse {
        var isRetry = false
        while true {
            var sender = client
            let response = try await send(to: server.tokenEndpoint, boundTo: key) {
                sender = try await preparedClient()
                return try tokenRequest(
                    grant, by: sender, parameters: parameters, resources: resources,
                    authorizationDetails: authorizationDetails)
            }
            do throws(OAuth2Error) {
                return try TokenResponse.read(
                    response, expecting: expectation(grant, idToken: idToken, boundTo: key),
                    quirks: type.responseQuirks)
            } catch {
                let failure = redacting(error, grant, sentBy: sender)
                guard !isRetry, let delay = delayBeforeNewAssertion(failure) else { throw failure }
                isRetry = true
                if delay > .zero { try await dependencies.sleep(delay) }
            }
        }
    }

    /// Returns the delay before another request with a new assertion of another issuer, or `nil` if it would not help.
    private func delayBeforeNewAssertion(_ error: OAuth2Error) -> Duration? {
        guard case .federated? = type.clientAssertion, case .provider(let error) = error else { return nil }
        return switch EntraError.number(in: error.explanation) {
        // The assertion expired on its way.
        case 700024: .zero
        // A new federated credential takes time to propagate.
        case 70021: .seconds(10)
        default: nil
        }
    }

    /// Returns the error of a response without the secrets of the request. A provider's message can repeat them.
    ///
    /// - Parameter client: The client with the assertion of the request.
    func redacting(_ error: OAuth2Error, _ grant: TokenRequest.Grant, sentBy client: Client) -> OAuth2Error {
        // This error is not transient: another attempt would not return an ID token either.
        if case .invalidResponse("id_token_missing", _) = error { return .idToken(.missing) }
        var error = error.redacting(grant.secrets + client.secretForms)
        if case .provider(var provider) = error, case .assertion(let assertion) = client.authentication {
            provider.clientCredential = ClientAssertion.summary(of: assertion)
            error = .provider(provider)
        }
        return error
    }
}

extension TokenRequest.Grant {
    fileprivate var secrets: [Secret?] {
        switch self {
        case .authorizationCode(let code, let pending): [code, pending.verifier.secret]
        case .refreshToken(let secret, _), .deviceCode(let secret), .backchannel(let secret), .jwtBearer(let secret, _),
            .samlBearer(let secret, _),
            .password(_, let secret, _):
            [secret]
        case .tokenExchange(let exchange): [exchange.subject.token, exchange.actor?.token]
        case .clientCredentials: []
        }
    }
}

extension ProviderClient {
    /// Requests tokens for the client itself.
    func clientTokens(
        _ grant: AccountRecord.ServiceGrant, resources: [String]? = nil, boundTo key: SigningKey?
    ) async throws -> TokenResponse {
        if type.grant.usesTokenSource { return try await sourceTokens(grant, resources: resources ?? type.resources) }
        var response: TokenResponse
        do {
            response = try await tokens(
                for: .clientCredentials(scope: grant.scope),
                parameters: type.tokenParameters.merging(grant.parameters) { $1 },
                resources: resources ?? type.resources, authorizationDetails: true, boundTo: key)
        } catch OAuth2Error.provider(let error) where error.signInReason != nil {
            // There is no user who could sign in.
            throw AccountStoreError.blockedByPolicy("cannot get an access token", error)
        }
        // The provider should not return a refresh token (RFC 6749 section 4.4.3), and the store does not need it.
        response.refreshToken = nil
        response.idToken = nil
        return response
    }
}
