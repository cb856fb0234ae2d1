import LodgePlatform
import HTTPExchange
import OAuth2Protocol

/// The request for a long-lived token at Facebook, which has no refresh tokens.
///
/// A client with a secret can exchange the token of a sign-in, which is valid for an hour or two, for a token that is
/// valid for about 60 days.
///
/// See https://developers.facebook.com/docs/facebook-login/guides/access-tokens/get-long-lived
struct FacebookLongLivedToken: Sendable {
    /// A POST with a form, as for Facebook's other grants, so that no URL contains the secret. Facebook documents a
    /// GET.
    let request: HTTPRequest

    /// Creates the request, or `nil` if the client has no secret: Facebook does not exchange its tokens.
    ///
    /// - Throws: ``OAuth2Error/configuration(_:)`` if the provider has no token endpoint.
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

    /// Returns the tokens of the sign-in with the long-lived access token in place of the first one.
    static func read(_ response: HTTPResponse, replacing tokens: TokenResponse) throws(OAuth2Error) -> TokenResponse {
        let exchanged = try TokenResponse.read(response)
        var result = tokens
        result.accessToken = exchanged.accessToken
        result.expiresIn = exchanged.expiresIn
        return result
    }
}

extension ProviderClient {
    /// Returns the tokens with a long-lived access token if the type requires the exchange. If the exchange fails,
    /// returns the tokens unchanged.
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
