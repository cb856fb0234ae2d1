import StrictJSON

// Continuous access evaluation: the directory revokes access tokens before they expire. See
// https://learn.microsoft.com/en-us/entra/identity-platform/claims-challenge
extension ProviderState {
    /// Returns the claims of a token request, or `nil` without the parameter.
    func claims(_ form: FormFields) throws(OAuthFailure) -> JSONObject? {
        guard let text = form["claims"] else { return nil }
        guard let claims = (try? JSONValue(parsing: text))?.object else {
            throw .invalidRequest("claims is not a JSON object.")
        }
        return claims
    }
}

extension Grants {
    /// Returns the claims after an event that revokes all previous tokens.
    static func challenge(now: Int) -> JSONObject {
        ["access_token": ["nbf": ["essential": true, "value": .string(String(now))]]]
    }

    /// Adds an access token. It remains challenged unless its request has the claims that the directory requires.
    mutating func add(_ access: AccessToken, _ token: String, for claims: JSONObject?) {
        var access = access
        let requested = claims?["access_token"]?.object
        let capabilities = requested?["xms_cc"]?.object?["values"]?.array ?? []
        // MSAL for Python writes CP1.
        access.handlesClaims = capabilities.contains { $0.string?.lowercased() == "cp1" }
        let key = Self.challengeKey(access)
        if let challenge = challenges[key] {
            let isMet = (challenge["access_token"]?.object?.members ?? []).allSatisfy {
                requested?[$0.name] == $0.value
            }
            if isMet { challenges[key] = nil } else { access.challenge = challenge }
        }
        accessTokens[token] = access
    }

    /// Applies an injected error that revokes an access token.
    mutating func revoke(_ token: String, by entry: InjectedErrors.Entry, now: Int) {
        guard [.directoryTokenRevoked, .directorySessionRevoked].contains(entry.name), var access = accessTokens[token]
        else { return }
        let claims = entry.value.flatMap { (try? JSONValue(parsing: $0))?.object } ?? Self.challenge(now: now)
        access.challenge = claims
        challenges[Self.challengeKey(access)] = claims
        if entry.name == .directorySessionRevoked { grants[access.grant] = nil }
        accessTokens[token] = access
    }

    private static func challengeKey(_ access: AccessToken) -> String {
        access.authorization.user == nil ? "client \(access.authorization.clientID)" : access.grant
    }
}
