import Platform
import OAuth2Protocol

/// A token that another was exchanged for. It is not kept.
public struct ExchangedToken: Sendable, Equatable {
    /// The token.
    public let secret: Secret
    /// What kind of token it is (RFC 8693 section 3); nil when the provider did not say.
    public let issuedType: String?
    /// How it is used, in lower case: `bearer`, or `n_a` for a token that is no access token and goes into no header.
    public let tokenType: String
    /// When it expires; nil when the provider did not say.
    public let expiry: Date?
    /// The scope that was granted.
    public let scope: Scope
    /// A refresh token, where the provider gave one.
    public let refreshToken: Secret?

    init(_ answer: ProviderClient.Answer, asked: Scope) {
        let response = answer.response
        secret = response.accessToken
        issuedType = response.additional["issued_token_type"]?.string
        tokenType = response.tokenType
        expiry = response.expiresIn.map { answer.received.addingTimeInterval(Double($0)) }
        scope = response.grantedScope(asked: asked)
        refreshToken = response.refreshToken
    }
}

extension AccountStore {
    /// Exchanges a token for another one, in the name of a type's client. Nothing is kept.
    ///
    /// [RFC 8693](https://www.rfc-editor.org/rfc/rfc8693)
    ///
    /// - Parameters:
    ///   - exchange: what is exchanged, and for what. Without resources of its own it has those of the type.
    ///   - type: the name of the account type.
    ///   - parameters: further parameters of the provider.
    /// - Throws: ``AccountStoreError``
    public func exchange(
        _ exchange: TokenExchange, at type: String, parameters: [String: String] = [:]
    ) async throws -> ExchangedToken {
        try await failing("cannot exchange the token") {
            try await self.exchange(exchange, at: self.type(type), parameters)
        }
    }

    private func exchange(
        _ exchange: TokenExchange, at type: AccountType, _ parameters: [String: String]
    ) async throws -> ExchangedToken {
        try await failing("cannot exchange the token") {
            let connection = try await connection(to: type)
            var exchange = exchange
            if exchange.resources.isEmpty, exchange.audiences.isEmpty { exchange.resources = connection.type.resources }
            let answer = try await connection.tokens(
                for: .tokenExchange(exchange), parameters: connection.type.tokenParameters.merging(parameters) { $1 },
                boundTo: nil)
            return ExchangedToken(answer, asked: exchange.scope ?? [])
        }
    }

    /// Exchanges an account's access token, renewed when need be, for one of another service. Nothing is kept.
    ///
    /// - Parameters:
    ///   - id: the account.
    ///   - resources: the services that the token is for, by address; absolute, without fragment.
    ///   - audiences: the services by the names that the provider gives them.
    ///   - scope: what is asked for.
    ///   - requestedType: the type of token that is wanted; the provider chooses when nil.
    /// - Throws: ``AccountStoreError``; `signInNeeded` only when the account's own token cannot be had.
    public func exchange(
        tokenOf id: Account.ID, resources: [String] = [], audiences: [String] = [], scope: Scope? = nil,
        requestedType: String? = nil
    ) async throws -> ExchangedToken {
        let token = try await accessToken(for: id)
        guard let account = try await account(id) else { throw unknown(id) }
        var exchange = TokenExchange(
            subject: TokenExchange.TypedToken(token.secret, type: TokenExchange.accessTokenType))
        exchange.resources = resources
        exchange.audiences = audiences
        exchange.scope = scope
        exchange.requestedType = requestedType
        return try await self.exchange(exchange, at: type(account.type, policy: account.policy), [:])
    }

    /// Exchanges the access token that a caller of this service sent for one of another service, as Microsoft Entra does it:
    /// on behalf of the caller. Nothing is kept.
    ///
    /// When the provider wants the person, the error's ``AccountStoreError/provider`` has the claims that the caller must ask for.
    ///
    /// - Parameters:
    ///   - assertion: the token that the caller sent, issued for this client.
    ///   - type: the name of the account type.
    ///   - scope: what is asked for.
    /// - Throws: ``AccountStoreError``
    public func exchange(onBehalfOf assertion: Secret, at type: String, scope: Scope) async throws -> ExchangedToken {
        try await failing("cannot get a token on behalf of the caller") {
            let connection = try await connection(to: self.type(type))
            let answer = try await connection.tokens(
                for: .jwtBearer(assertion, scope: scope),
                parameters: connection.type.tokenParameters.merging(["requested_token_use": "on_behalf_of"]) { $1 },
                boundTo: nil)
            return ExchangedToken(answer, asked: scope)
        }
    }
}
