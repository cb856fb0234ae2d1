import LodgePlatform
import HTTPExchange
import JOSE
import LoopbackHTTP
import StrictJSON

// Discovery, keys, user info, revocation and sign-out.
extension ProviderState {
    /// Returns the metadata. See RFC 8414 section 2 and OpenID Connect Discovery section 3.
    ///
    /// A tenant's metadata has the members of Microsoft Entra's.
    func metadata() -> JSONObject {
        func list(_ values: [String]) -> JSONValue { .array(values.map { .string($0) }) }
        func url(_ endpoint: String) -> JSONValue { .string(authority.url(of: endpoint)) }
        let secrets = ["client_secret_basic", "client_secret_post", "private_key_jwt"]
        let algorithms = list(JWSAlgorithm.asymmetric.map(\.rawValue).sorted())
        var metadata: JSONObject = [
            "issuer": .string(authority.metadataIssuer), "authorization_endpoint": url("/authorize"),
            "token_endpoint": url("/token"), "userinfo_endpoint": url("/userinfo"), "jwks_uri": url("/jwks"),
            "end_session_endpoint": url("/logout"), "device_authorization_endpoint": url("/device_authorization"),
            "response_types_supported": list(["code"]),
            "response_modes_supported": list(ResponseMode.allCases.map(\.rawValue)),
            "grant_types_supported": list(Self.grantTypes),
            "code_challenge_methods_supported": list(["S256"]),
            "token_endpoint_auth_methods_supported": list(["none"] + secrets),
            "token_endpoint_auth_signing_alg_values_supported": algorithms,
            "scopes_supported": list(Scopes.identity + Scopes.directory + configuration.additionalScopes),
            "subject_types_supported": list(["public"]), "id_token_signing_alg_values_supported": list(["RS256"]),
            "prompt_values_supported": list(["none", "login", "consent", "select_account"]),
            "claims_supported": list([
                "iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "at_hash", "name", "given_name",
                "family_name", "preferred_username", "locale", "email", "email_verified", "oid",
            ]),
            "request_parameter_supported": false, "request_uri_parameter_supported": false,
            "claims_parameter_supported": false,
        ]
        if authority.policy != nil { metadata["device_authorization_endpoint"] = nil }
        guard authority.tenant == nil else { return metadata }
        metadata.append("revocation_endpoint", url("/revoke"))
        metadata.append("revocation_endpoint_auth_methods_supported", list(["none"] + secrets))
        metadata.append("revocation_endpoint_auth_signing_alg_values_supported", algorithms)
        metadata.append("introspection_endpoint", url("/introspect"))
        metadata.append("introspection_endpoint_auth_methods_supported", list(["none"] + secrets))
        metadata.append("introspection_endpoint_auth_signing_alg_values_supported", algorithms)
        metadata.append("registration_endpoint", url("/register"))
        metadata.append("pushed_authorization_request_endpoint", url("/par"))
        metadata.append("authorization_response_iss_parameter_supported", true)
        return metadata
    }

    func jwks() async -> LoopbackResponse {
        do {
            var key = try await signingKey()
            // Microsoft Entra adds the issuer of each key.
            if authority.tenant != nil { key.issuer = issuer }
            return .json(JWKSet([key]).json)
        } catch {
            return failure(.server)
        }
    }

    // MARK: User info

    /// Responds with user info. See OpenID Connect Core section 5.3.
    func userInfo(_ request: LoopbackRequest) -> LoopbackResponse {
        func challenge(_ status: Int, _ parameters: String) -> LoopbackResponse {
            var response = LoopbackResponse.text(status, "A bearer token with the scope openid is expected.\n")
            response.fields["WWW-Authenticate"] = "Bearer realm=\"local provider\"" + parameters
            return response
        }
        do throws(TokenRejection) {
            let authorization = try authorization(request.fields)
            guard authorization.scopes.contains("openid"), let index = authorization.user else {
                return challenge(403, ", error=\"insufficient_scope\", scope=\"openid\"")
            }
            return .json(
                ["sub": .string(contents[index].id)] + userClaims(contents[index], authorization.scopes))
        } catch {
            return error == .missing
                ? challenge(401, "")
                : challenge(401, ", error=\"invalid_token\", error_description=\"The token is unknown or has expired\"")
        }
    }

