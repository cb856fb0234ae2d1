import LodgePlatform
import HTTPExchange
import LoopbackHTTP

// The authorization endpoint. See RFC 6749 section 4.1, RFC 7636, RFC 9207 and OpenID Connect Core section 3.1.2.
extension ProviderState {
    /// Handles a posted authorization request, or the user's decision.
    func authorize(post request: LoopbackRequest) -> LoopbackResponse {
        page { () throws(OAuthFailure) in
            let form = try decision(request)
            return form["client_id"] == nil ? try decide(form) : authorize(form)
        }
    }

    /// Returns the form sent from a page of this provider.
    func decision(_ request: LoopbackRequest) throws(OAuthFailure) -> FormFields {
        // If the browser sends the origin of the request, only a page of this provider may decide.
        if let site = request.fields["Sec-Fetch-Site"], site != "same-origin", site != "none" {
            throw OAuthFailure(status: 403, code: "access_denied", description: "This request came from another site.")
        }
        return try form(request)
    }

    /// Handles an authorization request. `nil` means a malformed query.
    func authorize(_ parameters: FormFields?) -> LoopbackResponse {
        guard var parameters else { return errorPage("The request is not percent-encoded UTF-8.") }
        var pushedRequest: String?
        if let uri = parameters["request_uri"], uri.hasPrefix(Self.requestURIPrefix) {
            guard let (identifier, pushed) = self.pushedRequest(uri) else {
                return errorPage("The application pushed no such request, or it was used before or has expired.")
            }
            guard pushed.clientID == parameters["client_id"] else {
                return errorPage("client_id is not the client that pushed the request.")
            }
            parameters = pushed.parameters
            pushedRequest = identifier
        }
        // Without a valid client and redirect URI, do not redirect (RFC 6749 section 4.1.2.1).
        guard let client = client(id: parameters["client_id"]) else {
            return errorPage("The application is unknown: client_id is missing or wrong.")
        }
        guard let redirectURI = parameters["redirect_uri"], client.accepts(redirectURI: redirectURI) else {
            return errorPage("The application gave a redirect_uri that is not registered for it.")
        }
        guard !parameters.hasDuplicates else { return errorPage("The request contains a parameter twice.") }
        do throws(OAuthFailure) {
            var pending = try pending(parameters, client, redirectURI)
            pending.pushedRequest = pushedRequest
            if pending.scopes.contains("openid") { createKey() }
            if configuration.approvesRequests {
                let user = try approvingUser(hint: pending.loginHint)
                return respond(pending, [("code", try newCode(pending, user: user))])
            }
            let handle = try newToken()
            state.withLock { [pending] in $0.grants.pending[handle] = pending }
            return consentPage(pending, client, handle: handle)
        } catch {
            return respond(
                to: redirectURI, ResponseMode(rawValue: parameters["response_mode"] ?? "") ?? .query,
                state: parameters["state"], issuer: authority.tenant == nil ? issuer : nil,
                [("error", error.code), ("error_description", error.description)])
        }
    }

    /// Returns the position of the user that signs in without a page.
    func approvingUser(hint: String?) throws(OAuthFailure) -> Int {
        guard let user = hint.map({ contents.index(signingInAs: $0) }) ?? (contents.count > 0 ? 0 : nil) else {
            throw OAuthFailure(
                code: "access_denied",
                description: hint == nil ? "The directory has no users." : "No user has the name of login_hint.")
        }
        return user
    }

