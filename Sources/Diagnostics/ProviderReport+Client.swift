import HTTPExchange
import OAuth2AccountStore
import OAuth2Protocol
import LodgePlatform

// The check of the client ID, the redirect URI and the scopes.
extension ProviderReport {
    /// The port of the check in a redirect URI without one. The provider ignores it (RFC 8252 section 7.3), and no
    /// request uses it.
    private static let port: UInt16 = 49152

    /// Sends the authorization request of a sign-in with `prompt=none` and without a session.
    ///
    /// The provider redirects its error `login_required` only to a redirect URI that is registered for the client, and shows a page
    /// for an unknown client. The request contains no secret and needs no user, and no other request follows it.
    ///
    /// See OpenID Connect Core 1.0 section 3.1.2.6 and RFC 6749 section 4.1.2.1.
    ///
    /// - Throws: `CancellationError`
    static func client(
        of type: AccountType, at server: AuthorizationServer, dependencies: Dependencies
    ) async throws -> Finding {
        guard !type.grant.isOfApplication else { return unchecked("an application signs in without a redirect") }
        guard !server.requiresPushedAuthorizationRequests, type.pushedAuthorizationRequests != true,
            !type.requestObjectSigning
        else { return unchecked("its sign-in requires authentication") }
        guard type.redirectURI.text != RedirectURI.outOfBand, server.authorizationEndpoint != nil else {
            return unchecked("the sign-in has no redirect")
        }
        do {
            let redirect =
                type.redirectURI.isLoopback && type.redirectURI.port == nil
                ? try type.redirectURI.replacingPort(port) : type.redirectURI
            var options = AuthorizationRequest.Options()
            options.parameters = type.authorizationParameters
            options.parameters["prompt"] = nil
            options.prompt = ["none"]
            options.resources = type.resources
            let request = try AuthorizationRequest(
                server: server, client: Client(id: type.clientID, authentication: .none), redirectURI: redirect,
                scope: type.scope, options: options, random: dependencies.random)
            let response = try await dependencies.transport(for: type).send(HTTPRequest(.get, request.url))
            return finding(response, of: type, redirect)
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            return unchecked(AccountStoreError.wrapping(error, what: "cannot check the client").reason)
        }
    }

    private static func finding(
        _ response: HTTPResponse, of type: AccountType, _ redirect: RedirectURI
    ) -> Finding {
        if let address = response.fields["Location"], (300..<400).contains(response.status), redirect.matches(address) {
            let error = (try? AuthorizationResponse(redirect: address))?.providerError
            return finding(error, of: type)
        }
        let page = String(decoding: response.body.prefix(maximumPage), as: UTF8.self)
        // Entra's error page contains the error number, with any status.
        if let number = page.firstMatch(of: /AADSTS[0-9]{4,9}/) {
            let error = OAuth2Error.provider(ProviderError(code: .invalidRequest, explanation: String(number.output)))
            if AccountStoreError.wrapping(error, what: "").kind == .settings { return problem(error, of: type) }
        }
        // A server that authenticates the user before it reads the request sends a 401 with a challenge: AD FS on the company's network.
        guard response.status == 400 || response.status == 401 && response.fields["WWW-Authenticate"] == nil else {
            return unchecked("the provider did not redirect the request")
        }
        return Finding(
            subject: "client", state: .problem,
            detail: "the provider rejects the client ID \(type.clientID) or the redirect URI \(type.redirectURI.text) "
                + "(HTTP status \(response.status))", remedy: remedy(type))
    }

    /// Returns the finding for an error that the provider sent to the redirect URI. So the URI is registered for the
    /// client.
    private static func finding(_ error: ProviderError?, of type: AccountType) -> Finding {
        switch error?.code {
        case .invalidScope?, .invalidTarget?, .invalidClient?:
            return problem(.provider(error ?? ProviderError(code: .invalidClient)), of: type)
        case .unauthorizedClient?:
            return Finding(
                subject: "client", state: .ok, detail: "known, but not allowed to sign in with the browser")
        default:
            return Finding(subject: "client", state: .ok, detail: "the provider knows it and its redirect URI")
        }
    }

    private static func problem(_ error: OAuth2Error, of type: AccountType) -> Finding {
        let failure = AccountStoreError.wrapping(error, what: "cannot check the client")
        // Other hints would only suggest this check.
        let isEntra = failure.provider?.explanation?.contains("AADSTS") == true
        return Finding(
            subject: "client", state: .problem, detail: failure.reason,
            remedy: isEntra ? failure.hint ?? remedy(type) : remedy(type))
    }

    private static func remedy(_ type: AccountType) -> Hint {
        "correct clientId, redirectUri and scopes of \(type.name) in the settings"
    }

    private static func unchecked(_ reason: String) -> Finding {
        Finding(subject: "client", state: .notOffered, detail: "not checked: \(reason); a sign-in checks it")
    }

    /// The bytes of a page to search for the number of an error.
    private static let maximumPage = 256 * 1024
}
