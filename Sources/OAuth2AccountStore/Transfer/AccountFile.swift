import Platform
import JOSE
import OAuth2Protocol
import StrictJSON

/// Accounts in a file of another program, or of ``AccountStore/export(_:)``, read whole before anything is taken.
///
/// It recognizes these forms by their members:
/// - a token response, as a token endpoint returns it: `{"access_token": …, "refresh_token": …}`;
/// - the token cache of MSAL: `{"AccessToken": {…}, "RefreshToken": {…}, "IdToken": {…}, "Account": {…}, "AppMetadata": {…}}`;
/// - an archive of NXOAuth2Client's accounts as JSON: `{"accounts": [{"identifier": …, "accountType": …, "userData": …,
///   "accessToken": {"accessToken": …, "refreshToken": …, "expiresAt": …, "scope": […], "responseBody": …}}]}`, or that list
///   alone, or an object of accounts by identifier; `expiresAt` is in seconds since 1970 or RFC 3339 text;
/// - what ``AccountStore/export(_:)`` wrote;
/// - the decrypted token file of mutt_oauth2.py, and the decrypted credentials of oama;
/// - the configurations of oama and pizauth, which have clients but no tokens: the report names the account type to add.
public struct AccountFile: Sendable {
    /// The largest file that is read, in bytes: an export of ``maximumCount`` accounts with long tokens fits.
    public static let maximumSize = 64 << 20
    /// The longest token, in bytes. No server takes a longer one in a header field.
    static let maximumTokenSize = 256 << 10
    /// The most accounts of one file.
    public static let maximumCount = 10_000

    /// The forms.
    public enum Format: String, Sendable {
        /// A token answer.
        case tokenAnswer = "token response"
        /// The token cache of MSAL.
        case msalCache = "MSAL token cache"
        /// An archive of NXOAuth2Client's accounts.
        case archive = "NXOAuth2 archive"
        /// An export.
        case export = "export"
        /// The decrypted token file of mutt_oauth2.py.
        case muttToken = "token file of mutt_oauth2.py"
        /// The decrypted credentials of oama.
        case oamaCredentials = "credentials of oama"
        /// The configuration of oama, without tokens.
        case oamaConfiguration = "configuration of oama"
        /// The configuration of pizauth, without tokens.
        case pizauthConfiguration = "configuration of pizauth"

        /// Whether files of this form have tokens.
        public var hasTokens: Bool { self != .oamaConfiguration && self != .pizauthConfiguration }
    }

    /// The form.
    public let format: Format
    /// Where it came from, for messages.
    public let source: String
    let entries: [Entry]
    /// The contents of the file that cannot become an account.
    let left: [(location: String, name: String?, reason: String)]
    /// The clients of a configuration without tokens.
    let clients: [ConfiguredClient]

    /// Reads a file.
    ///
    /// - Throws: ``AccountFileError`` naming the place in the file. It never quotes what stands there.
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

    /// The largest configuration of a mail program's helper, in bytes.
    private static let maximumConfiguration = 256 << 10

    /// Returns the clients of a configuration without tokens; `nil` for another kind of file.
    private static func configuration(_ bytes: [UInt8]) -> (Format, [ConfiguredClient])? {
        guard bytes.count <= maximumConfiguration, let text = String(validating: bytes, as: UTF8.self) else {
            return nil
        }
        if let clients = ConfiguredClient.pizauthAccounts(in: text) { return (.pizauthConfiguration, clients) }
        let services = ConfiguredClient.oamaServices(in: text)
        return services.isEmpty ? nil : (.oamaConfiguration, services)
    }

    /// Returns whether a file is an OpenPGP message (RFC 4880): in ASCII armor, or with the packet of a session key first.
    private static func isEncrypted(_ bytes: [UInt8]) -> Bool {
        if bytes.starts(with: "-----BEGIN PGP MESSAGE-----".utf8) { return true }
        // Tags 1 and 3, in the old and in the new format.
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

    /// An account of the file, not verified.
    struct Entry: Sendable {
        var location: String
        /// The identifier in the file, for another import.
        var key: String?
        var type: String?
        var clientID: String?
        /// Whether the file has a secret of the client. The store never saves it: the settings have it.
        var hasClientSecret = false
        var host: String?
        var issuer: String?
        var subject: String?
        var userName: String?
        var displayName: String?
        var nickname: String?
        var tokens: TokenSet
        /// Whether the file has the time of receipt.
        var hasTime = false
        var userData: Data?
        var senderKey: Secret?
        var tokenOrigin: String?
        var created: Date?
        /// The scope of the refresh token, if it is more than the scope of the access token.
        var grant: Scope?
        var policy: String?
        /// The tokens of sign-ins at other policies, by the name of the policy; empty: the authority's own.
        var policySignIns: [String: PolicySignIn] = [:]
        var homeAccountID: String?
        /// The token response, if the file is one with an ID token.
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
    /// Form, source and number of accounts; nothing of what stands in it.
    public var description: String { "\(format.rawValue) \(source) with \(entries.count) accounts" }
}

/// What is wrong with a file of accounts: where, what was expected and what stood there. Never holds what stood there itself.
public struct AccountFileError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The file.
    public var source: String
    /// The place in it: `RefreshToken[2].secret`, `line 7`; nil for the file as a whole.
    public var location: String?
    /// What was expected.
    public var expected: String
    /// What stood there, by its kind.
    public var found: String
    /// Whether the file is encrypted with GPG, and can be read after its decryption.
    public var isEncrypted = false

    /// File, place, expected and found, in a line.
    public var description: String {
        "\(source)\(location.map { ", \($0)" } ?? ""): expected \(expected), found \(found)"
    }
}

extension AccountFileError: LocalizedError {
    /// The failure in a sentence, for an alert.
    public var errorDescription: String? { "Cannot read the accounts in the file." }
    /// The reason in a sentence.
    public var failureReason: String? { description.sentence }
    /// The remedy in a sentence.
    public var recoverySuggestion: String? {
        isEncrypted ? "Decrypt the file, and use the result." : "Choose another file, or export the accounts again."
    }
}
