import Platform

extension AccountStore {
    /// The account of a type that was the current one before the present one; nil when there was none, or when it was removed. With
    /// ``currentAccount(ofType:)`` a program sees that another person uses the device now.
    ///
    /// - Throws: ``AccountStoreError``, also when its record is damaged.
    public func previousAccount(ofType type: String) async throws -> Account? {
        let former = try await failing("cannot read the accounts") { try await storage.value(Self.previous(type)) }
        guard let former, let id = String(validating: former, as: UTF8.self),
            let account = try await account(Account.ID(rawValue: id)), account.type == type
        else { return nil }
        // When the one after it was removed, it may be the present one again.
        return try await isCurrent(account) ? nil : account
    }

    /// Whether an account is its type's current one. When the record of that one is damaged, none is.
    ///
    /// - Throws: ``AccountStoreError``
    public func isCurrent(_ account: Account) async throws -> Bool {
        do {
            return try await currentAccount(ofType: account.type)?.id == account.id
        } catch let error as AccountStoreError where error.kind == .damagedRecord {
            return false
        }
    }

    /// Makes an account its type's current one, and the one that was it the previous one.
    func setCurrent(_ account: Account) async throws {
        let lock = try await storage.lock("type:\(account.type)", timeout: .seconds(120))
        defer { lock.release() }
        try await setCurrentLocked(account)
    }

    /// The same with the type's lock held.
    func setCurrentLocked(_ account: Account) async throws {
        let name = "current:\(account.type)"
        let id = Array(account.id.rawValue.utf8)
        let former = try await storage.value(name)
        guard former != id else { return }
        // First this one: a process that ends in between leaves the current account as it was.
        if let former { try await storage.setValue(former, for: Self.previous(account.type)) }
        try await storage.setValue(id, for: name)
    }

    private static func previous(_ type: String) -> String { "previous:\(type)" }
}
