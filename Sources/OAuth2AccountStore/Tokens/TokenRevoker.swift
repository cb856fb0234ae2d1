import OAuth2Protocol
import LodgePlatform

/// Revokes tokens at their provider (RFC 7009).
struct TokenRevoker: Sendable {
    let dependencies: Dependencies

    /// Revokes the tokens of an account.
    ///
    /// The refresh token is first, because most providers then revoke its access tokens too.
    func revoke(
        _ tokens: TokenSet, and additional: AdditionalTokens? = nil, _ connection: ProviderClient
    ) async -> SignOutReport.Part {
        var outcome = SignOutReport.Part.notOffered
        var requests: [(Secret, RevocationRequest.Hint)] = []
        if let refreshToken = tokens.refreshToken { requests.append((refreshToken, .refreshToken)) }
        let now = dependencies.now()
        for token in [tokens] + (additional?.all ?? []) where token.expiry.map({ $0 > now }) ?? true || token == tokens
        {
            // An imported account can have only a refresh token.
            if !token.accessToken.value.isEmpty { requests.append((token.accessToken, .accessToken)) }
        }
        for (token, hint) in requests {
            do {
                guard try await revoke(token, hint, tokens, connection) else { return .notOffered }
                outcome = .succeeded
            } catch {
                // After one successful revocation, a failure for an access token does not change the outcome: the token
                // expires soon.
                if hint == .refreshToken || outcome != .succeeded {
                    outcome = .failed(AccountStoreError.reason(of: error))
                }
                break
            }
        }
        return outcome
    }

    /// Revokes one token. Returns `false` if the provider does not support revocation.
    private func revoke(
        _ token: Secret, _ hint: RevocationRequest.Hint, _ tokens: TokenSet, _ connection: ProviderClient
    ) async throws -> Bool {
        let server = connection.server
        if hint == .refreshToken { try RefreshTokenBinding.checkRevocation(connection.type, server) }
        guard
            let request = try RevocationRequest(
                token, hint: hint, server: server, client: try await connection.preparedClient())
        else { return false }
        let response = try await connection.send(request.request)
        do throws(OAuth2Error) {
            try RevocationRequest.read(response)
        } catch {
            // glewlwyd and a few other providers require that a public client sends the account's access token in the
            // Authorization header field.
            guard [400, 401, 403].contains(response.status), connection.client.authentication == .none,
                let request = try RevocationRequest(
                    token, hint: hint, server: server, client: connection.client, bearer: tokens.accessToken)
            else { throw error }
            try RevocationRequest.read(try await connection.send(request.request))
        }
        return true
    }
}
