import OAuth2Protocol
import Platform
import ProviderSettings

/// Exchanges tokens for those of other services, and introspects them. It saves nothing.
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

    func introspect(_ token: AccessToken, of id: Account.ID) async throws -> Introspection {
        guard let record = try await repository.read(id)?.record else { throw AccountStoreError.unknownAccount(id) }
        let client = try await client(of: try type(of: record), offering: "introspection_endpoint")
        let request = try IntrospectionRequest(
            token.secret, hint: .accessToken, server: client.server, client: try client.preparedClient())
        let response = try await client.send(request.request)
        do throws(OAuth2Error) {
            return try Introspection.read(response, now: client.serverTime(of: client.server.introspectionEndpoint))
        } catch {
            throw error.redacting([token.secret] + client.client.secretForms)
        }
    }
}
