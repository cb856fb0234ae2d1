import OAuth2Protocol
import Platform
import ProviderSettings

/// Exchanges tokens for those of other services, and introspects them. It saves nothing.
struct TokenExchanger: StoreCollaborator {
    let context: StoreContext
    let broker: TokenBroker

    func exchange(
        _ exchange: TokenExchange, at type: String, parameters: [String: String] = [:]
    ) async throws -> ExchangedToken {
        try await AccountStoreError.wrappingErrors("cannot exchange the token") {
            try await self.exchange(exchange, at: self.type(type), parameters)
        }
    }

    private func exchange(
        _ exchange: TokenExchange, at type: AccountType, _ parameters: [String: String]
    ) async throws -> ExchangedToken {
        try await AccountStoreError.wrappingErrors("cannot exchange the token") {
            let connection = try await client(of: type)
            var exchange = exchange
            if exchange.resources.isEmpty, exchange.audiences.isEmpty { exchange.resources = connection.type.resources }
            let response = try await connection.tokens(
                for: .tokenExchange(exchange), parameters: connection.type.tokenParameters.merging(parameters) { $1 },
                boundTo: nil)
            return ExchangedToken(response, received: dependencies.now(), asked: exchange.scope ?? [])
        }
    }

    func exchange(
        tokenOf id: Account.ID, resources: [String] = [], audiences: [String] = [], scope: Scope? = nil,
        requestedType: String? = nil
    ) async throws -> ExchangedToken {
        let token = try await broker.accessToken(for: id)
        let account = try await AccountStoreError.wrappingErrors("cannot read the account") {
            try await repository.read(id)?.account
        }
        guard let account else { throw AccountStoreError.unknownAccount(id) }
        var exchange = TokenExchange(
            subject: TokenExchange.TypedToken(token.secret, type: TokenExchange.accessTokenType))
        exchange.resources = resources
        exchange.audiences = audiences
        exchange.scope = scope
        exchange.requestedType = requestedType
        return try await self.exchange(exchange, at: context.type(account.type, policy: account.policy), [:])
    }

    func exchange(onBehalfOf assertion: Secret, at type: String, scope: Scope) async throws -> ExchangedToken {
        try await AccountStoreError.wrappingErrors("cannot get a token on behalf of the caller") {
            let connection = try await client(of: self.type(type))
            let response = try await connection.tokens(
                for: .jwtBearer(assertion, scope: scope),
                parameters: connection.type.tokenParameters.merging(["requested_token_use": "on_behalf_of"]) { $1 },
                boundTo: nil)
            return ExchangedToken(response, received: dependencies.now(), asked: scope)
        }
    }

    func introspect(_ token: AccessToken, of id: Account.ID) async throws -> Introspection {
        try await AccountStoreError.wrappingErrors("cannot ask about the token") {
            guard let record = try await repository.read(id)?.record else { throw AccountStoreError.unknownAccount(id) }
            let connection = try await client(of: try type(of: record))
            let request = try IntrospectionRequest(
                token.secret, hint: .accessToken, server: connection.server, client: try connection.preparedClient())
            let response = try await connection.send(request.request)
            do throws(OAuth2Error) {
                return try Introspection.read(
                    response, now: connection.serverTime(of: connection.server.introspectionEndpoint))
            } catch {
                throw error.redacting([token.secret, connection.client.secret])
            }
        }
    }
}
