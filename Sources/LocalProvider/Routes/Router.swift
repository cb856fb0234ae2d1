import HTTPExchange
import LoopbackHTTP

/// The router that passes each request to its endpoint and logs it.
struct Router: Sendable {
    let provider: ProviderState
    /// The scheme of the provider's URLs.
    let scheme: String

    private typealias Directory =
        @Sendable (ProviderState, LoopbackRequest, inout RequestNote) -> LoopbackResponse
    private typealias Endpoint =
        @Sendable (ProviderState, LoopbackRequest, inout RequestNote) async -> LoopbackResponse

    private static let directories: [(prefix: String, respond: Directory)] = [
        ("/v1.0/", { GraphEndpoint(provider: $0).response(to: $1, &$2) }),
        ("/beta/", { GraphEndpoint(provider: $0).response(to: $1, &$2) }),
        (SCIMEndpoint.path + "/", { SCIMEndpoint(provider: $0).response(to: $1, &$2) }),
        (GoogleEndpoint.path + "/", { GoogleEndpoint(provider: $0).response(to: $1, &$2) }),
    ]

    private static let metadata: [HTTPMethod: Endpoint] = [.get: { provider, _, _ in .json(provider.metadata()) }]
    private static let userInfo: Endpoint = { provider, request, _ in provider.userInfo(request) }

    private static func azure(_ service: ProviderState.AzureService) -> [HTTPMethod: Endpoint] {
        [.get: { provider, request, note in provider.azureToken(service, request, &note) }]
    }

    private static let routes: [String: [HTTPMethod: Endpoint]] = [
        "/": [.get: { provider, request, _ in provider.googleRoot(request) ?? provider.welcomePage() }],
        "/.well-known/openid-configuration": metadata,
        "/.well-known/oauth-authorization-server": metadata,
        "/jwks": [.get: { provider, _, _ in await provider.jwks() }],
        "/authorize": [
            .get: { provider, request, _ in provider.authorize(request.options) },
            .post: { provider, request, _ in provider.authorize(post: request) },
        ],
        "/token": [.post: { provider, request, note in await provider.token(request, &note) }],
        "/device_authorization": [.post: { provider, request, _ in provider.deviceAuthorization(request) }],
        "/device": [
            .get: { provider, request, _ in provider.devicePage(userCode: request.options?["user_code"]) },
            .post: { provider, request, _ in provider.decideDevice(request) },
        ],
        "/userinfo": [.get: userInfo, .post: userInfo],
        "/introspect": [.post: { provider, request, _ in provider.introspect(request) }],
        "/register": [.post: { provider, request, _ in provider.register(request) }],
        "/par": [.post: { provider, request, _ in provider.pushRequest(request) }],
        "/revoke": [.post: { provider, request, _ in provider.revoke(request) }],
        GitHubTokens.path + "/token": [.get: { provider, request, _ in provider.gitHubToken(request) }],
        GitHubTokens.path + "/.well-known/openid-configuration": [
            .get: { provider, _, _ in provider.gitHubMetadata(keys: false) }
        ],
        GitHubTokens.path + "/jwks": [.get: { provider, _, _ in provider.gitHubMetadata(keys: true) }],
        "/metadata/identity/oauth2/token": azure(.imds), "/msi/token": azure(.appService),
        "/arc/metadata/identity/oauth2/token": azure(.arc), "/machinelearning/token": azure(.machineLearning),
        "/cloudshell/oauth2/token": [
            .post: { provider, request, note in provider.azureToken(.cloudShell, request, &note) }
        ],
        "/computeMetadata/v1/instance/service-accounts/default/token": [
            .get: { provider, request, note in await provider.googleMetadata(request, &note) }
        ],
        "/google/token": [.post: { provider, request, note in await provider.googleToken(request, &note) }],
        "/v1/token": [.post: { provider, request, note in await provider.googleExchange(request, &note) }],
        "/logout": [
            .get: { provider, request, _ in await provider.logout(request.options) },
            .post: { provider, request, _ in await provider.logout(request.form) },
        ],
    ]

    func response(to request: LoopbackRequest) async -> LoopbackResponse {
        var provider = provider
        provider.authority.origin = scheme + request.host
        var note = RequestNote()
        let directory = Self.directories.first { request.path.hasPrefix($0.prefix) }
        let response =
            if let directory {
                directory.respond(provider, request, &note)
            } else {
                await route(request, provider, &note)
            }
        let isSilent = response.injectedError == .closeWithoutResponse || response.injectedError == .stall
        let entry = LoggedRequest(
            method: request.method.rawValue, path: request.path, query: directory == nil ? nil : request.query,
            grantType: note.grantType, status: isSilent ? nil : response.status, injectedError: note.injectedError)
        provider.state.withLock { $0.log.add(entry) }
        provider.configuration.onRequest?(entry)
        return response
    }

    private func route(
        _ request: LoopbackRequest, _ provider: ProviderState, _ note: inout RequestNote
    ) async -> LoopbackResponse {
        var (provider, path) = (provider, request.path)
        if let (segment, policy, endpoint) = ProviderAuthority.tenantPath(path) {
            guard let tenant = ProviderAuthority.Tenant(segment) else {
                return provider.failure(
                    OAuthFailure(
                        code: "invalid_tenant",
                        description:
                            "AADSTS90002: Tenant not found. This provider has \(ProviderConfiguration.tenantID),"
                            + " contoso.example, common and organizations."))
            }
            provider.authority.tenant = tenant
            provider.authority.policy = policy
            path = endpoint
        }
        if path.hasPrefix(ProviderState.registrationPath) { return provider.registeredClient(request) }
        if path.hasPrefix(ProviderState.impersonationPath), request.method == .post {
            return await provider.googleImpersonation(request, &note)
        }
        guard let endpoints = Self.routes[path] else {
            return .text(404, "There is no endpoint here. See /.well-known/openid-configuration\n")
        }
        guard let endpoint = endpoints[request.method == .head ? .get : request.method] else {
            let methods = endpoints.keys.map(\.rawValue).sorted().joined(separator: ", ")
            var response = LoopbackResponse.text(405, "This takes \(methods)\n")
            response.fields["Allow"] = methods
            return response
        }
        return await endpoint(provider, request, &note)
    }
}
