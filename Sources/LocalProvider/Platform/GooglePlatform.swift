import HTTPExchange
import JOSE
import LodgePlatform
import LoopbackHTTP
import StrictJSON

/// The services of Google that issue tokens to applications: the metadata service, the token endpoint, the exchange of tokens
/// and the impersonation of service accounts.
extension ProviderState {
    static let impersonationPath = "/v1/projects/-/serviceAccounts/"
    /// The audience of every assertion, for every address of the token endpoint.
    private static let assertionAudience = "https://oauth2.googleapis.com/token"
    private static let assertionGrant = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    private static let exchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange"
    private static let accessTokenType = "urn:ietf:params:oauth:token-type:access_token"
    private static let federationScopes = [
        "https://www.googleapis.com/auth/iam", "https://www.googleapis.com/auth/cloud-platform",
    ]
    private static let lifetime = 3599

    /// Returns the response to a request with an error that is injected for services of a platform.
    private func platformResponse(
        _ note: inout RequestNote, _ respond: () async -> LoopbackResponse
    ) async -> LoopbackResponse {
        guard let entry = state.withLock({ $0.injectedErrors.take("metadata-") }) else { return await respond() }
        note.injectedError = entry.name
        if let response = entry.gatewayResponse { return response }
        let statuses: [InjectedErrors.Name: Int] = [
            .metadata400: 400, .metadata404: 404, .metadata410: 410, .metadata429: 429, .metadata500: 500,
        ]
        if let status = statuses[entry.name] {
            var response = LoopbackResponse.text(status, "This is an injected error.\n")
            if status == 429 { response.fields["Retry-After"] = entry.retryAfter(now: now) }
            return response
        }
        switch entry.name {
        case .metadataHTML: return .html("<html><body>Sign in to the network</body></html>\n", status: 200)
        case .metadataRedirect:
            var response = LoopbackResponse(status: 302)
            response.fields["Location"] = "\(origin)/"
            return response
        case .metadataOtherIdentity:
            // A service of another platform at the same address.
            var response = await respond()
            response.fields["Metadata-Flavor"] = nil
            return response
        default: return await respond()
        }
    }

    private static func token(_ token: String?, _ additional: JSONObject = [:]) -> LoopbackResponse {
        guard let token else { return .text(500, "No randomness\n") }
        return .json(
            ["access_token": .string(token), "expires_in": .integer(lifetime), "token_type": "Bearer"] + additional)
    }

    private static func failure(_ code: String, _ text: String, status: Int = 400) -> LoopbackResponse {
        .json(["error": .string(code), "error_description": .string(text)], status: status)
    }

    /// Returns the error of an API of Google.
    private static func apiError(_ status: Int, _ word: String, _ text: String) -> LoopbackResponse {
        .json(
            ["error": ["code": .integer(status), "message": .string(text), "status": .string(word)]], status: status)
    }

    // MARK: The metadata service

    /// Returns the response to a client that looks for Google's metadata service, or `nil` for other clients.
    func googleRoot(_ request: LoopbackRequest) -> LoopbackResponse? {
        guard request.fields.values(for: "Metadata-Flavor") == ["Google"] else { return nil }
        var response = LoopbackResponse.text(200, "computeMetadata/\n")
        response.fields["Metadata-Flavor"] = "Google"
        return response
    }

    func googleMetadata(_ request: LoopbackRequest, _ note: inout RequestNote) async -> LoopbackResponse {
        await platformResponse(&note) {
            var response = googleMetadata(request)
            response.fields["Metadata-Flavor"] = "Google"
            return response
        }
    }

    private func googleMetadata(_ request: LoopbackRequest) -> LoopbackResponse {
        guard request.fields.values(for: "Metadata-Flavor") == ["Google"], request.fields["X-Forwarded-For"] == nil
        else {
            return .text(403, "Missing Metadata-Flavor:Google header.\n")
        }
        guard let parameters = request.options, parameters.fields.allSatisfy({ $0.name == "scopes" }),
            parameters.fields.count <= 1
        else { return .text(400, "Only the parameter scopes is known.\n") }
        let scopes = parameters["scopes"]?.split(separator: ",").map(String.init) ?? Self.federationScopes
        guard scopes.allSatisfy({ $0.hasPrefix("https://") && !$0.contains(" ") }) else {
            return .text(400, "A scope is malformed.\n")
        }
        return Self.token(
            platformToken(
                client: PlatformConfiguration.serviceAccount, scopes: withoutDelegation(scopes),
                lifetime: Self.lifetime))
    }

