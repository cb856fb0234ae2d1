import JOSE
import OAuth2
import StrictJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The tokens of an account and what is known of them.
struct Tokens: Codable, Sendable, Equatable {
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
        additional =
            response.additional.members.isEmpty ? nil : Secret(JSONValue.object(response.additional).text())
    }

    /// These tokens after a refresh: what the answer does not have stays (RFC 6749 section 6).
    func refreshed(by response: TokenResponse, received: Date) -> Tokens {
        var tokens = Tokens(response, asked: scope, received: received)
        tokens.refreshToken = response.refreshToken ?? refreshToken
        tokens.idToken = response.idToken ?? idToken
        return tokens
    }

    var expiry: Date? { lifetime.map { received.addingTimeInterval(Double($0)) } }

    /// How long a token of unknown lifetime is used before it is renewed, when it can be, in seconds.
    private static let assumedLifetime = 3600.0

    /// Whether the access token is good for at least `validity` seconds. Without a wish, a token counts as used up shortly
    /// before its end: a minute, or a fifth of its life when it is short. A wish for more than four fifths of its life counts
    /// as those, or each call would renew the token.
    func isFresh(at now: Date, for validity: Double?) -> Bool {
        let age = now.timeIntervalSince(received)
        // A clock that was set back makes a token look younger than it is. It is renewed if it can be; if not, the resource
        // decides: a wrong clock signs nobody out.
        guard age > -60 else { return refreshToken == nil }
        guard let lifetime = lifetime.map(Double.init) else { return refreshToken == nil || age < Self.assumedLifetime }
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
    var tokens: Tokens
    var signInNeeded: Account.SignInReason?
    var created: Date
    var userData: Data?
    /// The key that the tokens are bound to, a private JWK as text (RFC 9449).
    var senderKey: Secret?
    /// How tokens are had again without a refresh token.
    var renewal: Renewal?
    /// The name that the user gave it.
    var nickname: String?
    /// Where it came from, when it was imported.
    var imported: ImportMark?

    /// The client's own tokens: it asks for them again by itself.
    struct Renewal: Codable, Sendable, Equatable {
        /// The scope that was asked for; the granted one may be spelt otherwise.
        var scope: Scope
        /// Further parameters.
        var parameters: [String: String]
    }

    /// Whether fresh tokens can be had without the person.
    var canRenew: Bool { tokens.refreshToken != nil || renewal != nil }

    var claims: JSONObject? {
        get { claimsText.flatMap { try? JSONValue(parsing: $0) }?.object }
        set { claimsText = newValue.map { JSONValue.object($0).text() } }
    }
}

/// Seals records with AES-256-GCM. Identifier, type and revision are bound: a record copied to another account, or an old one put
/// back, does not open.
struct RecordSeal: Sendable {
    let key: SealingKey
    private static let checkText = Array("directory account store".utf8)
    private static let checkContext = Array("key-check-1".utf8)

    private static func context(_ id: String, _ type: String, _ revision: Int64) -> [UInt8] {
        // Lengths keep the parts apart.
        Array("account-1:\(id.utf8.count):\(id):\(type.utf8.count):\(type):\(revision)".utf8)
    }

    func seal(_ record: AccountRecord, revision: Int64) throws -> SealedRecord {
        let plain = try JSONEncoder().encode(record)
        let sealed = try key.seal(plain, authenticating: Self.context(record.id.rawValue, record.type, revision))
        return SealedRecord(id: record.id.rawValue, type: record.type, revision: revision, sealed: sealed)
    }

    /// The record, or nil when its seal is broken.
    func open(_ record: SealedRecord) -> AccountRecord? {
        let context = Self.context(record.id, record.type, record.revision)
        guard let plain = try? key.open(record.sealed, authenticating: context) else { return nil }
        return try? JSONDecoder().decode(AccountRecord.self, from: Data(plain))
    }

    /// A text by which the key is recognised.
    func check() throws -> [UInt8] { try key.seal(Self.checkText, authenticating: Self.checkContext) }

    /// Whether that text was made with this key.
    func matches(_ check: [UInt8]) -> Bool {
        (try? key.open(check, authenticating: Self.checkContext)) == Self.checkText
    }
}
