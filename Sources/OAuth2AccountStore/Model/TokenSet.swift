import OAuth2Protocol
import Platform
import StrictJSON

/// An access token with what came with it, as it is stored.
struct TokenSet: Codable, Sendable, Equatable {
    var accessToken: Secret
    var refreshToken: Secret?
    var idToken: Secret?
    var scope: Scope
    /// The type, in lower case; `nil`: Bearer.
    var type: String?
    /// When the response arrived.
    var received: Date
    /// The lifetime that the provider sent, in seconds.
    var lifetime: Int?
    /// When an early refresh should be tried, in seconds after `received`: Entra's `refresh_in`.
    var refreshIn: Int?
    /// The additional members of the response, as JSON text. Some providers send more tokens there.
    var additional: Secret?
    var key = TokenKey.main

    private enum CodingKeys: CodingKey {
        case accessToken, refreshToken, idToken, scope, type, received, lifetime, refreshIn, additional
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

    /// Removes every token. The account cannot be used without a new sign-in.
    mutating func removeAll() {
        accessToken = Secret("")
        (refreshToken, idToken, additional, refreshIn) = (nil, nil, nil, nil)
    }

    /// Returns these tokens after a refresh: members that the response does not have remain (RFC 6749 section 6).
    func refreshed(by new: TokenSet) -> TokenSet {
        var tokens = new.key.isMain ? new : self
        tokens.refreshToken = new.refreshToken ?? refreshToken
        tokens.idToken = new.idToken ?? idToken
        return tokens
    }

    /// The minimum time before an early refresh, in seconds, whatever the provider sends: a safeguard against storms.
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

    /// Returns whether an early refresh should be tried.
    func isDueEarly(at now: Date) -> Bool {
        refreshIn.map { now.timeIntervalSince(received) >= Double($0) } ?? false
    }

    var expiry: Date? { lifetime.map { received.addingTimeInterval(Double($0)) } }

    /// How long a token of unknown lifetime is used if it can be refreshed, in seconds.
    private static let assumedLifetime = 3600.0

    /// Returns whether the access token is valid for at least `validity` seconds.
    ///
    /// The default is a minute, or a fifth of a short lifetime. More than four fifths of the lifetime count as four fifths;
    /// otherwise each call would refresh the token.
    ///
    /// - Parameter renewable: whether the token can be refreshed; `nil`: if it has a refresh token.
    func isFresh(at now: Date, for validity: Double?, renewable: Bool? = nil) -> Bool {
        // An import can have the refresh token alone.
        guard !accessToken.value.isEmpty else { return false }
        let renewable = renewable ?? (refreshToken != nil)
        let age = now.timeIntervalSince(received)
        // A clock that was set back makes a token look younger than it is. It is refreshed if it can be; if not, the resource
        // decides: a wrong clock signs no user out.
        guard age > -60 else { return !renewable }
        guard let lifetime = lifetime.map(Double.init) else { return !renewable || age < Self.assumedLifetime }
        let margin = validity.map { min(max($0, 0), lifetime * 4 / 5) } ?? min(60, lifetime / 5)
        return age + margin < lifetime
    }
}

/// Identifies an access token of an account by what it was requested for.
struct TokenKey: Sendable, Hashable {
    /// The scope; `nil`: the granted scope.
    var scope: Scope?
    /// The service (RFC 8707); `nil`: those of the settings.
    var resource: String?
    /// Claims that a resource requires. No stored token has them.
    var claims: String?

    /// The access token of the sign-in.
    static let main = TokenKey()

    var isMain: Bool { self == .main }
}

/// The access tokens of an account for other scopes and resources, the newest last.
struct AdditionalTokens: Sendable, Equatable {
    static let maximumCount = 16

    var all: [TokenSet] = []
}

extension AdditionalTokens: Codable {
    /// A token in a record.
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
