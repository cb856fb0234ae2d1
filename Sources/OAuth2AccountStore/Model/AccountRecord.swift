import Platform
import JOSE
import OAuth2Protocol
import StrictJSON

/// The tokens of an account and what is known of them.
struct TokenSet: Codable, Sendable, Equatable {
    var accessToken: Secret
    var refreshToken: Secret?
    var idToken: Secret?
    var scope: Scope
    /// The type, in lower case; nil: Bearer.
    var type: String?
    /// When the provider's answer came.
    var received: Date
    /// The lifetime that the provider named, in seconds.
    var lifetime: Int?
    /// When a renewal ahead of time should be tried, in seconds after `received`: Entra's `refresh_in`.
    var refreshIn: Int?
    /// What else the answer had, as JSON text. Some providers put further tokens there.
    var additional: Secret?

    init(_ response: TokenResponse, asked: Scope, received: Date) {
        accessToken = response.accessToken
        refreshToken = response.refreshToken
        idToken = response.idToken
        scope = response.scope ?? asked
        type = response.tokenType == "bearer" ? nil : response.tokenType
        self.received = received
        lifetime = response.expiresIn
        refreshIn = Self.refreshIn(response)
        additional =
            response.additional.members.isEmpty ? nil : Secret(JSONValue.object(response.additional).text())
    }

    /// These tokens after a refresh: what the answer does not have stays (RFC 6749 section 6).
    func refreshed(by response: TokenResponse, received: Date) -> TokenSet {
        var tokens = TokenSet(response, asked: scope, received: received)
        tokens.refreshToken = response.refreshToken ?? refreshToken
        tokens.idToken = response.idToken ?? idToken
        return tokens
    }

    /// The least time after which a token is renewed ahead of its end, in seconds, whatever the provider says: no storm.
    private static let leastRefreshIn = 60.0

    /// `refresh_in`, when it is a number of seconds within the lifetime.
    private static func refreshIn(_ response: TokenResponse) -> Int? {
        let value = response.additional["refresh_in"]
        guard let seconds = value?.number?.double ?? value?.string.flatMap(Double.init), seconds >= 1,
            case let seconds = max(seconds, Self.leastRefreshIn),
            seconds < Double(response.expiresIn ?? TokenResponse.maximumLifetime)
        else { return nil }
        return Int(seconds)
    }

    /// Whether a renewal ahead of time should be tried.
    func isDueEarly(at now: Date) -> Bool {
        refreshIn.map { now.timeIntervalSince(received) >= Double($0) } ?? false
    }

    var expiry: Date? { lifetime.map { received.addingTimeInterval(Double($0)) } }

    /// How long a token of unknown lifetime is used before it is renewed, when it can be, in seconds.
    private static let assumedLifetime = 3600.0

    /// Whether the access token is good for at least `validity` seconds. Without a wish, a token counts as used up shortly
    /// before its end: a minute, or a fifth of its life when it is short. A wish for more than four fifths of its life counts
    /// as those, or each call would renew the token.
    ///
    /// - Parameter renewable: whether the token can be renewed; nil: when there is a refresh token.
    func isFresh(at now: Date, for validity: Double?, renewable: Bool? = nil) -> Bool {
        // Of what another program kept there may be the refresh token alone.
        guard !accessToken.value.isEmpty else { return false }
        let renewable = renewable ?? (refreshToken != nil)
        let age = now.timeIntervalSince(received)
        // A clock that was set back makes a token look younger than it is. It is renewed if it can be; if not, the resource
        // decides: a wrong clock signs nobody out.
        guard age > -60 else { return !renewable }
        guard let lifetime = lifetime.map(Double.init) else { return !renewable || age < Self.assumedLifetime }
        let margin = validity.map { min(max($0, 0), lifetime * 4 / 5) } ?? min(60, lifetime / 5)
        return age + margin < lifetime
    }
}

/// What is sealed and saved of one account.
struct AccountRecord: Codable, Sendable, Equatable {
    var id: Account.ID
    var type: String
    var issuer: String?
    var subject: String?
    var userName: String?
    var displayName: String?
    var clientID: String
    /// Scheme, host and port of the token endpoint that gave the tokens.
    var tokenOrigin: String?
    var claimsText: String?
    var tokens: TokenSet
    var signInNeeded: Account.SignInReason?
    var created: Date
    var userData: Data?
    /// The key that the tokens are bound to, a private JWK as text (RFC 9449).
    var senderKey: Secret?
    /// How tokens are had again without a refresh token.
    var renewal: ServiceGrant?
    /// The name that the user gave it.
    var nickname: String?
    /// Where it came from, when it was imported.
    var imported: ImportOrigin?

    // What follows came later: records without it are read too.

    /// What the refresh token is good for, as far as it is known: an access token may be good for less (RFC 6749 section 6).
    var grant: Scope?
    /// Access tokens for other scopes and resources.
    var further: [CachedAccessToken]?
    /// `uid.utid` of the provider's `client_info`: the person's home account at Entra.
    var homeAccountID: String?
    /// The policy that gave the tokens, by its name in the settings; nil: the authority's own.
    var policy: String?
    /// When the person signed in last, or their tokens were imported over others.
    var signedIn: Date?

    /// The client's own tokens: it asks for them again by itself.
    struct ServiceGrant: Codable, Sendable, Equatable {
        /// The scope that was asked for; the granted one may be spelt otherwise.
        var scope: Scope
        /// Further parameters.
        var parameters: [String: String]
    }

    /// Whether fresh tokens can be had without the person.
    var canRefresh: Bool { tokens.refreshToken != nil || renewal != nil }

    /// What the refresh token is good for.
    var granted: Scope { grant.map { $0.union(tokens.scope) } ?? tokens.scope }

    var claims: JSONObject? {
        get { claimsText.flatMap { try? JSONValue(parsing: $0) }?.object }
        set { claimsText = newValue.map { JSONValue.object($0).text() } }
    }
}
