import LodgePlatform
import HTTPExchange
import OAuth2Protocol

/// Sends a request with an account's token: decides when to refresh the token and to repeat the request. It works the
/// same for complete responses, streams and downloads.
///
/// See [RFC 6750 section 3.1](https://www.rfc-editor.org/rfc/rfc6750#section-3.1) and [RFC 9449 sections 7 to
/// 9](https://www.rfc-editor.org/rfc/rfc9449#section-7).
struct AuthorizedRequest: Sendable {
    let signer: RequestSigner
    let request: HTTPRequest
    /// The account. Without an account, the request is not sent.
    let id: Account.ID?
    let scopes: Scope?
    let resource: String?

    /// Sends the request until there is a response for the caller.
    ///
    /// - Parameter send: A function that sends a request once, and returns the status and header fields as well as the
    ///   response itself. Each attempt calls it again, and drops the previous response.
    func run<Response: Sendable>(
        _ send: (any HTTPTransport, HTTPRequest) async throws -> (head: HTTPResponse, response: Response)
    ) async throws -> Response {
        let providers = signer.providers
        // A program that passes an account expects a token, so never send the request without one.
        guard let id else { throw AccountStoreError.noAccount }
        // Some content can be read only once.
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
            // After a redirect without the token, a 401 of another origin is not about the token.
            guard isReplayable, (head.url ?? url).hasOrigin(of: url) else { return response }
            if signed.isBound, case .follow(let limit) = request.redirects,
                let next = try current.redirected(by: head, origin: SystemTransport.origin(of:))
            {
                // A proof is valid for one URL, so the next URL needs another proof.
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
                if challenge.claims != nil {
                    try await signer.broker.discard(signed.token.secret, of: id, claims: challenge.claims)
                }
                throw signer.isClient(id)
                    ? AccountStoreError.blockedByPolicy("cannot send the request", challenge)
                    : AccountStoreError.signInNeeded(challenge, contextClasses: classes, maximumAge: age)
            default: return response
            }
            hasRefreshed = true
        }
    }

    /// Disables redirects in the transport for a request with a proof, because the transport would send the same proof
    /// again.
    private func onTheWire(_ signed: SignedRequest) -> HTTPRequest {
        guard signed.isBound else { return signed.request }
        var request = signed.request
        request.redirects = .none
        return request
    }
}

extension AccountStoreError {
    /// Creates the error for a resource that requires a new sign-in: with one of these authentication context classes,
    /// within a maximum age, or with the claims of the challenge.
    ///
    /// See [RFC 9470 section 3](https://www.rfc-editor.org/rfc/rfc9470#section-3).
    fileprivate static func signInNeeded(
        _ challenge: ProviderError, contextClasses: [String], maximumAge: Int?
    ) -> AccountStoreError {
        var error = signInNeeded(.interactionRequired, challenge)
        // The resource chooses these values. The hint contains only values that are safe inside single quotes in a
        // shell.
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
    /// The scope that the resource requires, from an `insufficient_scope` error with status 401 or 403; `nil` for any
    /// other response. Empty if the error does not name a scope.
    ///
    /// Request it with ``SignInOptions/scope``. The store never requests it automatically.
    ///
    /// See [RFC 6750 section 3.1](https://www.rfc-editor.org/rfc/rfc6750#section-3.1).
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
