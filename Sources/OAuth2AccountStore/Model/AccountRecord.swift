import JOSE
import OAuth2Protocol
import LodgePlatform
import StrictJSON

/// The sealed and saved data of one account.
struct AccountRecord: Codable, Sendable, Equatable {
    var id: Account.ID
    var type: String
    var issuer: String?
    var subject: String?
    var userName: String?
    var displayName: String?
    var clientID: String
    /// The scheme, host and port of the token endpoint that issued the tokens.
    var tokenOrigin: String?
    var claimsText: String?
    var tokens: TokenSet
    var signInNeeded: Account.SignInReason?
    var created: Date
    var userData: Data?
    /// The key that the tokens are bound to (RFC 9449), as a private JWK in JSON.
    var senderKey: Secret?
    /// The request for new tokens without a refresh token.
    var serviceGrant: ServiceGrant?
    var nickname: String?
    var imported: ImportOrigin?

    // Added in later versions, so records can lack them.

    /// The scope of the refresh token, if known. An access token can cover less (RFC 6749 section 6).
    var grant: Scope?
    var additionalTokens: AdditionalTokens?
    /// `uid.utid` of the provider's `client_info`: the user's home account at Entra.
    var homeAccountID: String?
    /// The policy that issued the tokens, by its name in the settings; `nil` for the default policy of the authority.
    var policy: String?
    /// The tokens of sign-ins at other policies, by the name of the policy.
    var policySignIns: [String: PolicySignIn]?
    /// The time of the last sign-in, or of an import over the tokens of a sign-in.
    var signedIn: Date?
    /// The issuer that the redirect of the sign-in named, for a type without an issuer in the settings.
    var redirectIssuer: String?
    /// The claims of a challenge that only a sign-in can satisfy, a JSON object. The next sign-in requests them.
    var requiredClaims: String?

    private enum CodingKeys: String, CodingKey {
        case id, type, issuer, subject, userName, displayName, clientID, tokenOrigin, claimsText, tokens, signInNeeded
        case created, userData, senderKey, nickname, imported, grant, homeAccountID, policy, signedIn, redirectIssuer
        case requiredClaims
        case serviceGrant = "renewal"
        case additionalTokens = "further"
        case policySignIns = "policies"
    }

    /// The request for the client's own tokens, which the store repeats without a user.
    struct ServiceGrant: Codable, Sendable, Equatable {
        /// The requested scope. The granted scope can be spelled differently.
        var scope: Scope
        var parameters: [String: String]
        /// The grant of the type, if the tokens come from a source and not from the token endpoint of a client.
        var source: String?
    }

    /// Whether the tokens can be refreshed without the user.
    var canRefresh: Bool { tokens.refreshToken != nil || serviceGrant != nil }

    /// The scope of the refresh token.
    var granted: Scope { grant.map { $0.union(tokens.scope) } ?? tokens.scope }

    var claims: JSONObject? {
        get { claimsText.flatMap { try? JSONValue(parsing: $0) }?.object }
        set { claimsText = newValue.map { JSONValue.object($0).text() } }
    }

    /// Applies the response of a refresh. Does not save an additional access token here, because it can cover less than
    /// requested.
    mutating func refresh(with new: TokenSet) {
        if let claims = Self.claims(of: new.idToken) { replaceClaims(with: claims) }
        tokens = tokens.refreshed(by: new)
        signInNeeded = nil
        if new.claims != nil { requiredClaims = nil }
    }

    /// Replaces the claims of the previous ID token. The claims that only userinfo returned remain.
    private mutating func replaceClaims(with new: JSONObject) {
        let previous = Self.claims(of: tokens.idToken)
        var merged = new
        for member in claims?.members ?? [] where previous?[member.name] == nil && new[member.name] == nil {
            merged.append(member.name, member.value)
        }
        claims = merged
        let identity = Identity(claims: merged)
        userName = identity.userName ?? userName
        displayName = identity.displayName ?? displayName
    }

    /// Removes an access token that a resource rejected, so that no caller gets it again.
    mutating func removeToken(_ rejected: Secret) {
        if tokens.accessToken == rejected { tokens.accessToken = Secret("") }
        additionalTokens?.all.removeAll { $0.accessToken == rejected }
    }

    private static func claims(of idToken: Secret?) -> JSONObject? {
        idToken.flatMap { try? JWT(parsing: $0.value) }?.unverifiedClaims.members
    }
}