    /// Returns the scopes without the scopes of the directory, where only a user can be an administrator.
    private func withoutDelegation(_ scopes: [String]) -> [String] {
        scopes.filter { !PlatformConfiguration.delegatedScopes.contains($0) }
    }

    // MARK: The token endpoint

    func googleToken(_ request: LoopbackRequest, _ note: inout RequestNote) async -> LoopbackResponse {
        note.grantType = Self.assertionGrant
        return await platformResponse(&note) { await googleToken(request) }
    }

    private func googleToken(_ request: LoopbackRequest) async -> LoopbackResponse {
        guard let form = try? form(request), form["grant_type"] == Self.assertionGrant,
            form.fields.count == 2, let text = form["assertion"], let token = try? JWT(parsing: text)
        else { return Self.failure("invalid_request", "The form needs grant_type and assertion, and nothing else.") }
        guard let mail = (try? token.unverifiedClaims.issuer) ?? nil, let key = await assertionKey(mail, token) else {
            return Self.failure("invalid_grant", "Invalid grant: account not found")
        }
        guard token.header["alg"]?.string == "RS256", token.header["typ"]?.string == "JWT",
            let claims = try? token.verified(with: key, algorithms: [.rs256]).claims.members
        else { return Self.failure("invalid_grant", "Invalid JWT Signature.") }
        guard claims["aud"]?.string == Self.assertionAudience else {
            return Self.failure("invalid_grant", "Invalid JWT: Failed audience check.")
        }
        let now = Int64(now)
        guard let issued = claims["iat"]?.number?.int64, let end = claims["exp"]?.number?.int64,
            abs(issued - now) <= 300, end > now, end - issued <= 3600
        else {
            return Self.failure(
                "invalid_grant",
                "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your iat "
                    + "and exp values in the JWT claim.")
        }
        let scopes = claims["scope"]?.string?.split(separator: " ").map(String.init) ?? []
        guard !scopes.isEmpty else { return Self.failure("invalid_scope", "Empty or missing scope not allowed.") }
        var user: Int?
        if let subject = claims["sub"]?.string {
            user = contents.index(of: subject)
            guard user != nil else { return Self.failure("invalid_grant", "Invalid email or User ID") }
            guard PlatformConfiguration.delegatedScopes.isSuperset(of: scopes) else {
                return Self.failure(
                    "unauthorized_client",
                    "Client is unauthorized to retrieve access tokens using this method, or client not authorized for any "
                        + "of the scopes requested.", status: 401)
            }
        }
        let granted = user == nil ? withoutDelegation(scopes) : scopes
        return Self.token(platformToken(client: mail, user: user, scopes: granted, lifetime: Self.lifetime))
    }

    /// Returns the key of an account with the identifier in the header: of its file, or of the platform.
    private func assertionKey(_ mail: String, _ token: JWT) async -> JWK? {
        let keyID = token.header["kid"]?.string
        if let key = configuration.platform.serviceAccountKeys[mail], key.keyID == keyID { return key.publicKey }
        guard mail == PlatformConfiguration.serviceAccount, let key = try? await signingKey(), key.keyID == keyID else {
            return nil
        }
        return key.publicKey
    }

    // MARK: The exchange

    func googleExchange(_ request: LoopbackRequest, _ note: inout RequestNote) async -> LoopbackResponse {
        note.grantType = Self.exchangeGrant
        return await platformResponse(&note) { googleExchange(request) }
    }

