import LodgePlatform
import HTTPExchange
import JOSE
import LoopbackHTTP
import StrictJSON

// The token endpoint. See RFC 6749 sections 3.2, 5 and 6, and RFC 7636.
extension ProviderState {
    static let deviceGrantType = "urn:ietf:params:oauth:grant-type:device_code"
    static let grantTypes = ["authorization_code", "refresh_token", "client_credentials", deviceGrantType]

    func token(_ request: LoopbackRequest, _ note: inout RequestNote) async -> LoopbackResponse {
        note.grantType = request.form?["grant_type"].flatMap { Self.grantTypes.contains($0) ? $0 : nil }
        guard let entry = state.withLock({ $0.injectedErrors.take("token-") }) else { return await exchange(request) }
        note.injectedError = entry.name
        guard entry.name == .tokenSlow else { return Self.response(to: entry, now: now) }
        var response = await exchange(request)
        entry.change(&response)
        return response
    }

    private func exchange(_ request: LoopbackRequest) async -> LoopbackResponse {
        do throws(OAuthFailure) {
            let form = try form(request)
            let client = try client(form, request.fields)
            guard let type = form["grant_type"] else { throw .invalidRequest("grant_type is missing.") }
            if Self.grantTypes.contains(type) { try client.requireGrantType(type) }
            let grant: String
            switch type {
            case "authorization_code": grant = try redeemCode(form, client)
            case Self.deviceGrantType: grant = try redeemDeviceCode(form, client)
            case "refresh_token": return try await refresh(form, client)
            case "client_credentials": return try clientCredentials(form, client)
            default:
                throw OAuthFailure(code: "unsupported_grant_type", description: "This grant type is not offered.")
            }
            return try await issue(
                grant, scopes: nil, presented: nil, canRefresh: client.mayUse("refresh_token"), form)
        } catch {
            return failure(error)
        }
    }

    /// Returns the form of a POST request without duplicate parameters.
    func form(_ request: LoopbackRequest) throws(OAuthFailure) -> FormFields {
        let type = request.fields["Content-Type"]?.lowercased().prefix { $0 != ";" && $0 != " " }
        guard type == "application/x-www-form-urlencoded" else {
            throw .invalidRequest("Content-Type application/x-www-form-urlencoded is expected.")
        }
        guard let form = request.form else { throw .invalidRequest("The content is not form-encoded UTF-8.") }
        guard !form.hasDuplicates else { throw .invalidRequest("A parameter appears twice.") }
        return form
    }

    func failure(_ error: OAuthFailure) -> LoopbackResponse {
        var response = LoopbackResponse.json(
            ["error": .string(error.code), "error_description": .string(error.description)], status: error.status)
        response.fields["Pragma"] = "no-cache"
        if error.challengesBasic { response.fields["WWW-Authenticate"] = "Basic realm=\"local provider\"" }
        return response
    }

    // MARK: Grants

    /// Exchanges a code for a grant.
    private func redeemCode(_ form: FormFields, _ client: LocalClient) throws(OAuthFailure) -> String {
        guard let text = form["code"] else { throw .invalidRequest("code is missing.") }
        guard let redirectURI = form["redirect_uri"] else { throw .invalidRequest("redirect_uri is missing.") }
        guard let verifier = form["code_verifier"] else { throw .invalidGrant("code_verifier is missing.") }
        let now = now
        let identifier = try newToken()
        return try state.withLock { state throws(OAuthFailure) in
            guard var code = state.grants.codes[text], code.authorization.clientID == client.id else {
                throw OAuthFailure.invalidGrant("The code is unknown.")
            }
            if code.isUsed {
                // RFC 6749 section 4.1.2: revoke the grant of a replayed code.
                if let grant = code.grant { state.grants.end(grant) }
                throw OAuthFailure.invalidGrant("The code was used before.")
            }
            // A failed attempt also invalidates the code.
            code.isUsed = true
            state.grants.codes[text] = code
            try requirePolicy(of: code.authorization)
            guard code.expiresAt > now else { throw OAuthFailure.invalidGrant("The code has expired.") }
            guard code.redirectURI == redirectURI else {
                throw OAuthFailure.invalidGrant("redirect_uri is not the redirect_uri of the authorization request.")
            }
            guard Self.isVerifier(verifier),
                equalInConstantTime(Array(Self.challenge(of: verifier).utf8), Array(code.challenge.utf8))
            else { throw OAuthFailure.invalidGrant("code_verifier does not match code_challenge.") }
            code.grant = identifier
            state.grants.codes[text] = code
            state.grants.grants[identifier] = Grants.Grant(authorization: code.authorization)
            return identifier
        }
    }

