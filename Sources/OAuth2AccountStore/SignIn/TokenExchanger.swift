import OAuth2Protocol
import LodgePlatform
import ProviderSettings
import StrictJSON

/// Sends tokens to the provider for exchanges, introspection and userinfo. It saves nothing.
struct TokenExchanger: StoreCollaborator {
    let context: StoreContext
    let broker: TokenBroker

    func exchange(
        _ exchange: TokenExchange, at type: AccountType, parameters: [String: String] = [:]
    ) async throws -> ExchangedToken {
        let client = try await client(of: type)
        var exchange = exchange
        if exchange.resources.isEmpty, exchange.audiences.isEmpty { exchange.resources = type.resources }
        let response = try await client.tokens(
            for: .tokenExchange(exchange), parameters: type.tokenParameters.merging(parameters) { $1 }, boundTo: nil)
        return ExchangedToken(response, received: dependencies.now(), requested: exchange.scope ?? [])
    }

    func exchange(
        tokenOf id: Account.ID, _ configure: (inout TokenExchange) -> Void
    ) async throws -> ExchangedToken {
        let token = try await broker.accessToken(for: id)
        guard let account = try await repository.read(id)?.account else { throw AccountStoreError.unknownAccount(id) }
        var exchange = TokenExchange(
            subject: TokenExchange.TypedToken(token.secret, type: TokenExchange.accessTokenType))
        configure(&exchange)
        return try await self.exchange(exchange, at: context.type(account.type, policy: account.policy))
    }

    func exchange(onBehalfOf assertion: Secret, at type: AccountType, scope: Scope) async throws -> ExchangedToken {
        let response = try await client(of: type).tokens(
            for: .jwtBearer(assertion, scope: scope),
            parameters: type.tokenParameters.merging(["requested_token_use": "on_behalf_of"]) { $1 }, boundTo: nil)
        return ExchangedToken(response, received: dependencies.now(), requested: scope)
    }

    /// Returns the claims of the provider's userinfo response, or `nil` if the provider has no userinfo endpoint. If
    /// the provider rejects the token, refreshes it once.
    func userInfo(of id: Account.ID) async throws -> JSONObject? {
        guard let saved = try await repository.read(id)?.record else { throw AccountStoreError.unknownAccount(id) }
        let type = try type(of: saved)
        guard type.provider != .staticToken else { return nil }
        let client = try await client(of: type, offering: "userinfo_endpoint")
        guard client.server.userinfoEndpoint != nil else { return nil }
        // If the settings name a different provider now, it must not receive this token.
        try RefreshTokenBinding.check(saved, type, client.server)
        var token = try await broker.accessToken(for: id)
        var response = try await userInfoResponse(token, id, client)
        if response.status == 401, saved.canRefresh {
            token = try await broker.accessToken(for: id, .main, FreshnessRequirement(rejected: token.secret))
            response = try await userInfoResponse(token, id, client)
        }
        if let needed = response.scopeNeeded {
            let scope = needed.isEmpty ? "openid" : needed.text
            throw AccountStoreError(
                .signInNeeded(.scopeNotGranted), what: "cannot get the user's claims",
                reason: "the provider requires the scope \(scope), which the account does not have",
                remedy: .signInAgain)
        }
        do throws(any Error) {
            return try await IdentityVerifier(context: context).userInfo(response, saved.subject, client)
        } catch let error as OAuth2Error {
            throw error.redacting([token.secret])
        }
    }

    private func userInfoResponse(
        _ token: AccessToken, _ id: Account.ID, _ client: ProviderClient
    ) async throws -> HTTPResponse {
        guard let request = UserInfo.request(server: client.server, accessToken: token.secret) else {
            throw OAuth2Error.configuration("the provider has no userinfo endpoint")
        }
        guard token.type == "dpop" else { return try await client.send(request) }
        guard let key = try await repository.read(id)?.record.senderKey.flatMap(DPoPKey.key) else {
            throw AccountStoreError.dpopKeyMissing(id)
        }
        return try await client.send(to: request.url, boundTo: key, accessToken: token.secret) { request }
    }

    func introspect(_ token: AccessToken, of id: Account.ID) async throws -> Introspection {
        guard let record = try await repository.read(id)?.record else { throw AccountStoreError.unknownAccount(id) }
        let client = try await client(of: try type(of: record), offering: "introspection_endpoint")
        let request = try IntrospectionRequest(
            token.secret, hint: .accessToken, server: client.server, client: try await client.preparedClient())
        let response = try await client.send(request.request)
        do throws(OAuth2Error) {
            return try Introspection.read(response, now: client.serverTime(of: client.server.introspectionEndpoint))
        } catch {
            throw error.redacting([token.secret] + client.client.secretForms)
        }
    }
}
