import Platform
import HTTPExchange
import LoopbackHTTP

// The authorization endpoint. RFC 6749 section 4.1, RFC 7636, RFC 9207, OpenID Connect Core section 3.1.2.
extension ProviderState {
    /// Handles a posted authorization request, or the user's decision.
    func authorize(post request: LoopbackRequest) -> LoopbackResponse {
        page { () throws(OAuthFailure) in
            let form = try decision(request)
            return form["client_id"] == nil ? try decide(form) : authorize(form)
        }
    }

    /// Returns the form of a page of this provider.
    func decision(_ request: LoopbackRequest) throws(OAuthFailure) -> FormFields {
        // If the browser names the origin of the request, only a page of this provider may decide.
        if let site = request.fields["Sec-Fetch-Site"], site != "same-origin", site != "none" {
            throw OAuthFailure(status: 403, code: "access_denied", description: "This request came from another site.")
        }
        return try form(request)
    }

    /// Handles an authorization request; `nil` stands for a malformed query.
    func authorize(_ parameters: FormFields?) -> LoopbackResponse {
        guard let parameters else { return errorPage("The request is not percent-encoded UTF-8.") }
        // Without a valid client and redirect URI, do not redirect (RFC 6749 section 4.1.2.1).
        guard let client = client(id: parameters["client_id"]) else {
            return errorPage("The application is unknown: client_id is missing or wrong.")
        }
        guard let redirectURI = parameters["redirect_uri"], client.accepts(redirectURI: redirectURI) else {
            return errorPage("The application gave a redirect_uri that is not registered for it.")
        }
        guard !parameters.hasDuplicates else { return errorPage("The request contains a parameter twice.") }
        do throws(OAuthFailure) {
            let pending = try pending(parameters, client, redirectURI)
            if pending.scopes.contains("openid") { createKey() }
            let handle = try newToken()
            state.withLock { $0.grants.pending[handle] = pending }
            return consentPage(pending, client, handle: handle)
        } catch {
            return redirect(
                to: redirectURI, state: parameters["state"],
                [("error", error.code), ("error_description", error.description)])
        }
    }

    private func pending(
        _ parameters: FormFields, _ client: LocalClient, _ redirectURI: String
    ) throws(OAuthFailure) -> ConsentRequest {
        if parameters["request"] != nil {
            throw OAuthFailure(code: "request_not_supported", description: "Request objects are not offered.")
        }
        if parameters["request_uri"] != nil {
            throw OAuthFailure(code: "request_uri_not_supported", description: "Request objects are not offered.")
        }
        guard let type = parameters["response_type"] else { throw .invalidRequest("response_type is missing.") }
        guard type == "code" else {
            throw OAuthFailure(code: "unsupported_response_type", description: "Only response_type=code is offered.")
        }
        guard parameters["response_mode"] == nil || parameters["response_mode"] == "query" else {
            throw .invalidRequest("Only response_mode=query is offered.")
        }
        guard parameters["code_challenge_method"] == "S256", let challenge = parameters["code_challenge"],
            challenge.utf8.count == 43
        else { throw .invalidRequest("PKCE is required: code_challenge with code_challenge_method=S256.") }
        let prompts = Set((parameters["prompt"] ?? "").split(separator: " "))
        guard prompts.isSubset(of: ["none", "login", "consent", "select_account"]) else {
            throw .invalidRequest("The value of prompt is unknown.")
        }
        if prompts.contains("none") {
            guard prompts.count == 1 else { throw .invalidRequest("prompt=none cannot be combined with other values.") }
            throw OAuthFailure(code: "login_required", description: "The provider keeps no session between requests.")
        }
        return ConsentRequest(
            clientID: client.id, redirectURI: redirectURI, scopes: try Scopes.read(parameters["scope"] ?? "openid"),
            state: parameters["state"], nonce: parameters["nonce"], challenge: challenge,
            loginHint: parameters["login_hint"], expiresAt: now + Grants.pendingLifetime)
    }

    private func decide(_ form: FormFields) throws(OAuthFailure) -> LoopbackResponse {
        let now = now
        guard let handle = form["request"], let pending = state.withLock({ $0.grants.pending[handle] }),
            pending.expiresAt > now, let client = client(id: pending.clientID)
        else {
            return errorPage("This page was used before or is too old. Go back to the application and sign in again.")
        }
        guard form["decision"] == "approve" else {
            state.withLock { $0.grants.pending[handle] = nil }
            return redirect(
                to: pending.redirectURI, state: pending.state,
                [("error", "access_denied"), ("error_description", "The user denied the request.")])
        }
        guard let user = contents.index(signingInAs: form.userName) else {
            return consentPage(
                pending, client, handle: handle, problem: Self.unknownUser)
        }
        let code = try newToken()
        let authorization = Authorization(
            clientID: client.id, user: user, scopes: pending.scopes, nonce: pending.nonce, authenticatedAt: now)
        let taken = state.withLock { state in
            guard state.grants.pending[handle] != nil else { return false }
            state.grants.pending[handle] = nil
            state.grants.codes[code] = Grants.Code(
                authorization: authorization, redirectURI: pending.redirectURI, challenge: pending.challenge,
                expiresAt: now + Grants.codeLifetime)
            return true
        }
        guard taken else { return errorPage("This page was used before.") }
        return redirect(to: pending.redirectURI, state: pending.state, [("code", code)])
    }

    /// Returns a 303 redirect, which the browser follows with GET.
    private func redirect(to uri: String, state: String?, _ parameters: [(String, String)]) -> LoopbackResponse {
        var fields = FormFields()
        for (name, value) in parameters { fields.append(name, value) }
        if let state { fields.append("state", state) }
        fields.append("iss", issuer)
        let separator = uri.contains("?") ? "&" : "?"
        return LoopbackResponse(status: 303, fields: ["Location": "\(uri)\(separator)\(fields.encoded)"])
    }
}

extension FormFields {
    /// The user in a page's form: typed, otherwise chosen.
    var userName: String { self["upn"]?.filter { $0 != " " } ?? self["person"] ?? "" }
}