    /// Throws if another policy issued the code or the refresh token, as Azure AD B2C does.
    private func requirePolicy(of authorization: Authorization) throws(OAuthFailure) {
        guard authorization.policy?.lowercased() == authority.policy?.lowercased() else {
            throw .invalidGrant("AADB2C90088: The provided grant has not been issued for this endpoint.")
        }
    }

    /// Returns whether the string is a code verifier. See RFC 7636 section 4.1.
    private static func isVerifier(_ text: String) -> Bool {
        (43...128).contains(text.utf8.count) && text.utf8.allSatisfy(PercentEncoding.isUnreserved)
    }

    static func challenge(of verifier: String) -> String {
        Base64URL.encode(SHA2.sha256.digest(Array(verifier.utf8)))
    }

    private func refresh(_ form: FormFields, _ client: LocalClient) async throws(OAuthFailure) -> LoopbackResponse {
        guard let token = form["refresh_token"] else { throw .invalidRequest("refresh_token is missing.") }
        let (identifier, granted) = try state.withLock { state throws(OAuthFailure) in
            guard let identifier = state.grants.refreshTokens[token], let grant = state.grants.grants[identifier],
                grant.authorization.clientID == client.id
            else { throw OAuthFailure.invalidGrant("The refresh token is unknown, expired or revoked.") }
            try requirePolicy(of: grant.authorization)
            return (identifier, grant.authorization.scopes)
        }
        var scopes = granted
        if let text = form["scope"] {
            // A scope is equal with and without its resource.
            let permissions = Set(granted.map(Scopes.permission))
            scopes = text.split(separator: " ").flatMap { scope in
                Scopes.permission(String(scope)) == ".default"
                    ? granted.filter { !Scopes.identity.contains($0) } + [String(scope)] : [String(scope)]
            }
            var known: Set<String> = []
            scopes = scopes.filter { known.insert($0).inserted }
            guard Set(scopes.map(Scopes.permission)).isSubset(of: permissions.union([".default"])) else {
                throw OAuthFailure(code: "invalid_scope", description: "The scope exceeds the granted scope.")
            }
        }
        return try await issue(identifier, scopes: scopes, presented: token, canRefresh: true, form)
    }

    /// The error after reuse, which indicates a stolen token, so that the grant ends for both users of it (RFC 9700
    /// section 4.14.2).
    private static let reused = OAuthFailure.invalidGrant("The refresh token was used before; the grant is revoked.")

    /// Returns a token for the client itself. See RFC 6749 section 4.4.
    private func clientCredentials(_ form: FormFields, _ client: LocalClient) throws(OAuthFailure)
        -> LoopbackResponse
    {
        guard client.isConfidential else {
            throw OAuthFailure(
                code: "unauthorized_client", description: "Only confidential clients act for themselves.")
        }
        var scopes = try readScopes(form["scope"] ?? "User.Read.All", default: ["User.Read.All"])
        scopes.removeAll { Scopes.identity.contains($0) }
        guard !scopes.isEmpty else {
            throw OAuthFailure(code: "invalid_scope", description: "The scope contains no permission of the directory.")
        }
        let (token, lifetime, claims) = (try newToken(), lifetime, try claims(form))
        let authorization = Authorization(
            clientID: client.id, user: nil, scopes: scopes, nonce: nil, authenticatedAt: now)
        let access = Grants.AccessToken(grant: token, authorization: authorization, expiresAt: now + lifetime)
        state.withLock { $0.grants.add(access, token, for: claims) }
        var response: JSONObject = [
            "access_token": .string(token), "token_type": "Bearer", "expires_in": .integer(lifetime),
            "scope": .string(scopes.joined(separator: " ")),
        ]
        addRefreshTime(to: &response)
        return Self.tokens(response)
    }

    // MARK: Responses

