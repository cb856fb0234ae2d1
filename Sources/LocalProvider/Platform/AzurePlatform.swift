import HTTPExchange
import LodgePlatform
import LoopbackHTTP
import StrictJSON

/// The services of Azure that issue tokens to managed identities. Each checks every header field and parameter.
extension ProviderState {
    /// A service, and what it requires.
    enum AzureService: Sendable {
        case imds, appService, arc, cloudShell, machineLearning

        fileprivate var version: String? {
            switch self {
            case .imds: "2018-02-01"
            case .appService: "2019-08-01"
            case .arc: "2020-06-01"
            case .machineLearning: "2017-09-01"
            case .cloudShell: nil
            }
        }

        /// The parameter names for the client ID, the object ID and the resource ID.
        fileprivate var names: [String] {
            switch self {
            case .imds, .arc: ["client_id", "object_id", "msi_res_id"]
            case .appService: ["client_id", "object_id", "mi_res_id"]
            case .machineLearning: ["clientid"]
            case .cloudShell: []
            }
        }

        /// The header field that keeps requests of a browser away.
        fileprivate var field: (name: String, value: String) {
            switch self {
            case .imds, .arc, .cloudShell: ("Metadata", "true")
            case .appService: ("X-IDENTITY-HEADER", PlatformConfiguration.header)
            case .machineLearning: ("secret", PlatformConfiguration.header)
            }
        }

        /// Returns an error in the form of the service.
        fileprivate func error(_ code: String, _ text: String, status: Int) -> LoopbackResponse {
            switch self {
            case .imds, .arc, .machineLearning:
                .json(["error": .string(code), "error_description": .string(text)], status: status)
            case .appService: .json(["statusCode": .integer(status), "message": .string(text)], status: status)
            case .cloudShell:
                .json(["error": ["code": .string(code), "message": .string(text)]], status: status)
            }
        }
    }

    func azureToken(_ service: AzureService, _ request: LoopbackRequest, _ note: inout RequestNote) -> LoopbackResponse
    {
        guard let entry = state.withLock({ $0.injectedErrors.take("metadata-") }) else {
            return azureToken(service, request)
        }
        note.injectedError = entry.name
        if let response = entry.gatewayResponse { return response }
        switch entry.name {
        case .metadata400: return service.error("invalid_request", "Identity not found", status: 400)
        case .metadata404: return service.error("not_found", "IMDS is updating", status: 404)
        case .metadata410: return service.error("gone", "IMDS is updating", status: 410)
        case .metadata429:
            var response = service.error("too_many_requests", "Too many requests", status: 429)
            response.fields["Retry-After"] = entry.retryAfter(now: now)
            return response
        case .metadata500: return service.error("server_error", "An injected error", status: 500)
        case .metadataHTML: return .html("<html><body>Sign in to the network</body></html>\n", status: 200)
        case .metadataRedirect:
            var response = LoopbackResponse(status: 302)
            response.fields["Location"] = "\(origin)/"
            return response
        default: return azureToken(service, request, entry.name)
        }
    }

    private func azureToken(
        _ service: AzureService, _ request: LoopbackRequest, _ change: InjectedErrors.Name? = nil
    ) -> LoopbackResponse {
        let (name, value) = service.field
        guard request.fields.values(for: name) == [value] else {
            return service.error("invalid_request", "Required header \(name) is missing or wrong", status: 400)
        }
        guard request.fields["X-Forwarded-For"] == nil else {
            return service.error("invalid_request", "X-Forwarded-For is not allowed", status: 400)
        }
        guard let parameters = service == .cloudShell ? request.form : request.options, !parameters.hasDuplicates else {
            return service.error("invalid_request", "A parameter is malformed or appears twice", status: 400)
        }
        let known = ["resource"] + service.names + (service.version == nil ? [] : ["api-version"])
        if let unknown = parameters.fields.first(where: { !known.contains($0.name) }) {
            return service.error("invalid_request", "The parameter \(unknown.name) is unknown", status: 400)
        }
        guard parameters["api-version"] == service.version else {
            return service.error("invalid_request", "api-version is not \(service.version ?? "")", status: 400)
        }
        guard let resource = parameters["resource"], !resource.hasSuffix("/.default"), !resource.contains(" ") else {
            return service.error("invalid_resource", "resource is missing or is a scope", status: 400)
        }
        let selected = service.names.filter { parameters[$0] != nil }
        guard selected.count <= 1, let identity = identity(service, selected.first, parameters) else {
            return service.error("invalid_request", "Identity not found", status: 400)
        }
        if service == .arc, let response = challenge(request) { return response }
        if service != .arc, request.fields["Authorization"] != nil {
            return service.error("invalid_request", "Authorization is not expected", status: 400)
        }
        return azureResponse(service, resource, identity, change)
    }

