/// The accounts of a type by what an account of a file may be known by, so that each is found without going through all.
///
/// Where several would be found, it is the first one in the store's order.
struct AccountMatcher {
    private var digests: [String: Account.ID] = [:]
    private var tokens: [String: Account.ID] = [:]
    private var people: [Person: Account.ID] = [:]
    private var homes: [String: Account.ID] = [:]
    private var keys: [String: Account.ID] = [:]
    /// What to call a person who is signed in; nil when nobody is.
    private(set) var anybody: String?

    private struct Person: Hashable {
        let issuer: String?
        let subject: String
    }

    /// Takes an account in. The client's own belong to nobody, and no file has them.
    mutating func add(_ record: AccountRecord) {
        guard record.serviceGrant == nil else { return }
        anybody = anybody ?? Account(record: record, position: 0).label
        func note(_ key: String?, _ names: inout [String: Account.ID]) {
            if let key, names[key] == nil { names[key] = record.id }
        }
        note(record.imported?.digest, &digests)
        note(record.tokens.identifying, &tokens)
        note(record.homeAccountID, &homes)
        note(record.imported?.key, &keys)
        note("export:\(record.id)", &keys)
        guard let subject = record.subject else { return }
        let person = Person(issuer: record.issuer, subject: subject)
        if people[person] == nil { people[person] = record.id }
    }

    /// Takes an account out, as it was taken in.
    mutating func remove(_ record: AccountRecord) {
        func forget(_ key: String?, _ names: inout [String: Account.ID]) {
            if let key, names[key] == record.id { names[key] = nil }
        }
        forget(record.imported?.digest, &digests)
        forget(record.tokens.identifying, &tokens)
        forget(record.homeAccountID, &homes)
        forget(record.imported?.key, &keys)
        forget("export:\(record.id)", &keys)
        guard let subject = record.subject else { return }
        let person = Person(issuer: record.issuer, subject: subject)
        if people[person] == record.id { people[person] = nil }
    }

    /// The account in the store that one of a file is: the same tokens, the same person, or the same import.
    func account(of entry: AccountFile.Entry, _ mark: ImportOrigin) -> Account.ID? {
        if let same = digests[mark.digest] ?? tokens[entry.tokens.identifying] { return same }
        if let subject = entry.subject, let same = people[Person(issuer: entry.issuer, subject: subject)] {
            return same
        }
        // Of two people with one home account the subject tells more.
        if entry.subject == nil, let home = entry.homeAccountID, let same = homes[home] { return same }
        return mark.key.flatMap { keys[$0] }
    }
}

extension TokenSet {
    /// By what these are the same tokens as others: the refresh token, else the access token.
    fileprivate var identifying: String { refreshToken.map { "r\($0.value)" } ?? "a\(accessToken.value)" }

    /// Whether these are the same tokens.
    func holds(_ other: TokenSet) -> Bool { identifying == other.identifying }
}