    private var lifetime: Int { Int(clamping: max(1, configuration.accessTokenLifetime.components.seconds)) }

    /// Adds the time of an early refresh to long-lived tokens, as Microsoft Entra does.
    private func addRefreshTime(to response: inout JSONObject) {
        guard authority.tenant != nil, let lifetime = response["expires_in"]?.number?.int64, lifetime >= 7200 else {
            return
        }
        response.append("refresh_in", .integer(Int(lifetime / 2)))
    }

    private static func tokens(_ object: JSONObject) -> LoopbackResponse {
        var response = LoopbackResponse.json(object)
        response.fields["Pragma"] = "no-cache"
        return response
    }

    /// Responds with tokens for a grant: initial tokens, or new ones for the presented refresh token.
    private func issue(
        _ identifier: String, scopes narrowed: [String]?, presented: String?, canRefresh: Bool, _ form: FormFields
    ) async throws(OAuthFailure) -> LoopbackResponse {
        let (accessToken, newRefreshToken, claims) = (try newToken(), try newToken(), try claims(form))
        let lifetime = presented == nil ? lifetime : configuration.refreshedLifetime ?? lifetime
        let (now, rotates) = (now, configuration.rotatesRefreshTokens)
        let (authorization, refreshToken) = try state.withLock { state throws(OAuthFailure) in
            guard var grant = state.grants.grants[identifier] else {
                throw OAuthFailure.invalidGrant("The grant is revoked.")
            }
            // Check and replace the token under one lock: the second of two concurrent refreshes presents an old token.
            guard presented == nil || grant.refreshToken == presented else {
                state.grants.end(identifier)
                throw Self.reused
            }
            var authorization = grant.authorization
            if let narrowed { authorization.scopes = narrowed }
            var refreshToken: String?
            if canRefresh, grant.authorization.scopes.contains("offline_access"), presented == nil || rotates {
                refreshToken = newRefreshToken
                grant.refreshToken = newRefreshToken
                state.grants.grants[identifier] = grant
                state.grants.refreshTokens[newRefreshToken] = identifier
            }
            let access = Grants.AccessToken(
                grant: identifier, authorization: authorization, expiresAt: now + lifetime)
            state.grants.add(access, accessToken, for: claims)
            return (authorization, refreshToken)
        }
        var response: JSONObject = [
            "token_type": "Bearer", "scope": .string(authorization.scopes.joined(separator: " ")),
            "expires_in": .integer(lifetime), "access_token": .string(accessToken),
        ]
        addRefreshTime(to: &response)
        response.append("refresh_token", text: refreshToken)
        if form["client_info"] == "1", let user = authorization.user {
            // Microsoft Entra's identifier of the account, which MSAL requests.
            // Azure AD B2C appends the policy.
            let identifier = contents[user].id + (authority.policy.map { "-" + $0.lowercased() } ?? "")
            let info: JSONObject = ["uid": .string(identifier), "utid": .string(ProviderConfiguration.tenantID)]
            response.append("client_info", .string(Base64URL.encode(JSONValue.object(info).serialized())))
        }
        if authorization.scopes.contains("openid"), let user = authorization.user {
            response.append(
                "id_token",
                .string(try await idToken(authorization, contents[user], accessToken, isRefresh: presented != nil)))
        }
        return Self.tokens(response)
    }

    /// Returns a signed ID token. See OpenID Connect Core sections 2, 3.1.3.6 and 12.2.
    private func idToken(
        _ authorization: Authorization, _ user: StoredUser, _ accessToken: String, isRefresh: Bool
    ) async throws(OAuthFailure) -> String {
        let now = now
        var claims: JSONObject = [
            "iss": .string(issuer), "sub": .string(user.id), "aud": .string(authorization.clientID),
            "exp": .integer(now + 3600), "iat": .integer(now),
            "auth_time": .integer(authorization.authenticatedAt),
            "at_hash": .string(Base64URL.encode(SHA2.sha256.digest(Array(accessToken.utf8)).prefix(16))),
        ]
        if !isRefresh { claims.append("nonce", text: authorization.nonce) }
        if authority.tenant != nil {
            claims.append("tid", .string(ProviderConfiguration.tenantID))
            claims.append("ver", authority.policy == nil ? "2.0" : "1.0")
            claims.append("tfp", text: authority.policy)
        }
        claims = claims + userClaims(user, authorization.scopes)
        do {
            return try JWT.sign(claims, with: try await signingKey(), algorithm: .rs256)
        } catch {
            throw .server
        }
    }

