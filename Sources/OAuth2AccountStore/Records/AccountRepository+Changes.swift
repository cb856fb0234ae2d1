import LodgePlatform

extension AccountRepository {
    /// Renames an account; `nil` or an empty name restores its original name.
    func rename(_ id: Account.ID, to name: String?) async throws -> Account {
        let name = name.flatMap { $0.isEmpty ? nil : $0 }
        if let name { try await checkName(name) { $0.id == id } }
        guard let saved = try await update(id, .profile, { $0.nickname = name }) else {
            throw AccountStoreError.unknownAccount(id)
        }
        return saved.account
    }

    /// Throws if a name is too long or contains control characters, or if another account has it.
    func checkName(_ name: String, ofAccount isOwn: (Account) -> Bool) async throws {
        func rejection(_ reason: String) -> AccountStoreError {
            AccountStoreError(
                .settings, what: "cannot rename the account", reason: reason, remedy: .nothing,
                hint: "choose another name")
        }
        let isVisible = name.unicodeScalars.allSatisfy {
            ![.control, .format, .lineSeparator, .paragraphSeparator].contains($0.properties.generalCategory)
        }
        guard name.utf8.count <= 200, isVisible else {
            throw rejection("expected a name of at most 200 bytes, without control characters")
        }
        let isTaken = try await ActiveAccounts(repository: self).accounts(ofType: nil).contains { other in
            let names = [other.nickname, other.userName, other.id.rawValue]
            return !isOwn(other) && names.contains { $0?.lowercased() == name.lowercased() }
        }
        guard !isTaken else { throw rejection("another account has this name") }
    }
}
