import LodgePlatform
import HTTPExchange
import OAuth2Protocol
import StrictJSON

extension SignInCoordinator {
    /// Signs in on another device: shows a code, and polls the provider until the user has entered it (RFC 8628).
    func signInByDevice(
        _ connection: ProviderClient, _ show: @Sendable (DeviceCodePrompt) async throws -> Void,
        _ requested: AuthorizationParameters, _ options: SignInOptions
    ) async throws -> Account {
        let type = connection.type
        let key = try connection.newSenderKey()
        let begun = dependencies.uptimeSeconds
        var parameters = requested.directParameters
        if !type.authorizationDetails.isEmpty {
            parameters["authorization_details"] = JSONValue.array(type.authorizationDetails.map(JSONValue.object))
                .text()
        }
        let request = try await DeviceAuthorizationRequest(
            server: connection.server, client: connection.preparedClient(), scope: requested.consent,
            parameters: parameters, headers: type.tokenHeaders, resources: type.resources)
        let authorization = try DeviceAuthorization.read(
            try await connection.send(request.request), quirks: type.responseQuirks, allowsLoopbackHTTP: true)
        let deviceSignIn = DeviceSignIn(
            connection: connection, authorization: authorization, key: key,
            // RFC 8628 does not require an ID token. Without an ID token, userinfo identifies the user.
            expectation: connection.expectation(
                .deviceCode(authorization.deviceCode), idToken: false, boundTo: key),
            deadline: options.timeout.map { begun + $0 / .seconds(1) })
        do {
            try await show(DeviceCodePrompt(authorization))
        } catch {
            throw AccountStoreError.callback(error, what: "cannot show the code")
        }
        let response = try await deviceSignIn.tokens()
        return try await save(direct: response, requested, consented: requested.consent, connection, key)
    }
}

private struct DeviceSignIn {
    let connection: ProviderClient
    let authorization: DeviceAuthorization
    let key: SigningKey?
    let expectation: TokenResponse.Expectation
    /// The time limit of the caller, in seconds of uptime.
    let deadline: Double?

    func tokens() async throws -> TokenResponse {
        let dependencies = connection.dependencies
        var polling = DevicePolling(
            authorization, now: dependencies.uptimeSeconds, expecting: expectation,
            quirks: connection.type.responseQuirks)
        var step = polling.start(now: dependencies.uptimeSeconds)
        var lastError: (any Error)?
        var sender = connection.client
        while true {
            switch step {
            case .poll(let time): try await wait(until: time)
            case .pollWithNonce: break  // The next proof has the nonce.
            case .tokens(let response):
                return response
            case .denied:
                throw AccountStoreError(
                    .denied, what: "cannot sign in", reason: "the sign-in was refused on the other device",
                    remedy: .nothing, provider: ProviderError(code: .accessDenied))
            case .expired: throw lastError ?? timedOut("the code has expired", "try again with a new code")
            case .failed(let error):
                throw connection.redacting(error, .deviceCode(authorization.deviceCode), sentBy: sender)
            }
            let event: DevicePolling.Event
            (event, lastError) = try await poll(&sender)
            step = polling.next(event, now: dependencies.uptimeSeconds)
        }
    }

    private func wait(until time: Double) async throws {
        let dependencies = connection.dependencies
        let end = min(time, deadline ?? time)
        let seconds = end - dependencies.uptimeSeconds
        if seconds > 0 { try await dependencies.sleep(.seconds(seconds)) }
        try Task.checkCancellation()
        if let deadline, time > deadline {
            throw timedOut("it was not finished in time", "try again, with a longer time limit if necessary")
        }
    }

    /// Polls once. Returns a network error as an event, because the user can still finish the sign-in (RFC 8628 section
    /// 3.5).
    private func poll(_ sender: inout Client) async throws -> (DevicePolling.Event, (any Error)?) {
        do {
            let response = try await connection.sendOnce(boundTo: key) {
                sender = try await connection.preparedClient()
                return try connection.tokenRequest(
                    .deviceCode(authorization.deviceCode), by: sender, parameters: connection.type.signInParameters,
                    resources: connection.type.resources)
            }
            return (.response(response), nil)
        } catch let error as HTTPTransportError {
            switch error.kind {
            case .timedOut: return (.timedOut, error)
            case .cannotResolveHost, .cannotConnect, .connectionLost, .tls, .proxy, .intercepted, .other:
                return (.connectionFailed, error)
            case .responseTooLarge, .plainHTTPRefused, .redirectRefused, .invalidRequest: throw error
            }
        }
    }

    private func timedOut(_ reason: String, _ hint: Hint) -> AccountStoreError {
        AccountStoreError(
            .timedOut, what: "the sign-in was not finished", reason: reason, remedy: .retryLater(after: nil), hint: hint
        )
    }
}
