import Platform
import HTTPExchange
import OAuth2Protocol

/// A request on its way in an account's name, until there is an answer for the caller. However the answer is taken, whole, as a
/// stream or into a file, what is sent again and when is decided here.
///
/// [RFC 6750 section 3.1](https://www.rfc-editor.org/rfc/rfc6750#section-3.1),
/// [RFC 9449 sections 7 to 9](https://www.rfc-editor.org/rfc/rfc9449#section-7)
struct AuthorizedRequest: Sendable {
    let signer: RequestSigner
    let request: HTTPRequest
    /// The account; nil: the request goes out as it is.
    let id: Account.ID?
    let scopes: Scope?
    let resource: String?

    /// What was sent again already. Each happens once.
    private struct Repeats {
        var hasNonce = false
        var hasRenewed = false
        var correctsClock = false
    }

    /// Sends until there is an answer for the caller.
    ///
    /// - Parameter send: sends a request once and gives the answer's status and fields beside the answer itself. It is called again
    ///   for a request that is repeated; what came before is dropped then.
    func run<Answer: Sendable>(
        _ send: (any HTTPTransport, HTTPRequest) async throws -> (head: HTTPResponse, answer: Answer)
    ) async throws -> Answer {
        guard let id else { return try await send(signer.providers.plainTransport, request).answer }
        let hints = signer.providers.hints
        var current = request
        var parameters = TokenKey(scope: scopes, resource: resource)
        var repeats = Repeats()
        var redirects = 0
        var signed = try await signer.signed(current, id, parameters, nil)
        while true {
            let before = hints.offset(of: current.url)
            let transport = signer.providers.transport(for: signed.type)
            let (head, answer) = try await send(transport, onTheWire(signed))
            let from = head.url ?? current.url
            hints.note(head, from: from, now: signer.dependencies.now())
            // What another origin says, after a redirect without the token, is not about the token.
            guard from.hasOrigin(of: current.url) else { return answer }
            // What can be read only once was read by now.
            guard request.content?.isReplayable ?? true else { return answer }

            let isBound = signed.token.type == "dpop"
            if isBound, case .follow(let limit) = request.redirects,
                let next = try current.redirected(by: head, origin: CurlTransport.origin(of:))
            {
                // A proof is for one address: the next one needs its own.
                redirects += 1
                guard redirects <= limit else {
                    throw HTTPTransportError(
                        .redirectRefused, host: current.url.host() ?? "",
                        reason: "More than \(max(0, limit)) redirects.")
                }
                guard next.url.hasOrigin(of: current.url) else {
                    var unsigned = next
                    unsigned.redirects = .follow(limit: limit - redirects)
                    return try await send(transport, unsigned).answer
                }
                current = next
                signed = try await signer.signed(current, id, parameters, nil)
                continue
            }
            if isBound, !repeats.correctsClock, hints.correctsClock(head, from: current.url, before: before) {
                repeats.correctsClock = true
                signed = try await signer.signed(current, id, parameters, nil)
                continue
            }
            let canRefresh = signer.canRefresh(id)
            switch ResourceResponse.decide(
                head, tokenType: signed.token.type, hasRefreshToken: canRefresh,
                isRetry: repeats.hasNonce && repeats.hasRenewed)
            {
            case .retryWithNonce where !repeats.hasNonce:
                repeats.hasNonce = true
                signed = try await signer.signed(current, id, parameters, nil)
            case .refreshAndRetry where !repeats.hasRenewed:
                repeats.hasRenewed = true
                signed = try await signer.signed(current, id, parameters, signed.token.secret)
            case .needsSignIn(let challenge, _, _) where challenge.claims != nil && !repeats.hasRenewed && canRefresh:
                repeats.hasRenewed = true
                parameters.claims = challenge.claims
                signed = try await signer.signed(current, id, parameters, signed.token.secret)
                parameters.claims = nil
            case .needsSignIn(let challenge, let classes, let age):
                throw AccountStoreError.signInNeeded(challenge, contextClasses: classes, maximumAge: age)
            default: return answer
            }
        }
    }

    /// A request with a proof does not follow redirects by itself: the proof would go along.
    private func onTheWire(_ signed: SignedRequest) -> HTTPRequest {
        guard signed.token.type == "dpop" else { return signed.request }
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
