import HTTPExchange
import LoopbackHTTP

/// Sends each request to its endpoint and logs it.
struct Router: Sendable {
    let provider: ProviderState

    func response(to request: LoopbackRequest) async -> LoopbackResponse {
        var note = RequestNote()
        let response = await route(request, &note)
        let isDirectory = ["/v1.0/", "/beta/", "/scim/v2/", "/admin/directory/v1/"].contains {
            request.path.hasPrefix($0)
        }
        let isSilent = response.injectedError == .closeWithoutResponse || response.injectedError == .stall
        let entry = LoggedRequest(
            method: request.method.rawValue, path: request.path, query: isDirectory ? request.query : nil,
            grantType: note.grantType, status: isSilent ? nil : response.status, injectedError: note.injectedError)
        provider.state.withLock { $0.log.add(entry) }
        provider.configuration.onRequest?(entry)
        return response
    }

    private func route(_ request: LoopbackRequest, _ note: inout RequestNote) async -> LoopbackResponse {
        if request.path.hasPrefix("/v1.0/") || request.path.hasPrefix("/beta/") {
            return GraphEndpoint(provider: provider).response(to: request, &note)
        }
        if request.path.hasPrefix(SCIMEndpoint.path + "/") {
            return SCIMEndpoint(provider: provider).response(to: request, &note)
        }
        if request.path.hasPrefix(GoogleEndpoint.path + "/") {
            return GoogleEndpoint(provider: provider).response(to: request, &note)
        }
        let method = request.method == .head ? .get : request.method
        switch (request.path, method) {
        case ("/", .get): return provider.welcomePage()
        case ("/.well-known/openid-configuration", .get), ("/.well-known/oauth-authorization-server", .get):
            return .json(.object(provider.metadata()))
        case ("/jwks", .get): return await provider.jwks()
        case ("/authorize", .get): return provider.authorize(query: request.query ?? "")
        case ("/authorize", .post): return provider.authorize(post: request)
        case ("/token", .post): return await provider.token(request, &note)
        case ("/device_authorization", .post): return provider.deviceAuthorization(request)
        case ("/device", .get): return provider.devicePage(request.options)
        case ("/device", .post): return provider.decideDevice(request)
        case ("/userinfo", .get), ("/userinfo", .post): return provider.userInfo(request)
        case ("/revoke", .post): return provider.revoke(request)
        case ("/logout", .get): return await provider.logout(request.options)
        case ("/logout", .post):
            return await provider.logout(FormFields(parsing: String(decoding: request.body, as: UTF8.self)))
        default: break
        }
        guard let methods = Self.methods[request.path] else {
            return .text(404, "There is no endpoint here. See /.well-known/openid-configuration\n")
        }
        var response = LoopbackResponse.text(405, "This takes \(methods)\n")
        response.fields["Allow"] = methods
        return response
    }

    private static let methods = [
        "/": "GET", "/.well-known/openid-configuration": "GET", "/.well-known/oauth-authorization-server": "GET",
        "/jwks": "GET", "/authorize": "GET, POST", "/token": "POST", "/userinfo": "GET, POST", "/revoke": "POST",
        "/device_authorization": "POST", "/device": "GET, POST",
        "/logout": "GET, POST",
    ]
}
