/// The accounts of a type by everything that can identify an account of a file, so that no search reads all accounts.
///
/// If several accounts match, the first one in the store's order counts.
struct AccountMatcher {
    private enum Mark: Hashable {
        case digest(String)
        case tokens(String)
        case identity(issuer: String?, subject: String)
        case homeAccount(String)
        case importKey(String)
    }
    private var accounts: [Mark: Account.ID] = [:]
    /// The label of a user who is signed in.
    private(set) var anyUser: String?

    /// Adds an account. The client's own account has no user, and no file has it.
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

    /// Returns the account with the same tokens, the same user or the same import.
    func account(of entry: AccountFile.Entry, _ origin: ImportOrigin) -> Account.ID? {
        let marks: [Mark?] = [
            .digest(origin.digest), .tokens(entry.tokens.identifyingToken),
            entry.subject.map { .identity(issuer: entry.issuer, subject: $0) },
            // Several users can have one home account: the subject identifies them.
            entry.subject == nil ? entry.homeAccountID.map { .homeAccount($0) } : nil,
            origin.key.map { .importKey($0) },
        ]
        return marks.lazy.compactMap { $0 }.compactMap { accounts[$0] }.first
    }
}

extension TokenSet {
    /// The refresh token, otherwise the access token.
    fileprivate var identifyingToken: String { refreshToken.map { "r\($0.value)" } ?? "a\(accessToken.value)" }

    /// Returns whether these are the same tokens.
    func holds(_ other: TokenSet) -> Bool { identifyingToken == other.identifyingToken }
}
