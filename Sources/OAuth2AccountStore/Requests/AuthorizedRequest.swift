import Platform
import HTTPExchange
import OAuth2Protocol

/// A request with an account's token: decides what is sent again and when, whether the caller takes the response whole, as a stream or
/// into a file.
///
/// [RFC 6750 section 3.1](https://www.rfc-editor.org/rfc/rfc6750#section-3.1),
/// [RFC 9449 sections 7 to 9](https://www.rfc-editor.org/rfc/rfc9449#section-7)
struct AuthorizedRequest: Sendable {
    let signer: RequestSigner
    let request: HTTPRequest
    /// The account. Without one, the request is not sent.
    let id: Account.ID?
    let scopes: Scope?
    let resource: String?

    /// Sends until there is a response for the caller.
    ///
    /// - Parameter send: sends a request once and returns status and fields of the response beside the response itself. It is called
    ///   again for each attempt; the previous response is dropped then.
    func run<Response: Sendable>(
        _ send: (any HTTPTransport, HTTPRequest) async throws -> (head: HTTPResponse, response: Response)
    ) async throws -> Response {
        let providers = signer.providers
        // A program that expects an account must not send the request without a token.
        guard let id else { throw AccountStoreError.noAccount }
        // The content of some requests can be read only once.
        let isReplayable = request.content?.isReplayable ?? true
        var attempts = SignedAttempts(hints: providers.hints)
        var current = request
        var key = TokenKey(scope: scopes, resource: resource)
        var rejected: Secret?
        var hasRefreshed = false
        var redirects = 0
        while true {
            let url = current.url
            let (head, (response, signed)) = try await attempts.send(to: url) {
                let signed = try await signer.signed(current, id, key, rejected)
                (key.claims, rejected) = (nil, nil)
                let (head, response) = try await send(providers.transport(for: signed.type), onTheWire(signed))
                let source = head.url ?? url
                providers.hints.note(head, from: source, now: signer.dependencies.now())
                let mayRepeat = signed.isBound && isReplayable && source.hasOrigin(of: url)
                return (head, (response, signed), mayRepeat)
            }
            // After a redirect without the token, the response of another origin is not about the token.
            guard isReplayable, (head.url ?? url).hasOrigin(of: url) else { return response }
            if signed.isBound, case .follow(let limit) = request.redirects,
                let next = try current.redirected(by: head, origin: CurlTransport.origin(of:))
            {
                // A proof is for one URL: the next one needs its own.
                redirects += 1
                guard redirects <= limit else {
                    throw HTTPTransportError(
                        .redirectRefused, host: url.host() ?? "", reason: "More than \(max(0, limit)) redirects.")
                }
                guard next.url.hasOrigin(of: url) else {
                    var unsigned = next
                    unsigned.redirects = .follow(limit: limit - redirects)
                    return try await send(providers.transport(for: signed.type), unsigned).response
                }
                current = next
                continue
            }
            let canRefresh = signer.canRefresh(id)
            switch ResourceResponse.decide(
                head, tokenType: signed.token.type, hasRefreshToken: canRefresh, isRetry: hasRefreshed)
            {
            case .refreshAndRetry:
                rejected = signed.token.secret
            case .needsSignIn(let challenge, _, _) where challenge.claims != nil && !hasRefreshed && canRefresh:
                (key.claims, rejected) = (challenge.claims, signed.token.secret)
            case .needsSignIn(let challenge, let classes, let age):
                throw AccountStoreError.signInNeeded(challenge, contextClasses: classes, maximumAge: age)
            default: return response
            }
            hasRefreshed = true
        }
    }

    /// The transport does not follow redirects of a request with a proof: it would send the same proof.
    private func onTheWire(_ signed: SignedRequest) -> HTTPRequest {
        guard signed.isBound else { return signed.request }
        var request = signed.request
        request.redirects = .none
        return request
    }
}

extension AccountStoreError {
    /// That a resource wants the person to sign in once more: with these authentication context classes, not longer ago than so many
    /// seconds, or for the claims of the challenge.
    ///
    /// [RFC 9470 section 3](https://www.rfc-editor.org/rfc/rfc9470#section-3)
    fileprivate static func signInNeeded(
        _ challenge: ProviderError, contextClasses: [String], maximumAge: Int?
    ) -> AccountStoreError {
        var error = signInNeeded(.interactionRequired, challenge)
        // These are the resource's words: only what can stand between quotes of a shell is shown to be typed.
        let classes = contextClasses.filter { $0.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x27 } }
        var parameters: [AccountRemedy.Parameter] = []
        if !classes.isEmpty { parameters.append(.init(name: "acr_values", value: classes.joined(separator: " "))) }
        if let maximumAge, maximumAge >= 0 { parameters.append(.init(name: "max_age", value: "\(maximumAge)")) }
        if challenge.claims == nil, !parameters.isEmpty {
            error.hint = "\(AccountRemedy.signIn(type: nil, parameters: parameters))"
        }
        return error
    }
}

extension HTTPResponse {
    /// The scope that the resource says the next token must have, in a refusal `insufficient_scope`; nil for every other answer, and empty
    /// where it names none. Ask for it with `SignInOptions`; it is never asked for by itself.
    ///
    /// [RFC 6750 section 3.1](https://www.rfc-editor.org/rfc/rfc6750#section-3.1)
    public var scopeNeeded: Scope? {
        guard status == 401 || status == 403 else { return nil }
        let challenges = AuthenticationChallenge.challenges(in: fields).filter {
            ["bearer", "dpop"].contains($0.scheme)
        }
        let refusals = challenges.filter { $0.parameters["error"] == ErrorCode.insufficientScope.rawValue }
        guard !refusals.isEmpty else { return nil }
        return refusals.lazy.compactMap { $0.parameters["scope"] }.first.map(Scope.init(parsing:)) ?? []
    }
}
