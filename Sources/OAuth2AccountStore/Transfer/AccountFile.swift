import LodgePlatform
import JOSE
import OAuth2Protocol
import StrictJSON

/// A file with accounts of another program, or from ``AccountStore/export(_:)``. The complete file is parsed before an
/// import.
///
/// It recognizes these formats by their members:
/// - a token response of a token endpoint: `{"access_token": …, "refresh_token": …}`;
/// - the token cache of MSAL: `{"AccessToken": {…}, "RefreshToken": {…}, "IdToken": {…}, "Account": {…}, "AppMetadata":
///   {…}}`;
/// - an archive of NXOAuth2Client's accounts as JSON: `{"accounts": [{"identifier": …, "accountType": …, "userData": …,
///   "accessToken": {"accessToken": …, "refreshToken": …, "expiresAt": …, "scope": […], "responseBody": …}}]}`, or only
///   that list, or an object of accounts by identifier; `expiresAt` is a number of seconds since 1970 or an RFC 3339
///   time;
/// - an export of ``AccountStore/export(_:)``;
/// - the decrypted token file of mutt_oauth2.py, and the decrypted credentials of oama;
/// - the configurations of oama and pizauth, which have clients but no tokens: the report names the account type to
///   add.
public struct AccountFile: Sendable {
    /// The maximum size of a file, in bytes. An export of ``maximumCount`` accounts with long tokens fits.
    public static let maximumSize = 64 << 20
    /// The maximum size of a token, in bytes. No server accepts a longer token in a header field.
    static let maximumTokenSize = 256 << 10
    /// The maximum number of accounts in a file.
    public static let maximumCount = 10_000

    /// The formats of files.
    public enum Format: String, Sendable {
        /// A token response (RFC 6749 section 5.1).
        case tokenAnswer = "token response"
        /// The token cache of MSAL.
        case msalCache = "MSAL token cache"
        /// An archive of NXOAuth2Client's accounts.
        case archive = "NXOAuth2 archive"
        /// An export of ``AccountStore/export(_:)``.
        case export = "export"
        /// The decrypted token file of mutt_oauth2.py.
        case muttToken = "token file of mutt_oauth2.py"
        /// The decrypted credentials of oama.
        case oamaCredentials = "credentials of oama"
        /// The configuration of oama, without tokens.
        case oamaConfiguration = "configuration of oama"
        /// The configuration of pizauth, without tokens.
        case pizauthConfiguration = "configuration of pizauth"

        /// Whether files of this format have tokens.
        public var hasTokens: Bool { self != .oamaConfiguration && self != .pizauthConfiguration }
    }

    /// The format of the file.
    public let format: Format
    /// The origin of the file, such as its path, for messages.
    public let source: String
    let entries: [Entry]
    /// The contents of the file that cannot become an account.
    let left: [(location: String, name: String?, reason: String)]
    /// The clients of a configuration, which has no tokens.
    let clients: [ConfiguredClient]

