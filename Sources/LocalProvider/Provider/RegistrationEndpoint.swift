import LodgePlatform
import HTTPExchange
import JOSE
import LoopbackHTTP
import StrictJSON

// Dynamic client registration and pushed authorization requests. See RFC 7591, RFC 7592 and RFC 9126.
extension ProviderState {
    static let registrationPath = "/register/"

    private static let authenticationMethods = [
        "none", "client_secret_basic", "client_secret_post", "private_key_jwt",
    ]

    private static func invalidMetadata(_ reason: String) -> OAuthFailure {
        OAuthFailure(code: "invalid_client_metadata", description: reason)
    }

    /// The maximum size in bytes of saved data from unauthenticated programs.
    private static let maximumByteCount = 16 << 10

    /// Registers a client. See RFC 7591 section 3.
    func register(_ request: LoopbackRequest) -> LoopbackResponse {
        do throws(OAuthFailure) {
            // A page of another site cannot send this type without a CORS permission of this server.
            let type = request.fields["Content-Type"]?.lowercased().split(whereSeparator: { "; \t".contains($0) }).first
            guard type == "application/json" else {
                throw Self.invalidMetadata("Content-Type must be application/json.")
            }
            // Any program can register, and the metadata remains in memory.
            guard request.body.count <= Self.maximumByteCount else {
                throw Self.invalidMetadata("The request is longer than \(Self.maximumByteCount) bytes.")
            }
            guard let metadata = (try? JSONValue(parsing: request.body))?.object,
                metadata.duplicatedNames.isEmpty
            else { throw Self.invalidMetadata("The request is not a JSON object with each member once.") }
            let registration = try registration(metadata)
            state.withLock { $0.grants.registrations[registration.client.id] = registration }
            return .json(description(of: registration), status: 201)
        } catch {
            return failure(error)
        }
    }

    private func registration(_ metadata: JSONObject) throws(OAuthFailure) -> Registration {
        func strings(_ name: String) throws(OAuthFailure) -> [String]? {
            guard let value = metadata[name] else { return nil }
            let strings = value.array?.compactMap(\.string)
            guard let strings, strings.count == value.array?.count else {
                throw Self.invalidMetadata("\(name) is not a list of strings.")
            }
            return strings
        }
        let grantTypes = try strings("grant_types") ?? ["authorization_code"]
        guard Set(grantTypes).isSubset(of: Self.grantTypes) else {
            throw Self.invalidMetadata(
                "A grant type is not offered. Offered: \(Self.grantTypes.joined(separator: " "))")
        }
        guard try strings("response_types") ?? ["code"] == ["code"] || !grantTypes.contains("authorization_code") else {
            throw Self.invalidMetadata("Only the response type code is offered.")
        }
        let redirectURIs = try strings("redirect_uris") ?? []
        guard redirectURIs.allSatisfy(LocalClient.canRegister), redirectURIs.count <= 100,
            !redirectURIs.isEmpty || !grantTypes.contains("authorization_code")
        else {
            throw OAuthFailure(
                code: "invalid_redirect_uri",
                description:
                    "redirect_uris must contain 1 to 100 absolute URIs without a fragment. Only loopback URIs can have the scheme http."
            )
        }
        if let scope = metadata["scope"]?.string { _ = try readScopes(scope) }
        let method = metadata["token_endpoint_auth_method"]?.string ?? "client_secret_basic"
        guard Self.authenticationMethods.contains(method) else {
            throw Self.invalidMetadata(
                "token_endpoint_auth_method must be one of \(Self.authenticationMethods.joined(separator: " ")).")
        }
        let id = try newToken()
        var client = LocalClient(
            id: id, name: metadata["client_name"]?.string ?? "A registered client", redirectURIs: redirectURIs)
        client.grantTypes = grantTypes
        switch method {
        case "none": break
        case "private_key_jwt":
            guard let keySet = metadata["jwks"]?.object, let keys = try? JWKSet(keySet), !keys.keys.isEmpty else {
                throw Self.invalidMetadata("jwks contains no usable public key; jwks_uri is not supported.")
            }
            client.keySet = keys.json
        default: client.secret = try newToken()
        }
        return Registration(client: client, token: try newToken(), issuedAt: now, metadata: metadata)
    }