    func pending(
        _ parameters: FormFields, _ client: LocalClient, _ redirectURI: String
    ) throws(OAuthFailure) -> ConsentRequest {
        try client.requireGrantType("authorization_code")
        if parameters["request"] != nil {
            throw OAuthFailure(code: "request_not_supported", description: "Request objects are not offered.")
        }
        if parameters["request_uri"] != nil {
            throw OAuthFailure(
                code: "request_uri_not_supported", description: "Only the request_uri of a pushed request is offered.")
        }
        guard let type = parameters["response_type"] else { throw .invalidRequest("response_type is missing.") }
        guard type == "code" else {
            throw OAuthFailure(code: "unsupported_response_type", description: "Only response_type=code is offered.")
        }
        guard let mode = ResponseMode(rawValue: parameters["response_mode"] ?? "query") else {
            throw .invalidRequest(
                "response_mode must be one of \(ResponseMode.allCases.map(\.rawValue).joined(separator: ", ")).")
        }
        guard parameters["code_challenge_method"] == "S256", let challenge = parameters["code_challenge"],
            challenge.utf8.count == 43
        else { throw .invalidRequest("PKCE is required: code_challenge with code_challenge_method=S256.") }
        let scopes = try readScopes(parameters["scope"] ?? "openid", client: client.id)
        let prompts = Set((parameters["prompt"] ?? "").split(separator: " "))
        guard prompts.isSubset(of: ["none", "login", "consent", "select_account"]) else {
            throw .invalidRequest("The value of prompt is unknown.")
        }
        if prompts.contains("none") {
            guard prompts.count == 1 else { throw .invalidRequest("prompt=none cannot be combined with other values.") }
            guard configuration.approvesRequests else {
                throw OAuthFailure(
                    code: "login_required", description: "The provider keeps no session between requests.")
            }
        }
        return ConsentRequest(
            clientID: client.id, redirectURI: redirectURI, scopes: scopes,
            state: parameters["state"], nonce: parameters["nonce"], challenge: challenge,
            loginHint: parameters["login_hint"], responseMode: mode, issuer: authority.tenant == nil ? issuer : nil,
            policy: authority.policy, expiresAt: now + Grants.pendingLifetime)
    }

    private func decide(_ form: FormFields) throws(OAuthFailure) -> LoopbackResponse {
        let now = now
        guard let handle = form["request"], let pending = state.withLock({ $0.grants.pending[handle] }),
            pending.expiresAt > now, let client = client(id: pending.clientID)
        else {
            return errorPage("This page was used before or is too old. Go back to the application and sign in again.")
        }
        guard form["decision"] == "approve" else {
            state.withLock { state in
                state.grants.pending[handle] = nil
                if let pushed = pending.pushedRequest { state.grants.pushed[pushed] = nil }
            }
            return respond(
                pending, [("error", "access_denied"), ("error_description", "The user denied the request.")])
        }
        guard let user = contents.index(signingInAs: form.userName) else {
            return consentPage(
                pending, client, handle: handle, problem: Self.unknownUser)
        }
        let taken = state.withLock { state in
            defer { state.grants.pending[handle] = nil }
            return state.grants.pending[handle] != nil
        }
        guard taken else { return errorPage("This page was used before.") }
        return respond(pending, [("code", try newCode(pending, user: user))])
    }

    /// Returns a code for an approved request.
    private func newCode(_ pending: ConsentRequest, user: Int) throws(OAuthFailure) -> String {
        let (code, now) = (try newToken(), now)
        let authorization = Authorization(
            clientID: pending.clientID, user: user, scopes: pending.scopes, nonce: pending.nonce, authenticatedAt: now,
            policy: pending.policy)
        let isUsed = state.withLock { state in
            if let pushed = pending.pushedRequest {
                guard state.grants.pushed[pushed] != nil else { return true }
                state.grants.pushed[pushed] = nil
            }
            state.grants.codes[code] = Grants.Code(
                authorization: authorization, redirectURI: pending.redirectURI, challenge: pending.challenge,
                expiresAt: now + Grants.codeLifetime)
            return false
        }
        guard !isUsed else { throw .invalidRequest("The pushed request was used before or has expired.") }
        return code
    }

    private func respond(_ pending: ConsentRequest, _ parameters: [(String, String)]) -> LoopbackResponse {
        respond(
            to: pending.redirectURI, pending.responseMode, state: pending.state, issuer: pending.issuer, parameters)
    }

    /// Sends the browser to the application: with a 303 redirect, which it follows with GET, or with a form.
    private func respond(
        to uri: String, _ mode: ResponseMode, state: String?, issuer: String?, _ parameters: [(String, String)]
    ) -> LoopbackResponse {
        var fields = FormFields()
        for (name, value) in parameters { fields.append(name, value) }
        if let state { fields.append("state", state) }
        if let issuer { fields.append("iss", issuer) }
        switch mode {
        case .query:
            let separator = uri.contains("?") ? "&" : "?"
            return LoopbackResponse(status: 303, fields: ["Location": "\(uri)\(separator)\(fields.encoded)"])
        case .fragment: return LoopbackResponse(status: 303, fields: ["Location": "\(uri)#\(fields.encoded)"])
        case .formPost: return responsePage(to: uri, fields)
        }
    }
}

extension FormFields {
    /// The user in the form of a page: typed, otherwise selected.
    var userName: String { self["upn"]?.filter { $0 != " " } ?? self["person"] ?? "" }
}
