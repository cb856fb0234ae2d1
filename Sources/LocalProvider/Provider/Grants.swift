import StrictJSON

/// The permissions that a user granted a client.
struct Authorization: Sendable, Equatable {
    var clientID: String
    /// The position of the user, or `nil` for a client with its own permissions.
    var user: Int?
    var scopes: [String]
    var nonce: String?
    /// The time of authentication in seconds since 1970.
    var authenticatedAt: Int
    /// The policy of the sign-in. Its codes and refresh tokens are valid only there.
    var policy: String?
}

/// An authorization request that waits for the user's decision.
struct ConsentRequest: Sendable, Equatable {
    var clientID: String
    var redirectURI: String
    var scopes: [String]
    var state: String?
    var nonce: String?
    var challenge: String
    var loginHint: String?
    var responseMode = ResponseMode.query
    /// The identifier of the pushed request, which is valid until the user decides.
    var pushedRequest: String?
    /// The issuer in the response, or `nil` for a tenant, because Microsoft Entra does not return it.
    var issuer: String?
    var policy: String?
    var expiresAt: Int
}

/// The part of the response that contains the code. See OAuth 2.0 Multiple Response Types and Form Post Response Mode.
enum ResponseMode: String, Sendable, CaseIterable {
    case query
    case fragment
    case formPost = "form_post"
}

/// A dynamically registered client.
struct Registration: Sendable, Equatable {
    var client: LocalClient
    /// The token for reading and deleting the registration.
    var token: String
    var issuedAt: Int
    /// The metadata of the request.
    var metadata: JSONObject
}

/// Codes, tokens and the associated data. Only values: time and randomness are parameters.
struct Grants: Sendable {
    struct Code: Sendable {
        var authorization: Authorization
        var redirectURI: String
        var challenge: String
        var expiresAt: Int
        /// The grant issued for the code.
        var grant: String?
        var isUsed = false
    }

    struct Grant: Sendable {
        var authorization: Authorization
        var refreshToken: String?
    }

    struct AccessToken: Sendable {
        var grant: String
        var authorization: Authorization
        var expiresAt: Int
        /// Whether the client declared in the token request that it handles claims challenges.
        var handlesClaims = false
        /// The claims that the directory requires of a new token in place of this one.
        var challenge: JSONObject?
    }

    /// An authorization request that a client pushed.
    struct PushedRequest: Sendable {
        var clientID: String
        var parameters: FormFields
        var expiresAt: Int
    }

    static let codeLifetime = 60
    static let pendingLifetime = 600

    var pending = Bounded<ConsentRequest>(limit: 1_000)
    var codes = Bounded<Code>(limit: 1_000)
    var pushed = Bounded<PushedRequest>(limit: 1_000)
    var registrations = Bounded<Registration>(limit: 1_000)
    /// The identifiers of client assertions, each valid once.
    var assertions = Bounded<Int>(limit: 10_000)
    var devices = Bounded<DeviceRequest>(limit: 1_000)
    var grants = Bounded<Grant>(limit: 10_000)
    /// All issued refresh tokens with their grants, for detecting reuse.
    var refreshTokens = Bounded<String>(limit: 50_000)
    var accessTokens = Bounded<AccessToken>(limit: 50_000)
    /// The claims that the directory requires of new tokens, by grant, or by client for its own tokens.
    var challenges = Bounded<JSONObject>(limit: 1_000)

    mutating func end(_ grant: String) {
        grants[grant] = nil
        accessTokens.removeAll { $0.grant == grant }
    }

    /// Ends all grants of a client.
    mutating func endAll(of clientID: String) {
        grants.removeAll { $0.authorization.clientID == clientID }
        accessTokens.removeAll { $0.authorization.clientID == clientID }
    }

    mutating func endAll() {
        grants.removeAll()
        accessTokens.removeAll()
        codes.removeAll()
        devices.removeAll()
    }
}

/// A dictionary that drops its oldest entries when it is full.
struct Bounded<Value: Sendable>: Sendable {
    let limit: Int
    private var values: [String: Value] = [:]
    private var order: [String] = []

    init(limit: Int) { self.limit = limit }

    var count: Int { values.count }

    subscript(key: String) -> Value? {
        get { values[key] }
        set {
            let isNew = values[key] == nil
            values[key] = newValue
            guard newValue != nil, isNew else { return }
            order.append(key)
            guard order.count > limit * 2 || values.count > limit else { return }
            order.removeAll { values[$0] == nil }
            let surplus = order.count - limit * 9 / 10
            guard values.count > limit, surplus > 0 else { return }
            for key in order.prefix(surplus) { values[key] = nil }
            order.removeFirst(surplus)
        }
    }

    func first(where matches: (String, Value) -> Bool) -> (String, Value)? {
        values.first { matches($0.key, $0.value) }.map { ($0.key, $0.value) }
    }

    mutating func updateAll(_ update: (inout Value) -> Void) {
        values = values.mapValues { value in
            var value = value
            update(&value)
            return value
        }
    }

    mutating func removeAll(where matches: (Value) -> Bool = { _ in true }) {
        values = values.filter { !matches($0.value) }
        order.removeAll { values[$0] == nil }
    }
}
