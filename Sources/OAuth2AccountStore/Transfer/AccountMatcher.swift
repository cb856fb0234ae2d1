/// An index of the accounts of a type by all values that can identify an account of a file, so that an import reads the
/// accounts only once.
///
/// If several accounts match, it returns the first one in the store's order.
struct AccountMatcher {
    private enum Mark: Hashable {
        case digest(String)
        case tokens(String)
        case identity(issuer: String?, subject: String)
        case homeAccount(String)
        case importKey(String)
    }
    private var accounts: [Mark: Account.ID] = [:]
    /// The label of any user who is signed in.
    private(set) var anyUser: String?

    /// Adds an account to the index. Skips the client's own account, which has no user and is never in a file.
    mutating func add(_ record: AccountRecord) {
        guard record.serviceGrant == nil else { return }
        anyUser = anyUser ?? Account(record: record, position: 0).label
        for mark in Self.marks(of: record) where accounts[mark] == nil { accounts[mark] = record.id }
    }

    mutating func remove(_ record: AccountRecord) {
        for mark in Self.marks(of: record) where accounts[mark] == record.id { accounts[mark] = nil }
    }

    private static func marks(of record: AccountRecord) -> [Mark] {
        [
            record.imported.map { .digest($0.digest) }, .tokens(record.tokens.identifyingToken),
            record.subject.map { .identity(issuer: record.issuer, subject: $0) },
            record.homeAccountID.map { .homeAccount($0) }, record.imported?.key.map { .importKey($0) },
            .importKey("export:\(record.id)"),
        ].compactMap(\.self)
    }

    /// Returns the account with the same tokens, the same user or the same import, or `nil` if no account matches.
    func account(of entry: AccountFile.Entry, _ origin: ImportOrigin) -> Account.ID? {
        let marks: [Mark?] = [
            .digest(origin.digest), .tokens(entry.tokens.identifyingToken),
            entry.subject.map { .identity(issuer: entry.issuer, subject: $0) },
            // A home account can have several users. The subject identifies the user.
            entry.subject == nil ? entry.homeAccountID.map { .homeAccount($0) } : nil,
            origin.key.map { .importKey($0) },
        ]
        return marks.lazy.compactMap { $0 }.compactMap { accounts[$0] }.first
    }
}

extension TokenSet {
    /// The token that identifies the tokens: the refresh token, or the access token if there is no refresh token.
    fileprivate var identifyingToken: String { refreshToken.map { "r\($0.value)" } ?? "a\(accessToken.value)" }

    /// Returns whether two sets have the same identifying token.
    func holds(_ other: TokenSet) -> Bool { identifyingToken == other.identifyingToken }
}
