import Platform
import SealedStorage

/// The current and the previous account of each type, and the active account of the store.
struct ActiveAccounts: Sendable {
    let repository: AccountRepository
    private var storage: any AccountStorage { repository.storage }

    /// Returns all accounts, or those of one type, in a stable order. Damaged records are skipped.
    func accounts(ofType type: String?) async throws -> [Account] {
        var accounts: [Account] = []
        try await repository.reader.eachRecord(ofType: type) { sealed in
            if let record = repository.seal.open(sealed) {
                accounts.append(Account(record: record, position: sealed.position))
            }
        }
        return accounts
    }

    func current(ofType type: String) async throws -> Account? {
        if let account = try await account(named: Self.current(type), ofType: type) { return account }
        guard let last = try await storage.lastRecord(ofType: type) else { return nil }
        if let record = repository.seal.open(last) { return Account(record: record, position: last.position) }
        // The newest one is damaged: return the newest of the others.
        return try await accounts(ofType: type).last
    }

    /// Returns the account that was chosen last. If it was removed, or its type is not among these types, returns the newest current
    /// account of them.
    func active(ofTypes types: [String]) async throws -> Account? {
        // Two settings files can share a store.
        if let account = try await account(named: Self.active), types.contains(account.type) { return account }
        var newest: Account?
        for type in types {
            do {
                guard let account = try await current(ofType: type) else { continue }
                if account.position > newest?.position ?? .min { newest = account }
            } catch let error as AccountStoreError where error.kind == .damagedRecord {
                // No account acts for another one of its type. An account of another type can be active.
            }
        }
        return newest
    }

    func previous(ofType type: String, includingSignedOut: Bool) async throws -> Account? {
        if includingSignedOut, let account = try await signedOut(ofType: type) { return account }
        guard let account = try await account(named: Self.previous(type), ofType: type) else { return nil }
        // After the removal of its successor it can be the current one again.
        return try await isCurrent(account) ? nil : account
    }

    /// Saves the identity of an account of a shared device before its sign-out.
    func noteSignOut(of record: AccountRecord) async throws {
        var record = record
        record.tokens.removeAll()
        record.additionalTokens = nil
        record.policySignIns = nil
        record.senderKey = nil
        record.userData = nil
        record.claims = nil
        let name = Self.signedOut(record.type)
        try await storage.setValue(try repository.seal.seal(Array(JSONEncoder().encode(record)), for: name), for: name)
    }

    /// Returns the account of a type that was signed out last, unless its user is signed in again.
    private func signedOut(ofType type: String) async throws -> Account? {
        let name = Self.signedOut(type)
        guard let sealed = try await storage.value(name), let plain = repository.seal.open(sealed, for: name),
            let record = try? JSONDecoder().decode(AccountRecord.self, from: Data(plain))
        else { return nil }
        let account = Account(record: record, position: 0)
        let current = try await current(ofType: type)
        let isSame = current.map { $0.issuer == account.issuer && $0.subject == account.subject } ?? false
        return isSame ? nil : account
    }

    /// Returns whether an account is its type's current one. If the record of the current one is damaged, none is.
    func isCurrent(_ account: Account) async throws -> Bool {
        do {
            return try await current(ofType: account.type)?.id == account.id
        } catch let error as AccountStoreError where error.kind == .damagedRecord {
            return false
        }
    }

    func setCurrent(_ account: Account) async throws {
        let lock = try await storage.lock("type:\(account.type)", timeout: .seconds(120))
        defer { lock.release() }
        try await setCurrentLocked(account)
    }

    /// The same for a caller that holds the type's lock.
    func setCurrentLocked(_ account: Account) async throws {
        let name = Self.current(account.type)
        let id = Array(account.id.rawValue.utf8)
        let former = try await storage.value(name)
        if try await storage.value(Self.active) != id { try await storage.setValue(id, for: Self.active) }
        guard former != id else { return }
        // Save "previous" first, so that a crash between the two writes keeps the current account.
        if let former { try await storage.setValue(former, for: Self.previous(account.type)) }
        try await storage.setValue(id, for: name)
    }

    private func account(named name: String, ofType type: String? = nil) async throws -> Account? {
        guard let bytes = try await storage.value(name), let id = String(validating: bytes, as: UTF8.self),
            let account = try await repository.read(Account.ID(rawValue: id))?.account,
            type == nil || account.type == type
        else { return nil }
        return account
    }

    private static let active = "active"
    private static func current(_ type: String) -> String { "current:\(type)" }
    private static func signedOut(_ type: String) -> String { "signed-out:\(type)" }
    private static func previous(_ type: String) -> String { "previous:\(type)" }
}
