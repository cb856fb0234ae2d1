import Platform
import OAuth2Protocol
import StrictJSON

/// One signed-in account, as it was when it was asked for. Holds no tokens.
public struct Account: Sendable, Identifiable, Equatable {
    /// An account's identifier: opaque, stable, without meaning outside its store.
    public struct ID: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
        /// The text.
        public let rawValue: String
        /// An identifier.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The text.
        public var description: String { rawValue }
    }

    /// Why the person has to sign in again.
    public enum SignInReason: String, Sendable, Codable {
        /// The provider no longer accepts the refresh token.
        case grantGone = "grant-gone"
        /// The provider had issued new tokens, and the program was stopped, or the connection broke, before it received them.
        case answerLost = "answer-lost"
        /// The access token has expired and there is no refresh token.
        case noRefreshToken = "no-refresh-token"
        /// The provider wants the person: consent, another factor, a choice.
        case interactionRequired = "interaction-required"
        /// A scope is asked for that was not granted.
        case scopeNotGranted = "scope-not-granted"

        /// The reason in a sentence.
        public var explanation: String {
            switch self {
            case .grantGone: "the provider no longer accepts the saved sign-in"
            case .answerLost:
                "the provider had issued new tokens in an answer that never arrived, and no longer accepts the former ones"
            case .noRefreshToken: "the access token is no longer good and the provider gave no refresh token"
            case .interactionRequired: "the provider wants to ask the person something"
            case .scopeNotGranted: "a permission is needed that was not granted"
            }
        }
    }

    /// The identifier.
    public let id: ID
    /// The name of its type in the settings.
    public let type: String
    /// The issuer, when known. Issuer and subject are the identity; the name is not.
    public let issuer: String?
    /// The person's identifier at the issuer, when known.
    public let subject: String?
    /// The name that the person signs in with, when known.
    public let userName: String?
    /// The person's name, when known.
    public let displayName: String?
    /// The name that the user gave the account with ``AccountStore/rename(_:to:)``; nil when they gave none.
    public let nickname: String?
    /// The scope that was granted.
    public let scope: Scope
    /// The validated claims of the last ID token, of a sign-in or a refresh, and those of the provider's user info that it lacks.
    public let claims: JSONObject?
    /// The person's home account at Microsoft Entra, `uid.utid`, as other programs of Microsoft's identity platform name it; nil at
    /// other providers. It is the same in every tenant that the person is a guest of. Not signed by the provider: for display
    /// and for finding things, not for deciding who somebody is.
    public let homeAccountID: String?
    /// The policy of Azure AD B2C that the person signed in with, by its name in the settings; nil: the authority's own.
    public let policy: String?
    /// When the access token expires; nil when the provider did not say.
    public let accessTokenExpiry: Date?
    /// Whether the token can be renewed without the person.
    public let canRefresh: Bool
    /// Whether it is the client's own account, without a person (RFC 6749 section 4.4).
    public let isClient: Bool
    /// Why the person has to sign in again; nil when nobody has to.
    public let signInNeeded: SignInReason?
    /// When the account was first signed in.
    public let created: Date
    /// The place in the order of accounts.
    public let position: Int64

    let userDataBytes: Data?

    init(record: AccountRecord, position: Int64) {
        id = record.id
        type = record.type
        issuer = record.issuer
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
        created = record.created
        self.position = position
        userDataBytes = record.userData
    }

    /// The best name there is, for people: the user's own, else the provider's. Like ``userName``, ``displayName`` and ``claims`` it is the provider's text: make
    /// control characters visible before showing it.
    public var label: String { nickname ?? userName ?? displayName ?? subject ?? id.rawValue }

    /// The app's own data, as it was saved with ``AccountStore/setUserData(_:for:)``; nil when there is none.
    ///
    /// - Throws: `DecodingError` when it is of another type.
    public func userData<Value: Decodable>(as type: Value.Type) throws -> Value? {
        guard let userDataBytes else { return nil }
        return try JSONDecoder().decode([Value].self, from: userDataBytes).first
    }
}

extension Account.SignInReason {
    /// Reads a reason. One that only a later version knows counts as ``interactionRequired``: the remedy is the same.
    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        self = Self(rawValue: text) ?? .interactionRequired
    }
}

extension Account: Redacted {
    /// Type, identifier and state; neither names nor claims, which may end in a log.
    public var description: String {
        "account \(id) of type \(type)" + (signInNeeded.map { ", needs sign-in (\($0.rawValue))" } ?? "")
    }
}

/// An access token that is good for use now.
public struct AccessToken: Sendable, Equatable {
    /// The token.
    public let secret: Secret
    /// When it expires; nil when the provider did not say.
    public let expiry: Date?
    /// The scope that was granted.
    public let scope: Scope

    /// The type, in lower case: `bearer`, or `dpop` for one that is bound to the account's key. Each request with such a
    /// token needs a proof too: see ``AccountStore/sign(_:for:scopes:resource:rejected:)``.
    public let type: String

    /// The value of the `Authorization` field that carries it (RFC 6750 section 2.1, RFC 9449 section 7.1).
    public var authorization: String { (type == "dpop" ? "DPoP " : "Bearer ") + secret.value }
}