    private func identity(
        _ service: AzureService, _ name: String?, _ parameters: FormFields
    ) -> PlatformConfiguration.Identity? {
        guard let name, let wanted = parameters[name]?.lowercased() else { return PlatformConfiguration.systemIdentity }
        let identity = PlatformConfiguration.userIdentity
        let own =
            switch name {
            case "client_id", "clientid": identity.clientID
            case "object_id": identity.objectID
            default: identity.resourceID
            }
        return own.lowercased() == wanted ? identity : nil
    }

    /// Returns the challenge of Azure Arc, unless the request has the content of the file.
    private func challenge(_ request: LoopbackRequest) -> LoopbackResponse? {
        guard let challenge = configuration.platform.challenge else {
            return AzureService.arc.error("server_error", "No challenge file is configured", status: 500)
        }
        guard request.fields.values(for: "Authorization") != ["Basic \(challenge.content)"] else { return nil }
        var response = AzureService.arc.error("unauthorized", "The key is missing or wrong", status: 401)
        response.fields["WWW-Authenticate"] = "Basic realm=\(challenge.path)"
        return response
    }

    private func azureResponse(
        _ service: AzureService, _ resource: String, _ identity: PlatformConfiguration.Identity,
        _ change: InjectedErrors.Name?
    ) -> LoopbackResponse {
        let lifetime = Int(clamping: max(1, configuration.accessTokenLifetime.components.seconds))
        guard
            // The token of Cloud Shell is the user's.
            let token = platformToken(
                client: identity.clientID, user: service == .cloudShell ? 0 : nil,
                scopes: ["User.Read.All", "GroupMember.Read.All"], lifetime: lifetime)
        else { return service.error("server_error", "No randomness", status: 500) }
        let echo = change == .metadataOtherIdentity ? PlatformConfiguration.systemIdentity : identity
        let end: JSONValue = change == .metadataNumber ? .integer(now + lifetime) : .string(String(now + lifetime))
        var object: JSONObject = [
            "access_token": .string(token), "expires_on": end, "resource": .string(resource), "token_type": "Bearer",
            "client_id": .string(echo.clientID),
        ]
        if service == .imds || service == .arc || service == .cloudShell {
            object.append("refresh_token", "")
            object.append("expires_in", .string(String(lifetime)))
            object.append("not_before", .string(String(now)))
        }
        if service == .arc || service == .imds {
            object.append("object_id", .string(echo.objectID))
            object.append("msi_res_id", .string(echo.resourceID))
        }
        return .json(object)
    }

    /// Returns a new token of an application, which the directories accept, or `nil` without randomness.
    func platformToken(client: String, user: Int? = nil, scopes: [String], lifetime: Int) -> String? {
        guard let token = try? newToken() else { return nil }
        let authorization = Authorization(
            clientID: client, user: user, scopes: scopes, nonce: nil, authenticatedAt: now)
        let access = Grants.AccessToken(grant: token, authorization: authorization, expiresAt: now + lifetime)
        state.withLock { $0.grants.accessTokens[token] = access }
        return token
    }
}