    /// Creates the accounts by parsing a file.
    ///
    /// - Parameters:
    ///   - bytes: The content of the file.
    ///   - source: The origin of the file, such as its path, for messages.
    /// - Throws: ``AccountFileError`` with the location in the file. It never contains values of the file.
    public init(parsing bytes: [UInt8], source: String) throws(AccountFileError) {
        self.source = source
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue(parsing: bytes, options: JSONReadingOptions(rejectsDuplicates: true))
        } catch {
            guard !Self.isEncrypted(bytes) else {
                throw AccountFileError(
                    source: source, location: nil, expected: "JSON", found: "a file that is encrypted with GPG",
                    isEncrypted: true)
            }
            if let (format, clients) = Self.configuration(bytes) {
                (self.format, self.clients, entries, left) = (format, clients, [], [])
                return
            }
            let line = bytes.prefix(error.offset).count { $0 == 0x0A } + 1
            throw AccountFileError(
                source: source, location: "line \(line)", expected: "JSON", found: error.reason)
        }
        let reader = AccountFileReader(source: source)
        format = try Self.format(of: value, reader)
        let contents: AccountFileReader.Contents
        switch format {
        case .tokenAnswer: contents = try reader.tokenAnswer(reader.object(value))
        case .msalCache: contents = try reader.msalCache(reader.object(value))
        case .archive: contents = try reader.archive(value)
        case .export: contents = try reader.export(reader.object(value))
        case .muttToken: contents = try reader.muttToken(reader.object(value))
        case .oamaCredentials: contents = try reader.oamaCredentials(reader.object(value))
        case .oamaConfiguration, .pizauthConfiguration: contents = AccountFileReader.Contents()
        }
        guard contents.entries.count <= Self.maximumCount else {
            throw AccountFileError(
                source: source, location: nil, expected: "at most \(Self.maximumCount) accounts",
                found: "\(contents.entries.count)")
        }
        (entries, left, clients) = (contents.entries, contents.left, [])
    }

    /// The maximum size of a configuration, in bytes.
    private static let maximumConfiguration = 256 << 10

    /// Returns the clients of a configuration without tokens, or `nil` if the file is not such a configuration.
    private static func configuration(_ bytes: [UInt8]) -> (Format, [ConfiguredClient])? {
        guard bytes.count <= maximumConfiguration, let text = String(validating: bytes, as: UTF8.self) else {
            return nil
        }
        if let clients = ConfiguredClient.pizauthAccounts(in: text) { return (.pizauthConfiguration, clients) }
        let services = ConfiguredClient.oamaServices(in: text)
        return services.isEmpty ? nil : (.oamaConfiguration, services)
    }

    /// Returns whether a file is an OpenPGP message (RFC 4880): with ASCII armor, or starting with a session key
    /// packet.
    private static func isEncrypted(_ bytes: [UInt8]) -> Bool {
        if bytes.starts(with: "-----BEGIN PGP MESSAGE-----".utf8) { return true }
        // Session key packets have tags 1 and 3, in the old or the new format.
        guard let first = bytes.first else { return false }
        return (0x84...0x87).contains(first) || (0x8C...0x8F).contains(first) || first == 0xC1 || first == 0xC3
    }

    static let exportFormat = "oauth2-accounts"
    private static let msalSections = ["AccessToken", "RefreshToken", "IdToken", "Account", "AppMetadata"]

    private static func format(of value: JSONValue, _ reader: AccountFileReader) throws(AccountFileError) -> Format {
        if value.array != nil { return .archive }
        let object = try reader.object(value).json
        if object["format"]?.string == exportFormat { return .export }
        if msalSections.contains(where: { object[$0]?.object != nil }) { return .msalCache }
        if object["registration"] != nil, object["access_token_expiration"] != nil { return .muttToken }
        if object["exp_date"] != nil, object["service"] != nil { return .oamaCredentials }
        if object["access_token"] != nil || object["refresh_token"] != nil { return .tokenAnswer }
        if object["accounts"] != nil { return .archive }
        let members = object.members
        if !members.isEmpty, members.allSatisfy({ $0.value.object?["accountType"] != nil }) { return .archive }
        throw AccountFileError(
            source: reader.source, location: nil,
            expected: "a token response, a token cache of MSAL, an archive of NXOAuth2 accounts or an export",
            found: "an object of another kind")
    }

    /// An account of the file. The store has not verified it.
    struct Entry: Sendable {
        var location: String
        /// The identifier in the file, by which another import finds the account.
        var key: String?
        var type: String?
        var clientID: String?
        /// Whether the file has a secret of the client. The store does not save it, because the settings have it.
        var hasClientSecret = false
        var host: String?
        var issuer: String?
        var subject: String?
        var userName: String?
        var displayName: String?
        var nickname: String?
        var tokens: TokenSet
        /// Whether the file has the time at which the tokens were received.
        var hasTime = false
        var userData: Data?
        var senderKey: Secret?
        var tokenOrigin: String?
        var created: Date?
        /// The scope of the refresh token, if it differs from the scope of the access token.
        var grant: Scope?
        var policy: String?
        /// The tokens of sign-ins at other policies, by the name of the policy. The default policy of the authority has
        /// an empty name.
        var policySignIns: [String: PolicySignIn] = [:]
        var homeAccountID: String?
        /// The token response, if the file is a token response with an ID token.
        var tokenResponse: JSONObject?

        /// A digest that identifies the tokens.
        var digest: String {
            var text = "\(tokens.accessToken.value)\n\(tokens.refreshToken?.value ?? "")"
            for (policy, signIn) in policySignIns.sorted(by: { $0.key < $1.key }) {
                text += "\n\(policy)\n\(signIn.tokens.accessToken.value)\n\(signIn.tokens.refreshToken?.value ?? "")"
            }
            return Base64URL.encode(SHA2.sha256.digest(Array(text.utf8)))
        }
    }
}

extension AccountFile: Redacted {
    /// The format, the source and the number of accounts, without values of the file.
    public var description: String { "\(format.rawValue) \(source) with \(entries.count) accounts" }
}

/// The error of a file that cannot be parsed, with the location, the expected value and the kind of the value found. It
/// never contains values of the file.
public struct AccountFileError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The source of the file.
    public var source: String
    /// The location in the file, such as `RefreshToken[2].secret` or `line 7`; `nil` for the complete file.
    public var location: String?
    /// The expected value.
    public var expected: String
    /// The kind of the value found.
    public var found: String
    /// Whether the file is encrypted with GPG, and must be decrypted first.
    public var isEncrypted = false

    /// The source, the location, the expected value and the value found, in one line.
    public var description: String {
        "\(source)\(location.map { ", \($0)" } ?? ""): expected \(expected), found \(found)"
    }
}

extension AccountFileError: LocalizedError {
    /// The failed task in a sentence, for an alert.
    public var errorDescription: String? { "Cannot read the accounts in the file." }
    /// The reason in a sentence.
    public var failureReason: String? { description.sentence }
    /// The remedy in a sentence.
    public var recoverySuggestion: String? {
        isEncrypted ? "Decrypt the file, and use the result." : "Choose another file, or export the accounts again."
    }
}
