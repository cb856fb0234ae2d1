import OAuth2Protocol

extension AccountStore {
    /// Asks the provider what a token of an account is worth. The client authenticates as for the token endpoint; most providers
    /// answer only clients that have a secret or a key.
    ///
    /// [RFC 7662](https://www.rfc-editor.org/rfc/rfc7662)
    ///
    /// - Parameters:
    ///   - token: the access token, as ``accessToken(for:minimumValidity:scopes:resource:claims:rejected:)`` gave it.
    ///   - id: the account.
    /// - Throws: ``AccountStoreError``: `settings` when the provider does not offer it, else what the provider or the network bring.
    public func introspect(_ token: AccessToken, of id: Account.ID) async throws -> Introspection {
        try await failing("cannot ask about the token") {
            guard let record = try await read(id)?.record else { throw unknown(id) }
            let connection = try await connection(to: try type(of: record))
            let request = try IntrospectionRequest(
                token.secret, hint: .accessToken, server: connection.server, client: try connection.preparedClient())
            let response = try await connection.send(request.request)
            do throws(OAuth2Error) {
                return try Introspection.read(
                    response, now: connection.serverTime(of: connection.server.introspectionEndpoint))
            } catch {
                throw error.hiding([token.secret, connection.client.secret])
            }
        }
    }
}
