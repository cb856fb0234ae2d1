import Diagnostics
import CommandLineKit
import LodgePlatform
import HTTPExchange
import OAuth2Protocol
import OAuth2AccountStore
import StrictJSON

/// Registers and deletes clients at a provider. See RFC 7591 and RFC 7592.
struct ProviderRegistration: Sendable {
    let type: AccountType
    let dependencies: Dependencies

    struct Made {
        var client: RegisteredClient
        /// The keys for this client in the account type.
        var keys: JSONObject
        /// The differences between request and registration, as sentences.
        var notes: [String]
    }

    /// Registers a native client with the type's redirect URI and scope.
    ///
    /// The server is the type's provider, or a server with known metadata.
    ///
    /// - Parameter required: The scope that the user or a resource named. It is requested even if the provider does not
    ///   list it.
    func register(
        _ metadata: JSONObject, required: Scope, initialAccessToken: Secret? = nil,
        at known: AuthorizationServer? = nil
    ) async throws -> Made {
        let server: AuthorizationServer
        if let known {
            server = known
        } else {
            server = try await ProviderReport.server(of: type, dependencies: dependencies)
        }
        guard let issuer = server.issuer else {
            throw CommandError(
                .settings, "cannot register the client", reason: "the type \(type.name) has no issuer",
                hint: "specify it with --issuer")
        }
        var members: JSONObject = [:]
        // A provider can reject a registration that contains an unknown scope.
        let scope = Scope(
            type.scope.tokens.filter { required.contains($0) || server.scopes?.contains($0) ?? true })
        if !scope.isEmpty { members.append("scope", .string(scope.text)) }
        members.append("token_endpoint_auth_method", .string(authenticationMethod(at: server)))
        for member in metadata.members { members[member.name] = member.value }
        var request: HTTPRequest
        var response: HTTPResponse
        if server.deviceAuthorizationEndpoint != nil, metadata["grant_types"] == nil {
            // A client can use only the grant types that it registered (RFC 7591 section 2), and the user can choose
            // `sign-in --device`.
            var extended = members
            extended["grant_types"] = [
                "authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code",
            ]
            request = try registrationRequest(extended, server, initialAccessToken)
            response = try await transport.send(request)
            // Glewlwyd supports the grant but rejects its name in a registration.
            if Self.hasInvalidMetadata(response) {
                request = try registrationRequest(members, server, initialAccessToken)
                response = try await transport.send(request)
            }
        } else {
            request = try registrationRequest(members, server, initialAccessToken)
            response = try await transport.send(request)
        }
        let registration: ClientRegistration
        do throws(OAuth2Error) {
            registration = try ClientRegistration.read(response, allowsLoopbackHTTP: true)
        } catch {
            var rejection = rejection(error, response.status, hadToken: initialAccessToken != nil)
            if [200, 201].contains(response.status),
                let id = (try? JSONValue(parsing: response.body))?.object?.text("client_id")
            {
                rejection.message = "cannot use the registered client"
                rejection.hint = "the provider has the client \(id) now; delete it there"
            }
            throw rejection
        }
        // Send the registration access token only to the server that issued it.
        let issuers = [request.url.origin, URL(string: issuer)?.origin]
        let access = registration.access.flatMap { issuers.contains($0.url.origin) ? $0 : nil }
        let client = RegisteredClient(issuer: issuer, clientID: registration.clientID, access: access)
        do {
            let saved = savedScope(registration, requested: scope)
            return Made(
                client: client,
                keys: try keys(
                    registration, scope: saved, method: members["token_endpoint_auth_method"]?.string),
                notes: notes(registration, requested: scope, saved: saved, canDelete: access != nil))
        } catch {
            guard await !undo(client), var error = error as? CommandError else { throw error }
            error.hint = error.hint.map { "\($0); the provider keeps the client \(client.clientID), delete it there" }
            throw error
        }
    }

    private func registrationRequest(
        _ members: JSONObject, _ server: AuthorizationServer, _ initialAccessToken: Secret?
    ) throws -> HTTPRequest {
        do throws(OAuth2Error) {
            return try ClientRegistrationRequest(
                server: server, redirectURIs: [type.redirectURI], name: "lodge", metadata: members,
                initialAccessToken: initialAccessToken
            ).request
        } catch {
            throw CommandError(
                .settings, "cannot register the client", reason: "\(error)",
                hint: "register an application at the provider yourself and pass its identifier with --client-id")
        }
    }

    /// Returns whether the provider rejected the metadata, and therefore registered no client. See RFC 7591 section 3.2.2.
    private static func hasInvalidMetadata(_ response: HTTPResponse) -> Bool {
        response.status == 400
            && (try? JSONValue(parsing: response.body))?.object?.text("error") == "invalid_client_metadata"
    }

    /// Deletes the client and returns whether that succeeded.
    func undo(_ client: RegisteredClient) async -> Bool { (try? await delete(client)) ?? false }

    /// Deletes the client at the provider. Returns `false` if the provider does not support deletion.
    func delete(_ client: RegisteredClient) async throws -> Bool {
        guard let access = client.access else { return false }
        let response = try await transport.send(ClientManagementRequest.delete(access).request)
        if ClientManagementRequest.isAlreadyGone(response) { return true }
        do throws(OAuth2Error) {
            try ClientManagementRequest.readDeletion(response)
        } catch {
            throw CommandError(
                error.isTransient ? .unavailable : response.status == 403 ? .notPermitted : .failed,
                "the provider did not delete the client \(client.clientID)", reason: "\(error)",
                hint: "try again later, or remove only the type, with --local")
        }
        return true
    }