    /// Returns the response of a registration: the metadata of the request with the assigned values.
    private func description(of registration: Registration) -> JSONObject {
        let client = registration.client
        var object: JSONObject = [
            "client_id": .string(client.id), "client_id_issued_at": .integer(registration.issuedAt),
        ]
        if let secret = client.secret {
            object.append("client_secret", .string(secret))
            object.append("client_secret_expires_at", .integer(0))
        }
        object.append("registration_access_token", .string(registration.token))
        object.append("registration_client_uri", .string(origin + Self.registrationPath + client.id))
        let defaults: JSONObject = [
            "redirect_uris": .array(client.redirectURIs.map { .string($0) }), "client_name": .string(client.name),
            "token_endpoint_auth_method": "client_secret_basic", "grant_types": ["authorization_code"],
            "response_types": ["code"],
        ]
        for name in [
            "redirect_uris", "client_name", "token_endpoint_auth_method", "grant_types", "response_types", "scope",
            "client_uri", "logo_uri", "contacts", "tos_uri", "policy_uri", "software_id", "software_version",
            "application_type", "post_logout_redirect_uris",
        ] {
            if let value = registration.metadata[name] ?? defaults[name] { object.append(name, value) }
        }
        if let keySet = client.keySet { object.append("jwks", .object(keySet)) }
        return object
    }

    /// Reads or deletes a registration. See RFC 7592 section 2.
    func registeredClient(_ request: LoopbackRequest) -> LoopbackResponse {
        let id = String(request.path.dropFirst(Self.registrationPath.utf8.count))
        let token = request.fields.values(for: "Authorization").first.flatMap { value in
            value.prefix(7).lowercased() == "bearer " ? String(value.dropFirst(7)) : nil
        }
        guard let registration = state.withLock({ $0.grants.registrations[id] }), let token,
            equalInConstantTime(Array(token.utf8), Array(registration.token.utf8))
        else {
            var response = LoopbackResponse.text(401, "The token of a registration is expected.\n")
            response.fields["WWW-Authenticate"] = "Bearer realm=\"local provider\", error=\"invalid_token\""
            return response
        }
        switch request.method {
        case .get: return .json(description(of: registration))
        case .delete:
            state.withLock { state in
                state.grants.registrations[id] = nil
                state.grants.endAll(of: id)
            }
            return LoopbackResponse(status: 204)
        default:
            var response = LoopbackResponse.text(405, "This takes DELETE, GET\n")
            response.fields["Allow"] = "DELETE, GET"
            return response
        }
    }

    // MARK: Pushed authorization requests

    static let requestURIPrefix = "urn:ietf:params:oauth:request_uri:"

    /// Saves an authorization request. See RFC 9126 section 2.
    func pushRequest(_ request: LoopbackRequest) -> LoopbackResponse {
        do throws(OAuthFailure) {
            guard request.body.count <= Self.maximumByteCount else {
                throw .invalidRequest("The request is longer than \(Self.maximumByteCount) bytes.")
            }
            let form = try form(request)
            let client = try client(form, request.fields)
            guard form["request_uri"] == nil else { throw .invalidRequest("request_uri cannot be pushed.") }
            guard let redirectURI = form["redirect_uri"], client.accepts(redirectURI: redirectURI) else {
                throw .invalidRequest("redirect_uri is not registered for the client.")
            }
            _ = try pending(form, client, redirectURI)
            var parameters = FormFields()
            for field in form.fields where !field.name.hasPrefix("client_") {
                parameters.append(field.name, field.value)
            }
            parameters.append("client_id", client.id)
            let identifier = try newToken()
            let pushed = Grants.PushedRequest(
                clientID: client.id, parameters: parameters, expiresAt: now + Grants.pendingLifetime)
            state.withLock { $0.grants.pushed[identifier] = pushed }
            return .json(
                [
                    "request_uri": .string(Self.requestURIPrefix + identifier),
                    "expires_in": .integer(Grants.pendingLifetime),
                ], status: 201)
        } catch {
            return failure(error)
        }
    }

    /// Returns the identifier and the pushed request of a URI, or `nil` if it has expired or the user has decided.
    ///
    /// The page can be loaded repeatedly, because the user may open the URL twice. See RFC 9126 section 4.
    func pushedRequest(_ uri: String) -> (identifier: String, request: Grants.PushedRequest)? {
        let identifier = String(uri.dropFirst(Self.requestURIPrefix.count))
        let now = now
        return state.withLock { $0.grants.pushed[identifier] }
            .flatMap { $0.expiresAt > now ? (identifier, $0) : nil }
    }
}
