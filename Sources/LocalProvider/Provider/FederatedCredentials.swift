import HTTPExchange
import JOSE
import LodgePlatform
import LoopbackHTTP
import StrictJSON

// Workload identity federation as in Microsoft Entra, and the token service of GitHub Actions as an issuer.

/// An issuer, subject and audience whose JWTs authenticate a client. Entra compares all three exactly, with their case.
struct FederatedCredential: Sendable, Equatable {
    /// The issuer, or `nil` for the provider's own stand-in for GitHub.
    var issuer: String?
    var subject: String
    var audience = "api://AzureADTokenExchange"
}

extension LocalClient {
    /// The client of a workload, without a secret: it authenticates with a JWT of the stand-in for GitHub.
    package static let workload: LocalClient = {
        var client = LocalClient(id: "lodge-workload", name: "Lodge (workload)")
        client.federatedCredentials = [FederatedCredential(subject: GitHubTokens.subject)]
        return client
    }()
}

/// The token service of GitHub Actions.
enum GitHubTokens {
    static let path = "/github"
    /// The subject of its JWTs.
    static let subject = "repo:contoso/app:ref:refs/heads/main"
    /// The bearer token of a job: `ACTIONS_ID_TOKEN_REQUEST_TOKEN`.
    static let requestToken = "not-a-secret-request"
    /// The lifetime of a JWT in seconds.
    static let lifetime = 300
}

extension ProviderState {
    /// The issuer of the stand-in for GitHub.
    var gitHubIssuer: String { origin + GitHubTokens.path }

    /// Returns the key that signs the JWTs of the stand-in for GitHub.
    private func federationKey() throws(OAuthFailure) -> JWK {
        do {
            return try state.federationKey.withLock { key in
                if let key { return key }
                let new = try JWK.generate(for: .es256, keyID: "github-1")
                key = new
                return new
            }
        } catch {
            throw .server
        }
    }

    /// Returns a JWT of the stand-in for GitHub.
    func gitHubToken(subject: String, audience: String, lifetime: Int) throws(OAuthFailure) -> String {
        let now = now
        let claims: JSONObject = [
            "iss": .string(gitHubIssuer), "sub": .string(subject), "aud": .string(audience), "iat": .integer(now),
            "nbf": .integer(now), "exp": .integer(now + lifetime), "jti": .string(try newToken()),
        ]
        do {
            return try JWT.sign(claims, with: try federationKey(), algorithm: .es256)
        } catch {
            throw .server
        }
    }

    /// Responds to a job that requests a JWT.
    func gitHubToken(_ request: LoopbackRequest) -> LoopbackResponse {
        guard request.fields["Authorization"] == "Bearer \(GitHubTokens.requestToken)" else {
            return .json(["message": "Bad credentials"], status: 401)
        }
        do throws(OAuthFailure) {
            let audience = request.options?["audience"] ?? "https://github.com/contoso"
            return .json([
                "count": 1,
                "value": .string(
                    try gitHubToken(
                        subject: GitHubTokens.subject, audience: audience, lifetime: GitHubTokens.lifetime)),
            ])
        } catch {
            return failure(error)
        }
    }

    /// Responds with the metadata or the keys of the stand-in for GitHub.
    func gitHubMetadata(keys: Bool) -> LoopbackResponse {
        guard keys else {
            return .json(["issuer": .string(gitHubIssuer), "jwks_uri": .string(gitHubIssuer + "/jwks")])
        }
        guard let key = try? federationKey() else { return failure(.server) }
        return .json(JWKSet([key]).json)
    }

    /// Checks the JWT of another issuer that authenticates a client. The numbers of the errors are Entra's.
    func checkFederated(_ form: FormFields, _ client: LocalClient) throws(OAuthFailure) {
        func failure(_ code: String, _ description: String) -> OAuthFailure {
            OAuthFailure(status: code == "invalid_client" ? 401 : 400, code: code, description: description)
        }
        guard form["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" else {
            throw .invalidRequest("AADSTS900144: client_assertion_type is not jwt-bearer.")
        }
        guard let text = form["client_assertion"], let token = try? JWT(parsing: text) else {
            throw failure("invalid_client", "AADSTS50027: JWT token is invalid or malformed.")
        }
        let claims = token.unverifiedClaims
        let issuer = (try? claims.issuer) ?? nil
        let subject = (try? claims.subject) ?? nil
        let audiences = ((try? claims.audience) ?? nil) ?? []
        func own(_ credential: FederatedCredential) -> String { credential.issuer ?? gitHubIssuer }
        let byIssuer = client.federatedCredentials.filter { own($0) == issuer }
        guard !byIssuer.isEmpty else {
            throw failure(
                "invalid_request",
                "AADSTS700211: No matching federated identity record found for presented assertion issuer.")
        }
        guard let byName = byIssuer.first(where: { $0.subject.lowercased() == subject?.lowercased() }) else {
            throw failure(
                "invalid_request",
                "AADSTS700213: No matching federated identity record found for presented assertion subject.")
        }
        guard byIssuer.contains(where: { $0.subject == subject }) else {
            throw failure(
                "invalid_request",
                "AADSTS7002138: The presented assertion subject matches \(byName.subject) only case-insensitively.")
        }
        let matches = byIssuer.filter { $0.subject == subject && audiences.contains($0.audience) }
        guard !matches.isEmpty else {
            throw failure(
                "invalid_request",
                "AADSTS700212: No matching federated identity record found for presented assertion audience.")
        }
        let now = Double(now)
        guard let expiration = (try? claims.expiration) ?? nil, expiration > now,
            ((try? claims.notBefore) ?? nil ?? now) <= now + 300
        else {
            throw failure("invalid_client", "AADSTS700024: Client assertion is not within its valid time range.")
        }
        guard (try? token.verified(with: JWKSet([try federationKey()]), algorithms: [.es256])) != nil else {
            throw failure("invalid_client", "AADSTS700027: The signature of the client assertion is not valid.")
        }
    }
}
