import Platform
import HTTPExchange
import OAuth2Protocol

/// Facebook has no refresh tokens. The token of a sign-in is good for an hour or two, and can be exchanged once for one of
/// about sixty days by the client that has the secret.
///
/// https://developers.facebook.com/docs/facebook-login/guides/access-tokens/get-long-lived
struct FacebookLongLivedToken: Sendable {
    /// The request to send. Facebook documents a GET; the same parameters in a form, as for its other grants, keep the secret
    /// out of addresses.
    let request: HTTPRequest

    /// Builds the request; nil when the client has no secret, because then Facebook does not exchange.
    ///
    /// - Throws: ``OAuth2Error/configuration(_:)`` when there is no token endpoint.
    init?(_ shortLived: Secret, server: AuthorizationServer, client: Client) throws(OAuth2Error) {
        let secret: Secret
        switch client.authentication {
        case .secretPost(let text), .secretBasic(let text), .secretBasicRaw(let text): secret = text
        default: return nil
        }
        guard let endpoint = server.tokenEndpoint else {
            throw .configuration(server.unusable["token_endpoint"] ?? "the provider has no token endpoint")
        }
        let pairs = [
            ("grant_type", "fb_exchange_token"), ("client_id", client.id), ("client_secret", secret.value),
            ("fb_exchange_token", shortLived.value),
        ]
        request = HTTPRequest(
            .post, endpoint,
            fields: ["Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"],
            body: Data(FormEncoding.encode(pairs).utf8))
    }

    /// The answer of the sign-in with the long-lived token in place of its own.
    ///
    /// - Throws: ``OAuth2Error``
    static func read(_ response: HTTPResponse, replacing tokens: TokenResponse) throws(OAuth2Error) -> TokenResponse {
        let exchanged = try TokenResponse.read(response)
        var result = tokens
        result.accessToken = exchanged.accessToken
        result.expiresIn = exchanged.expiresIn
        return result
    }
}

extension ProviderClient {
    /// The answer with a long-lived token, for types that ask for the exchange. When the exchange fails the first token stays:
    /// it is good for an hour or two, and the person is not sent away for it.
    ///
    /// - Throws: `CancellationError`
    func longLived(_ tokens: TokenResponse) async throws -> TokenResponse {
        guard type.exchangesForLongLivedTokens else { return tokens }
        do {
            guard let step = try FacebookLongLivedToken(tokens.accessToken, server: server, client: client) else {
                return tokens
            }
            return try FacebookLongLivedToken.read(try await send(step.request), replacing: tokens)
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            return tokens
        }
    }
}