    private func googleExchange(_ request: LoopbackRequest) -> LoopbackResponse {
        let known = [
            "grant_type", "audience", "scope", "requested_token_type", "subject_token", "subject_token_type", "options",
        ]
        guard let form = try? form(request), form.fields.allSatisfy({ known.contains($0.name) }),
            request.fields["Authorization"] == nil, form["grant_type"] == Self.exchangeGrant,
            form["requested_token_type"] == Self.accessTokenType
        else { return Self.failure("invalid_request", "A parameter is missing, unknown or wrong.") }
        guard form["audience"] == PlatformConfiguration.audience else {
            return Self.failure("invalid_target", "The audience is not a known identity provider.")
        }
        guard form["subject_token_type"] == "urn:ietf:params:oauth:token-type:jwt",
            form["subject_token"] == PlatformConfiguration.subjectToken
        else { return Self.failure("invalid_grant", "The subject token is not valid.") }
        guard let scope = form["scope"] else { return Self.failure("invalid_scope", "The scope is missing.") }
        let token = platformToken(
            client: PlatformConfiguration.audience, scopes: scope.split(separator: " ").map(String.init),
            lifetime: Self.lifetime)
        return Self.token(token, ["issued_token_type": .string(Self.accessTokenType)])
    }

    // MARK: The impersonation

    func googleImpersonation(_ request: LoopbackRequest, _ note: inout RequestNote) async -> LoopbackResponse {
        await platformResponse(&note) { await googleImpersonation(request) }
    }

    private func googleImpersonation(_ request: LoopbackRequest) async -> LoopbackResponse {
        let name = PercentEncoding.decode(request.path.dropFirst(Self.impersonationPath.count).utf8) ?? ""
        let parts = name.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0] == PlatformConfiguration.serviceAccount else {
            return Self.apiError(404, "NOT_FOUND", "The service account does not exist.")
        }
        guard let authorization = try? authorization(request.fields),
            !Set(authorization.scopes).isDisjoint(with: Self.federationScopes)
        else { return Self.apiError(401, "UNAUTHENTICATED", "The token is missing, not valid or lacks the scope iam.") }
        guard request.fields["Content-Type"]?.hasPrefix("application/json") == true,
            let object = (try? JSONValue(parsing: request.body))?.object
        else { return Self.apiError(400, "INVALID_ARGUMENT", "The content is not a JSON object.") }
        switch parts[1] {
        case "generateAccessToken": return generatedToken(object)
        case "signJwt": return await signedAssertion(object)
        default: return Self.apiError(404, "NOT_FOUND", "There is no such method.")
        }
    }

    private func generatedToken(_ object: JSONObject) -> LoopbackResponse {
        let scopes = object["scope"]?.array?.compactMap(\.string) ?? []
        guard !scopes.isEmpty, object["delegates"]?.array?.isEmpty ?? true,
            object["lifetime"] == nil || object["lifetime"]?.string == "3600s",
            object.members.allSatisfy({ ["scope", "delegates", "lifetime"].contains($0.name) })
        else { return Self.apiError(400, "INVALID_ARGUMENT", "scope is missing, or a member is unknown or wrong.") }
        let token = platformToken(
            client: PlatformConfiguration.serviceAccount, scopes: withoutDelegation(scopes), lifetime: 3600)
        guard let token else { return Self.apiError(500, "INTERNAL", "No randomness") }
        let end = Date(timeIntervalSince1970: Double(now + 3600)).rfc3339
        return .json(["accessToken": .string(token), "expireTime": .string(end)])
    }

    private func signedAssertion(_ object: JSONObject) async -> LoopbackResponse {
        guard object.members.allSatisfy({ ["payload", "delegates"].contains($0.name) }),
            let payload = object["payload"]?.string, let claims = (try? JSONValue(parsing: payload))?.object,
            claims["iss"]?.string == PlatformConfiguration.serviceAccount
        else { return Self.apiError(400, "INVALID_ARGUMENT", "payload is not the claims of the service account.") }
        guard let key = try? await signingKey(), let keyID = key.keyID,
            let text = try? JWT.sign(
                claims, with: key, algorithm: .rs256, header: ["typ": "JWT", "kid": .string(keyID)])
        else { return Self.apiError(500, "INTERNAL", "No key") }
        return .json(["keyId": .string(keyID), "signedJwt": .string(text)])
    }
}