    /// Returns the claims for the scopes `profile` and `email`. See OpenID Connect Core section 5.4.
    func userClaims(_ user: StoredUser, _ scopes: [String]) -> JSONObject {
        var claims = JSONObject()
        if scopes.contains("profile") {
            claims.append("name", text: user.displayName)
            claims.append("given_name", text: user.givenName)
            claims.append("family_name", text: user.surname)
            claims.append("preferred_username", text: user.userPrincipalName)
            claims.append("locale", text: user.preferredLanguage)
            claims.append("oid", text: user.id)
        }
        if scopes.contains("email"), let mail = user.mail {
            claims.append("email", text: mail)
            claims.append("email_verified", true)
        }
        return claims
    }

    private static func response(to entry: InjectedErrors.Entry, now: Int) -> LoopbackResponse {
        func error(_ code: String, status: Int = 400) -> LoopbackResponse {
            .json(["error": .string(code), "error_description": "This is an injected error."], status: status)
        }
        if let response = entry.gatewayResponse { return response }
        switch entry.name {
        case .tokenHTML:
            return .html("<!DOCTYPE html><html><title>Welcome</title><p>Log in to use this network.</html>\n")
        case .tokenHalfJSON, .tokenHuge:
            var response = LoopbackResponse.json(["access_token": "eyJ", "token_type": "Bearer", "expires_in": 3600])
            entry.change(&response)
            return response
        case .token500: return error("server_error", status: 500)
        case .token503: return .html("<html><title>503 Service Unavailable</title></html>\n", status: 503)
        case .token429:
            var response = error("slow_down", status: 429)
            response.fields["Retry-After"] = entry.retryAfter(now: now)
            return response
        case .tokenInvalidGrant: return error("invalid_grant")
        case .tokenInvalidClient: return error("invalid_client", status: 401)
        case .tokenInteractionRequired: return error("interaction_required")
        default: return error("temporarily_unavailable")
        }
    }
}

enum Scopes {
    static let identity = ["openid", "profile", "email", "offline_access"]
    static let directory = [
        "User.Read", "User.ReadBasic.All", "User.Read.All", "User.ReadWrite.All", "Directory.Read.All",
        "Directory.ReadWrite.All", "GroupMember.Read.All", "Group.Read.All", "AuditLog.Read.All",
        "admin.directory.user.readonly",
    ]

    /// Returns the permission of a scope without its resource, as in Entra's `https://graph.microsoft.com/User.Read`.
    static func permission(_ scope: String) -> String {
        guard scope.hasPrefix("https://") || scope.hasPrefix("http://") else { return scope }
        return String(scope.split(separator: "/").last ?? "")
    }
}

extension ProviderState {
    /// Returns the scopes of a request in order, without duplicates.
    ///
    /// - Parameters:
    ///   - text: The scopes, separated by spaces.
    ///   - default: The permissions that Entra's `.default` represents. It remains in the list, because MSAL looks for
    ///     it in the response.
    ///   - client: The client. At a policy of Azure AD B2C, its identifier is the scope of the application itself.
    func readScopes(
        _ text: String, default: [String] = ["User.Read", "User.Read.All"], client: String? = nil
    ) throws(OAuthFailure) -> [String] {
        var offered = Scopes.identity + Scopes.directory + configuration.additionalScopes
        if authority.policy != nil, let client { offered.append(client) }
        var scopes: [String] = []
        for part in text.split(separator: " ") {
            let scope = String(part)
            if Scopes.permission(scope) == ".default" {
                for scope in `default` + [scope] where !scopes.contains(scope) { scopes.append(scope) }
                continue
            }
            guard offered.contains(scope) || Scopes.directory.contains(Scopes.permission(scope)) else {
                throw OAuthFailure(
                    code: "invalid_scope",
                    description: "A scope is not offered. Offered: " + offered.joined(separator: " "))
            }
            if !scopes.contains(scope) { scopes.append(scope) }
        }
        return scopes
    }
}
