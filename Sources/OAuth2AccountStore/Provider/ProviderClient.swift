import Platform
import HTTPExchange
import JOSE
import OAuth2Protocol
import StrictJSON

/// A provider as the client of one type talks to it: every request has a client assertion and a DPoP proof of its own, and what
/// answers tell of clock and nonces is used for the next.
struct ProviderClient: Sendable {
    let type: AccountType
    let server: AuthorizationServer
    /// The client, not yet prepared for a request.
    let client: Client
    let transport: any HTTPTransport
    let hints: ServerHints
    let dependencies: Dependencies

    /// The client with an assertion for one request, if it authenticates with a JWT.
    func preparedClient() throws -> Client {
        try client.prepared(
            for: server, audience: type.clientAssertionAudience, now: serverTime(of: server.tokenEndpoint),
            random: dependencies.random)
    }

    /// The secret that ID tokens are verified with: that of a client that registered for HMAC, and of no other.
    func verifyingSecret() throws -> Secret? {
        let names = [type.idTokenSigningAlgorithm, type.userinfoSigningAlgorithm]
        guard names.contains(where: { $0.flatMap(JWSAlgorithm.init(name:))?.isSymmetric == true }) else { return nil }
        return try ClientCredentials(type: type, environment: dependencies.environment).secret()
    }

    /// The key for the signed requests of the client (RFC 9101).
    func requestSigningKey() throws -> SigningKey {
        try ClientCredentials(type: type, environment: dependencies.environment).signingKey()
    }

    /// A new key for a sign-in whose tokens are to be bound; nil when the settings do not ask for that.
    func newSenderKey() throws -> SigningKey? { type.dpop ? try DPoPKey.make(for: server) : nil }

    /// The time by the clock of a server, in seconds since 1970; this machine's when the server did not say.
    func serverTime(of url: URL?) -> Double {
        dependencies.now().timeIntervalSince1970 + (url.map { hints.offset(of: $0) } ?? 0)
    }

    /// Sends a request as it is.
    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let response = try await transport.send(request)
        hints.note(response, from: request.url, now: dependencies.now())
        return response
    }

    /// Sends a request that is built again for each attempt, with a proof if there is a key.
    func send(
        to url: URL?, boundTo key: SigningKey?, accessToken: Secret? = nil, _ build: () throws -> HTTPRequest
    ) async throws -> HTTPResponse {
        var attempts = SignedAttempts(hints: hints)
        return try await attempts.send(to: url, isClockError: isClockError) {
            let response = try await sendOnce(boundTo: key, accessToken: accessToken, build)
            return (response, response, key != nil || signsAssertions && isClockError(response))
        }.response
    }

    /// Returns whether the server can have rejected the time of a proof or an assertion. The request had no effect then.
    private func isClockError(_ response: HTTPResponse) -> Bool {
        guard let code = (try? JSONValue(parsing: response.body))?.object?["error"]?.string else { return false }
        return [ErrorCode.invalidClient, .invalidDPoPProof, .useDPoPNonce].contains(ErrorCode(rawValue: code))
    }

    private var signsAssertions: Bool {
        switch client.authentication {
        case .secretJWT, .privateKeyJWT: true
        default: false
        }
    }

    /// Sends a request once, with a proof if there is a key.
    func sendOnce(
        boundTo key: SigningKey?, accessToken: Secret? = nil, _ build: () throws -> HTTPRequest
    ) async throws -> HTTPResponse {
        var request = try build()
        if let key {
            request = try DPoP.signed(
                request, key: key, accessToken: accessToken, nonce: hints.nonce(for: request.url),
                now: serverTime(of: request.url), allowsLoopbackHTTP: true, random: dependencies.random)
        }
        return try await send(request)
    }

    /// The token request of a grant, with a client assertion of its own.
    func tokenRequest(
        _ grant: TokenRequest.Grant, parameters: [String: String], resources: [String] = [],
        authorizationDetails: Bool = false
    ) throws -> HTTPRequest {
        try TokenRequest(
            grant, server: server, client: preparedClient(), method: type.tokenRequestMethod, parameters: parameters,
            headers: type.tokenHeaders, resources: resources,
            authorizationDetails: authorizationDetails ? type.authorizationDetails : []
        ).request
    }

    /// What the answer to a grant must have.
    func expectation(
        _ grant: TokenRequest.Grant, idToken: Bool, boundTo key: SigningKey?
    ) -> TokenResponse.Expectation {
        var expectation = grant.expectation
        expectation.idToken = idToken
        // The binding was asked for: a token that anybody can use is not what was wanted (RFC 9449 section 5).
        if key != nil {
            expectation.tokenTypes.remove("bearer")
            expectation.tokenTypes.insert("dpop")
        }
        return expectation
    }

    /// Exchanges a grant for tokens.
    func tokens(
        for grant: TokenRequest.Grant, parameters: [String: String], resources: [String] = [],
        authorizationDetails: Bool = false, idToken: Bool = false, boundTo key: SigningKey?
    ) async throws -> TokenResponse {
        let response = try await send(to: server.tokenEndpoint, boundTo: key) {
            try tokenRequest(
                grant, parameters: parameters, resources: resources, authorizationDetails: authorizationDetails)
        }
        do throws(OAuth2Error) {
            return try TokenResponse.read(
                response, expecting: expectation(grant, idToken: idToken, boundTo: key), tolerance: type.tolerance)
        } catch {
            throw redacting(error, grant)
        }
    }

    /// The error of an answer, without what was sent, which the provider's words may repeat.
    func redacting(_ error: OAuth2Error, _ grant: TokenRequest.Grant) -> OAuth2Error {
        // No ID token where one was asked for: asking again brings none either.
        if case .invalidResponse("id_token_missing", _) = error { return .idToken(.missing) }
        return error.redacting(grant.secrets + [client.secret])
    }
}

extension TokenRequest.Grant {
    /// What of it nobody else may see.
    fileprivate var secrets: [Secret?] {
        switch self {
        case .authorizationCode(let code, let pending): [code, pending.verifier.secret]
        case .refreshToken(let secret, _), .deviceCode(let secret), .jwtBearer(let secret, _),
            .samlBearer(let secret, _),
            .password(_, let secret, _):
            [secret]
        case .tokenExchange(let exchange): [exchange.subject.token, exchange.actor?.token]
        case .clientCredentials: []
        }
    }
}

extension ProviderClient {
    /// Requests tokens for the client itself, at the sign-in and whenever the last ones expire.
    func clientTokens(
        _ grant: AccountRecord.ServiceGrant, resources: [String]? = nil, boundTo key: SigningKey?
    ) async throws -> TokenResponse {
        var response = try await tokens(
            for: .clientCredentials(scope: grant.scope),
            parameters: type.tokenParameters.merging(grant.parameters) { $1 }, resources: resources ?? type.resources,
            authorizationDetails: true, boundTo: key)
        // RFC 6749 section 4.4.3: there should be none. One that comes is one more secret to store, without a use.
        response.refreshToken = nil
        response.idToken = nil
        return response
    }
}