    // MARK: Introspection, revocation and sign-out

    /// Returns the state of a token. A public client can introspect only its own tokens. See RFC 7662.
    func introspect(_ request: LoopbackRequest) -> LoopbackResponse {
        do throws(OAuthFailure) {
            let form = try form(request)
            let client = try client(form, request.fields)
            guard let token = form["token"] else { throw .invalidRequest("token is missing.") }
            let (authorization, expiration) = state.withLock { state -> (Authorization?, Int?) in
                if let access = state.grants.accessTokens[token] {
                    return (access.expiresAt > now ? access.authorization : nil, access.expiresAt)
                }
                let grant = state.grants.refreshTokens[token].flatMap { state.grants.grants[$0] }
                return (grant?.refreshToken == token ? grant?.authorization : nil, nil)
            }
            guard let authorization, client.isConfidential || authorization.clientID == client.id else {
                return .json(["active": false])
            }
            var object: JSONObject = [
                "active": true, "scope": .string(authorization.scopes.joined(separator: " ")),
                "client_id": .string(authorization.clientID), "iss": .string(issuer),
            ]
            if let expiration {
                object.append("token_type", "Bearer")
                object.append("exp", .integer(expiration))
            }
            if let user = authorization.user.map({ contents[$0] }) {
                object.append("sub", .string(user.id))
                object.append("username", .string(user.userPrincipalName))
            } else {
                object.append("sub", .string(authorization.clientID))
            }
            return .json(object)
        } catch {
            return failure(error)
        }
    }

    /// Revokes a token. The response to an unknown token is 200. See RFC 7009.
    func revoke(_ request: LoopbackRequest) -> LoopbackResponse {
        do throws(OAuthFailure) {
            let form = try form(request)
            let client = try client(form, request.fields)
            guard let token = form["token"] else { throw .invalidRequest("token is missing.") }
            state.withLock { state in
                if let access = state.grants.accessTokens[token], access.authorization.clientID == client.id {
                    state.grants.accessTokens[token] = nil
                } else if let grant = state.grants.refreshTokens[token],
                    state.grants.grants[grant]?.authorization.clientID == client.id
                {
                    state.grants.end(grant)
                }
            }
            return LoopbackResponse(status: 200)
        } catch {
            return failure(error)
        }
    }

    /// Redirects to the application. The browser has no session to end. See OpenID Connect RP-Initiated Logout.
    func logout(_ parameters: FormFields?) async -> LoopbackResponse {
        guard let parameters, !parameters.hasDuplicates else { return errorPage("The request is malformed.") }
        var clientID = parameters["client_id"]
        if let hint = parameters["id_token_hint"] {
            guard let audience = await audience(of: hint) else {
                return errorPage("id_token_hint is not a token of this provider.")
            }
            guard clientID == nil || clientID == audience else {
                return errorPage("client_id is not the client of id_token_hint.")
            }
            clientID = audience
        }
        guard let uri = parameters["post_logout_redirect_uri"] else {
            return messagePage("Signed out", "You can close this page.")
        }
        guard let client = client(id: clientID), client.accepts(redirectURI: uri) else {
            return errorPage("post_logout_redirect_uri is not registered for the application.")
        }
        var location = uri
        if let state = parameters["state"] {
            location += (uri.contains("?") ? "&" : "?") + "state=\(FormEncoding.encode(state))"
        }
        return LoopbackResponse(status: 303, fields: ["Location": location])
    }

    /// Returns the client of an ID token of this provider, which may have expired.
    private func audience(of token: String) async -> String? {
        guard let key = try? await signingKey(), let jwt = try? JWT(parsing: token),
            let verified = try? jwt.verified(with: JWKSet([key]), algorithms: [.rs256]),
            (try? verified.claims.issuer) == issuer
        else { return nil }
        return (try? verified.claims.audience)?.first
    }
}
