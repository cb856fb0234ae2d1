import Platform
import OAuth2Protocol
import StrictJSON

extension AccountStore {
    /// A fresh token for scopes, a resource or claims.
    func token(_ id: Account.ID, _ asked: SilentTokenParameters, _ demand: FreshnessRequirement) async throws
        -> AccessToken
    {
        let noToken = "cannot get a fresh access token"
        if let claims = asked.claims, (try? JSONValue(parsing: claims))?.object == nil {
            throw AccountStoreError(
                .settings, what: noToken, reason: "the claims are no JSON object", remedy: .changeSettings,
                hint: "give them as they came, decoded from base64url, such as {\"access_token\": {…}}")
        }
        while true {
            var found = loaded[id]
            if found == nil { found = try await failing(noToken) { try await read(id) } }
            guard let record = found?.record else { throw unknown(id) }
            let coverage = ScopeCoverage(try type(record.type))
            let wish = coverage.plain(asked)
            if wish.claims == nil, coverage.isForMain(wish, of: record) {
                let token = try await accessToken(
                    for: id, minimumValidity: demand.validity.map { .seconds($0) }, rejected: demand.rejected)
                // A refresh may bring a token that is good for less.
                if coverage.missing(wish.scope ?? [], in: token.scope).isEmpty { return token }
            }
            if record.signInNeeded == nil, wish.claims == nil,
                let (tokens, key) = coverage.tokens(for: wish, in: record),
                let key, demand.accepts(tokens, at: now(judging: tokens, of: id), renewable: record.canRefresh)
            {
                further.used(key, of: id)
                return AccessToken(tokens)
            }
            let name = AccessTokenCache.Wish(id: id, wish: wish)
            if wish.claims == nil,
                let refusal = further.refusal(of: name, signedIn: record.signedIn, now: dependencies.now())
            {
                throw refusal
            }
            // Nothing is awaited since the look into memory: of all callers one starts it.
            let flight = further.flights[name] ?? start(id, wish, demand)
            if let tokens = try accepted(try await flight.value(), demand, id) {
                further.used(coverage.key(wish), of: id)
                return AccessToken(tokens)
            }
        }
    }

    /// The tokens that a record has for a wish.
    func kept(_ wish: SilentTokenParameters, in record: AccountRecord) throws -> TokenSet? {
        if wish.isMain { return record.tokens }
        return ScopeCoverage(try type(record.type)).tokens(for: wish, in: record)?.tokens
    }

    /// That something is not granted and cannot be asked for without the person.
    func notGranted(_ wish: SilentTokenParameters, _ record: AccountRecord) throws -> AccountStoreError {
        let missing = ScopeCoverage(try type(record.type)).missing(wish.scope ?? [], in: record.tokens.scope)
        return Self.notGranted(wish, missing, nil)
    }

    private static func notGranted(
        _ wish: SilentTokenParameters, _ missing: [String], _ provider: ProviderError?
    ) -> AccountStoreError {
        let what = missing.isEmpty ? wish.resource.map { [$0] } ?? [] : missing
        return AccountStoreError(
            .signInNeeded(.scopeNotGranted), what: "no access token",
            reason: "not granted: \(what.joined(separator: " "))", remedy: .signInAgain, provider: provider)
    }

    /// What it means that the provider gave no token for a wish. The account stays signed in: whether its refresh token is still good
    /// is found out with the main token.
    func refusal(of wish: SilentTokenParameters, _ record: AccountRecord, _ error: any Error) throws -> any Error {
        var provider: ProviderError?
        switch error {
        case OAuth2Error.provider(let error):
            let codes: [ErrorCode] = [.invalidScope, .invalidTarget, .accessDenied]
            // A number of Entra's may say that it passes, or that the settings or the administrator decide.
            guard error.course != .later, error.signInReason != nil || codes.contains(error.code) else {
                return OAuth2Error.provider(error)
            }
            provider = error
        // Without a word: see the main token.
        case OAuth2Error.http(status: 400, _): break
        default: return error
        }
        if wish.claims != nil || provider?.claims != nil {
            // With these claims the next sign-in gets what is missing now.
            if provider?.claims == nil { provider?.claims = wish.claims }
            let reason: Account.SignInReason =
                provider?.code == .invalidGrant && wish.claims == nil ? .grantGone : .interactionRequired
            return signInNeeded(reason, provider)
        }
        let missing = ScopeCoverage(try type(record.type)).missing(wish.scope ?? [], in: record.tokens.scope)
        return remember(Self.notGranted(wish, missing, provider), wish, record)
    }

    /// The same for an answer that came, with a token that is good for less.
    func refusal(of wish: SilentTokenParameters, _ record: AccountRecord, unmet: [String]) throws -> any Error {
        remember(Self.notGranted(wish, unmet, nil), wish, record)
    }

    private func remember(_ error: AccountStoreError, _ wish: SilentTokenParameters, _ record: AccountRecord)
        -> AccountStoreError
    {
        further.refused(
            AccessTokenCache.Wish(id: record.id, wish: wish), error, signedIn: record.signedIn, now: dependencies.now())
        return error
    }
}

extension AccessToken {
    init(_ tokens: TokenSet) {
        self.init(
            secret: tokens.accessToken, expiry: tokens.expiry, scope: tokens.scope, type: tokens.type ?? "bearer")
    }
}
