import LodgePlatform
import SealedStorage

/// The current and the previous account of each type, and the active account of the store.
struct ActiveAccounts: Sendable {
    let repository: AccountRepository
    private var storage: any AccountStorage { repository.storage }

    /// Returns all accounts, or the accounts of one type, in a stable order. Skips damaged records.
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
        // The newest one is damaged, so return the newest of the others.
        return try await accounts(ofType: type).last
    }

    /// Returns the account that was made current last. If it was removed, or its type is not one of these types,
    /// returns the newest of their current accounts.
    func active(ofTypes types: [String]) async throws -> Account? {
        // Two settings files can share a store.
        if let account = try await account(named: Self.active), types.contains(account.type) { return account }
        var newest: Account?
        for type in types {
            do {
                guard let account = try await current(ofType: type) else { continue }
                if account.position > newest?.position ?? .min { newest = account }
            } catch let error as AccountStoreError where error.kind == .damagedRecord {
                // An account with a damaged record is not replaced by another account of its type. An account of
                // another type can be active.
            }
        }
        return newest
    }

    func previous(ofType type: String, includingSignedOut: Bool) async throws -> Account? {
        if includingSignedOut, let account = try await signedOut(ofType: type) { return account }
        guard let account = try await account(named: Self.previous(type), ofType: type) else { return nil }
        // If the account that followed it was removed, it can be the current account again.
        return try await isCurrent(account) ? nil : account
    }

    /// Saves the identity of an account on a shared device, before the account is removed.
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

    /// Returns the account of a type that was signed out last, or `nil` if its user is signed in again.
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

    /// Returns whether an account is the current account of its type. Returns `false` if the record of the current
    /// account is damaged.
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
        let values = try await values(makingCurrent: account.id, ofType: account.type)
        // Save "previous" first, so that a crash between the two writes keeps the current account.
        for name in [Self.active, Self.previous(account.type), Self.current(account.type)] {
            if let value = values[name] { try await storage.setValue(value, for: name) }
        }
    }

    /// Returns the values to set so that an account becomes the active one and the current one of its type. The caller holds the
    /// type's lock, and sets them before it releases the lock.
    func values(makingCurrent id: Account.ID, ofType type: String) async throws -> [String: [UInt8]] {
        let id = Array(id.rawValue.utf8)
        var values: [String: [UInt8]] = [:]
        if try await storage.value(Self.active) != id { values[Self.active] = id }
        let former = try await storage.value(Self.current(type))
        guard former != id else { return values }
        values[Self.previous(type)] = former
        values[Self.current(type)] = id
        return values
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