    private var transport: any HTTPTransport { dependencies.transport(type.caFile) }

    /// Returns the authentication method to register.
    ///
    /// A native application needs no secret, but a provider that does not list `none` can reject the token requests of
    /// a public client. Without a list, the provider supports HTTP Basic (RFC 8414 section 2).
    ///
    /// A secret in the body is preferred to HTTP Basic: many servers do not decode the secret in the header as RFC 6749
    /// section 2.3.1 requires, and LemonLDAP::NG does not accept `/` in base64.
    private func authenticationMethod(at server: AuthorizationServer) -> String {
        let methods = server.tokenEndpointAuthenticationMethods ?? ["client_secret_basic"]
        return ["none", "client_secret_post", "client_secret_basic"].first { methods.contains($0) } ?? "none"
    }

    /// Returns the keys of the registration. The response takes precedence over the request (RFC 7591 section 3.2.1).
    private func keys(
        _ registration: ClientRegistration, scope: Scope, method requestedMethod: String?
    ) throws -> JSONObject {
        var keys: JSONObject = ["clientId": .string(registration.clientID)]
        var method =
            registration.authenticationMethod
            ?? (registration.clientSecret == nil
                ? "none" : requestedMethod == "client_secret_post" ? "client_secret_post" : "client_secret_basic")
        // For a public client without a secret, Glewlwyd still returns the requested method.
        if registration.clientSecret == nil, method.hasPrefix("client_secret_") { method = "none" }
        guard AccountType.AuthenticationMethod(rawValue: method) != nil,
            method == "none" || registration.clientSecret != nil
        else {
            throw CommandError(
                .failed, "cannot use the registered client",
                reason: "the provider requires the authentication method \(method)"
                    + (registration.clientSecret == nil ? " but issued no secret" : ""),
                hint: "request another method: --register-with '{\"token_endpoint_auth_method\": \"none\"}'")
        }
        if method != "none", let secret = registration.clientSecret {
            keys.append("clientSecret", .string(secret.value))
        }
        keys.append("clientAuthentication", .string(method))
        if scope != type.scope { keys.append("scopes", .array(scope.tokens.map(JSONValue.string))) }
        return keys
    }

    /// Returns the scope for the settings.
    ///
    /// Requesting a scope that the client does not have can fail with invalid_scope.
    private func savedScope(_ registration: ClientRegistration, requested: Scope) -> Scope {
        let scope = Scope(requested.tokens.filter { registeredScope(registration)?.contains($0) ?? true })
        return scope.isEmpty ? type.scope : scope
    }

    /// Returns the scope of the client, or `nil` if the response has no scope or an empty one.
    private func registeredScope(_ registration: ClientRegistration) -> Scope? {
        let scope = Scope(parsing: registration.metadata["scope"]?.string ?? "")
        return scope.isEmpty ? nil : scope
    }

    private func notes(
        _ registration: ClientRegistration, requested: Scope, saved: Scope, canDelete: Bool
    ) -> [String] {
        var notes: [String] = []
        if let url = registration.managementURL, !canDelete {
            notes.append(
                "The registration is at another server, \(url.addressWithoutQuery). lodge does not send its token there and cannot "
                    + "delete the client.")
        }
        if let uris = registration.redirectURIs, !uris.contains(type.redirectURI.text) {
            notes.append(
                "The provider registered other redirect URIs: \(uris.joined(separator: ", ")). "
                    + "Sign-in requires one of them in the settings.")
        }
        let omitted = type.scope.tokens.filter { !saved.contains($0) }
        let unsupported = omitted.filter { !requested.contains($0) }
        if !unsupported.isEmpty {
            notes.append(
                "The provider does not list the scopes \(unsupported.joined(separator: ", ")): lodge omits them.")
        }
        let missing = omitted.filter { requested.contains($0) }
        if !missing.isEmpty {
            notes.append(
                "The provider did not register the scopes \(missing.joined(separator: ", ")): lodge omits them.")
        }
        if registration.clientSecret != nil, let expiry = registration.clientSecretExpiresAt, expiry > 0 {
            let date = Date(timeIntervalSince1970: min(expiry, 253_402_300_799))
            notes.append("The client secret expires at \(date.rfc3339); then add the type again.")
        }
        return notes
    }

    private func rejection(_ error: OAuth2Error, _ status: Int, hadToken: Bool) -> CommandError {
        var result = CommandError(
            error.isTransient ? .unavailable : .failed, "the provider did not register the client", reason: "\(error)",
            hint: "register an application at the provider yourself and pass its identifier with --client-id")
        if case .provider(let providerError) = error {
            result.code = providerError.code.rawValue
            result.reason = providerError.explanation ?? result.reason
            // RFC 7591 section 3.2.2
            switch providerError.code.rawValue {
            case "invalid_redirect_uri": result.hint = "use another one with --redirect-uri"
            case "invalid_client_metadata": result.hint = "add or change members with --register-with"
            case "invalid_software_statement", "unapproved_software_statement":
                result.hint = "add the required software statement with --register-with"
            default: break
            }
        }
        if status == 401 || status == 403 {
            result.status = .notPermitted
            result.hint =
                hadToken
                ? "ask the provider for another initial access token"
                : "ask the provider for an initial access token and pass its file with --registration-token-file"
        }
        return result
    }
}
