import OAuth2Protocol
import LodgePlatform
import StrictJSON

/// An access token and the other members of its token response, as saved.
struct TokenSet: Codable, Sendable, Equatable {
    var accessToken: Secret
    var refreshToken: Secret?
    var idToken: Secret?
    var scope: Scope
    /// The token type in lower case; `nil` for Bearer.
    var type: String?
    /// The time when the response arrived.
    var received: Date
    /// The lifetime that the provider sent, in seconds.
    var lifetime: Int?
    /// The time of an early refresh, in seconds after `received`: Entra's `refresh_in`.
    var refreshIn: Int?
    /// The additional members of the response, as JSON. Some providers return additional tokens there.
    var additional: Secret?
    /// The claims of a claims challenge for which the token was requested, a JSON object.
    var claims: String?
    var key = TokenKey.main

    private enum CodingKeys: CodingKey {
        case accessToken, refreshToken, idToken, scope, type, received, lifetime, refreshIn, additional, claims
    }

    init(_ response: TokenResponse, requested: Scope, received: Date) {
        accessToken = response.accessToken
        refreshToken = response.refreshToken
        idToken = response.idToken
        scope = response.scope ?? requested
        type = response.tokenType == "bearer" ? nil : response.tokenType
        self.received = received
        lifetime = response.expiresIn.map { Int($0.components.seconds) }
        refreshIn = Self.refreshIn(response)
        additional =
            response.additional.members.isEmpty ? nil : Secret(JSONValue.object(response.additional).text())
    }

    /// Removes all tokens. The account then needs a sign-in.
    mutating func removeAll() {
        accessToken = Secret("")
        (refreshToken, idToken, additional, refreshIn, claims) = (nil, nil, nil, nil, nil)
    }

    /// Returns these tokens after a refresh. Values that the response does not have remain (RFC 6749 section 6).
    func refreshed(by new: TokenSet) -> TokenSet {
        var tokens = new.key.isMain ? new : self
        tokens.refreshToken = new.refreshToken ?? refreshToken
        tokens.idToken = new.idToken ?? idToken
        return tokens
    }

    /// The minimum time before an early refresh, in seconds. It limits the requests if a provider sends a very small
    /// value.
    private static let minimumRefreshIn = 60.0

    /// Returns `refresh_in` if it is a number of seconds within the lifetime.
    private static func refreshIn(_ response: TokenResponse) -> Int? {
        let value = response.additional["refresh_in"]
        guard let seconds = value?.number?.double ?? value?.string.flatMap(Double.init), seconds >= 1,
            case let seconds = max(seconds, Self.minimumRefreshIn),
            seconds < Double(response.expiresIn?.components.seconds ?? Int64(TokenResponse.maximumLifetime))
        else { return nil }
        return Int(seconds)
    }

    /// Returns whether it is time for an early refresh.
    func isDueEarly(at now: Date) -> Bool {
        refreshIn.map { now.timeIntervalSince(received) >= Double($0) } ?? false
    }

    var expiry: Date? { lifetime.map { received.addingTimeInterval(Double($0)) } }

    /// The assumed lifetime of a token that can be refreshed and whose lifetime is unknown, in seconds.
    private static let assumedLifetime = 3600.0

    /// Returns whether the access token is valid for at least `validity` seconds.
    ///
    /// The default is a minute, or a fifth of a short lifetime. The maximum is four fifths of the lifetime, because
    /// otherwise each call would refresh the token.
    ///
    /// - Parameter renewable: Whether the token can be refreshed. The default is whether it has a refresh token.
    func isFresh(at now: Date, for validity: Double?, renewable: Bool? = nil) -> Bool {
        // An imported account can have only a refresh token.
        guard !accessToken.value.isEmpty else { return false }
        let renewable = renewable ?? (refreshToken != nil)
        let age = now.timeIntervalSince(received)
        // After the clock was set back, the token seems to be from the future and its age is unknown. Refresh it if
        // possible. Otherwise let the resource decide: a wrong clock must not sign a user out.
        guard age > -60 else { return !renewable }
        guard let lifetime = lifetime.map(Double.init) else { return !renewable || age < Self.assumedLifetime }
        let margin = validity.map { min(max($0, 0), lifetime * 4 / 5) } ?? min(60, lifetime / 5)
        return age + margin < lifetime
    }
}

/// The key of an access token in the cache of an account: the scope, resource and claims of its request.
struct TokenKey: Sendable, Hashable {
    /// The scope. The default is the granted scope.
    var scope: Scope?
    /// The URL of the service (RFC 8707). The default is the resources of the settings.
    var resource: String?
    /// The claims that a resource requires. They are not part of the key of a saved token.
    var claims: String?

    /// The key of the access token of the sign-in.
    static let main = TokenKey()

    var isMain: Bool { scope == nil && resource == nil && claims == nil }
}

/// The access tokens of an account for other scopes and resources, in order of their age, the oldest first.
struct AdditionalTokens: Sendable, Equatable {
    static let maximumCount = 16

    var all: [TokenSet] = []
}

extension AdditionalTokens: Codable {
    /// The saved form of a token in a record.
    private struct Entry: Codable {
        struct Key: Codable {
            let scope: [String]
            let resource: String?
        }
        let key: Key
        /// The requested scope. Earlier versions require this member.
        let asked: Scope
        let tokens: TokenSet
    }

    init(from decoder: any Decoder) throws {
        all = try [Entry](from: decoder).map { entry in
            var token = entry.tokens
            token.key = TokenKey(scope: Scope(entry.key.scope), resource: entry.key.resource)
            return token
        }
    }

    func encode(to encoder: any Encoder) throws {
        let entries = all.map { token in
            let scope = token.key.scope ?? []
            return Entry(key: .init(scope: scope.tokens, resource: token.key.resource), asked: scope, tokens: token)
        }
        try entries.encode(to: encoder)
    }
}
