import LodgePlatform
import OAuth2Protocol
import StrictJSON

/// A signed-in account at the time when it was read. It has no tokens.
public struct Account: Sendable, Identifiable, Equatable {
    /// The identifier of an account: opaque, stable, and only valid in its store.
    public struct ID: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
        /// The identifier as text.
        public let rawValue: String
        /// Creates an identifier from its text.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The identifier as text.
        public var description: String { rawValue }
    }

    /// The reason why the user must sign in again.
    public enum SignInReason: String, Sendable, Codable {
        /// The provider no longer accepts the refresh token.
        case grantGone = "grant-gone"
        /// The provider issued new tokens, but the process ended or the connection broke before they arrived.
        case answerLost = "answer-lost"
        /// The access token has expired and there is no refresh token.
        case noRefreshToken = "no-refresh-token"
        /// The provider requires the user: for consent, another factor or a choice.
        case interactionRequired = "interaction-required"
        /// The requested scope was not granted.
        case scopeNotGranted = "scope-not-granted"

        /// The reason as a phrase, for messages.
        public var explanation: String {
            switch self {
            case .grantGone: "the provider no longer accepts the saved sign-in"
            case .answerLost:
                "the response with the new tokens was lost, and the provider no longer accepts the previous ones"
            case .noRefreshToken: "the access token is no longer valid, and there is no refresh token"
            case .interactionRequired: "the provider requires input from the user"
            case .scopeNotGranted: "a permission is needed that was not granted"
            }
        }
    }

    /// The identifier.
    public let id: ID
    /// The name of the account type in the settings.
    public let type: String
    /// The issuer, if known. Issuer and subject identify the user; user name and display name do not.
    public let issuer: String?
    /// The issuer that the redirect of the sign-in named (RFC 9207), for a type without an issuer in the settings. The
    /// store did not verify it: do not use it to identify the provider.
    public let redirectIssuer: String?
    /// The user's identifier at the issuer, if known.
    public let subject: String?
    /// The user name for sign-ins at the provider, if known.
    public let userName: String?
    /// The user's display name, if known.
    public let displayName: String?
    /// The nickname of the account, from ``AccountStore/rename(_:to:)``.
    public let nickname: String?
    /// The granted scope.
    public let scope: Scope
    /// The validated claims of the last ID token, from a sign-in or a refresh, and the additional claims of userinfo.
    public let claims: JSONObject?
    /// The user's home account at Microsoft Entra: `uid.utid`, as in MSAL; `nil` at other providers.
    ///
    /// It is the same in every tenant in which the user is a guest. The provider does not sign it: do not use it to
    /// authenticate a user.
    public let homeAccountID: String?
    /// The policy of Azure AD B2C of the sign-in, by its name in the settings; `nil` for the default policy of the
    /// authority.
    public let policy: String?
    /// The expiry of the access token, if the provider sent it.
    public let accessTokenExpiry: Date?
    /// Whether the store can refresh the token without the user.
    public let canRefresh: Bool
    /// Whether the account belongs to the client itself, without a user (RFC 6749 section 4.4).
    public let isClient: Bool
    /// The reason why the user must sign in again; `nil` if no sign-in is necessary.
    public let signInNeeded: SignInReason?
    /// The claims that a resource requires of the next sign-in, for ``SignInOptions/claims``, if any.
    public let requiredClaims: String?
    /// The time of the first sign-in.
    public let created: Date
    /// The position of the account in the stable order of all accounts.
    public let position: Int64

    /// Whether its tokens are bound to a key of the store (RFC 9449), so that other programs cannot use them.
    package let isKeyBound: Bool

    let userDataBytes: Data?

    init(record: AccountRecord, position: Int64) {
        id = record.id
        type = record.type
        issuer = record.issuer
        redirectIssuer = record.redirectIssuer
        subject = record.subject
        userName = record.userName
        displayName = record.displayName
        nickname = record.nickname
        scope = record.tokens.scope
        claims = record.claims
        homeAccountID = record.homeAccountID
        policy = record.policy
        accessTokenExpiry = record.tokens.expiry
        canRefresh = record.canRefresh
        isClient = record.serviceGrant != nil
        signInNeeded = record.signInNeeded
        requiredClaims = record.requiredClaims
        created = record.created
        isKeyBound = record.senderKey != nil || record.tokens.type == "dpop"
        self.position = position
        userDataBytes = record.userData
    }

    /// Returns ``signInNeeded``, or `noRefreshToken` if the access token has expired and the store cannot refresh it.
    package func signInReason(at now: Date) -> SignInReason? {
        if let signInNeeded { return signInNeeded }
        guard let accessTokenExpiry, accessTokenExpiry < now, !canRefresh else { return nil }
        return .noRefreshToken
    }

    /// The best name for display: the nickname, otherwise a name from the provider.
    ///
    /// Escape control characters before you show it. Like ``userName``, ``displayName`` and ``claims`` it can be the
    /// provider's text.
    public var label: String { nickname ?? userName ?? displayName ?? subject ?? id.rawValue }

    /// Returns the app's own data from ``AccountStore/setUserData(_:for:)``, or `nil` if the account has no data.
    ///
    /// - Throws: `DecodingError` if the data does not decode as this type.
    public func userData<Value: Decodable>(as type: Value.Type) throws -> Value? {
        guard let userDataBytes else { return nil }
        return try JSONDecoder().decode([Value].self, from: userDataBytes).first
    }
}

extension Account.SignInReason {
    /// Creates a reason by decoding it. An unknown reason of a later version becomes ``interactionRequired``, because
    /// the remedy is the same.
    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        self = Self(rawValue: text) ?? .interactionRequired
    }
}

extension Account: Redacted {
    /// The type, the identifier and the state, without names and claims.
    public var description: String {
        "account \(id) of type \(type)" + (signInNeeded.map { ", needs sign-in (\($0.rawValue))" } ?? "")
    }
}

/// A valid access token.
public struct AccessToken: Sendable, Equatable {
    /// The token.
    public let secret: Secret
    /// The expiry, if the provider sent it.
    public let expiry: Date?
    /// The granted scope.
    public let scope: Scope

    /// The token type in lower case: `bearer`, or `dpop` for a token that is bound to the account's key. Each request
    /// with a `dpop` token also needs a proof: see ``AccountStore/sign(_:for:scopes:resource:rejected:)``.
    public let type: String

    /// The lifetime that the provider sent, in seconds.
    package let lifetime: Double?
    /// The time at which the provider asks for a refresh, before the token expires.
    package let refreshTime: Date?

    init(
        secret: Secret, expiry: Date?, scope: Scope, type: String, lifetime: Double? = nil, refreshTime: Date? = nil
    ) {
        (self.secret, self.expiry, self.scope, self.type) = (secret, expiry, scope, type)
        (self.lifetime, self.refreshTime) = (lifetime, refreshTime)
    }

    /// The value of the `Authorization` header field (RFC 6750 section 2.1, RFC 9449 section 7.1).
    public var authorization: String { (type == "dpop" ? "DPoP " : "Bearer ") + secret.value }
}
