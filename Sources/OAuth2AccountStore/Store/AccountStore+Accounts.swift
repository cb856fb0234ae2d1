import OAuth2Protocol
import LodgePlatform
import SealedStorage
import StrictJSON

extension AccountStore {
    /// Returns all accounts, or the accounts of one type, in a stable order. Skips damaged records: see
    /// ``damagedRecords()``.
    ///
    /// - Parameter type: The name of the account type. The default is all types.
    /// - Throws: ``AccountStoreError``
    public func accounts(ofType type: String? = nil) async throws -> [Account] {
        try await AccountStoreError.wrappingErrors("cannot read the accounts") {
            try await activeAccounts.accounts(ofType: type)
        }
    }

    /// Returns the damaged records: another program changed them, or another key sealed them. Does not change them.
    ///
    /// - Throws: ``AccountStoreError``
    public func damagedRecords() async throws -> [(id: Account.ID, type: String)] {
        try await AccountStoreError.wrappingErrors("cannot read the accounts") {
            try await repository.reader.damagedRecords()
        }
    }

    /// Checks that the file of the records is not damaged. SQLite reads the complete file.
    ///
    /// - Throws: ``AccountStoreError``
    package func checkIntegrity() async throws {
        try await AccountStoreError.wrappingErrors("the store is damaged") {
            try await (storage as? SQLiteStorage)?.checkIntegrity()
        }
    }

    /// Returns the account with the given identifier, or `nil` if there is none.
    ///
    /// - Throws: ``AccountStoreError``, including if the record is damaged.
    public func account(_ id: Account.ID) async throws -> Account? {
        try await AccountStoreError.wrappingErrors("cannot read the account") { try await repository.read(id)?.account }
    }

    /// Returns a sequence of all accounts, or of the accounts of one type, in a stable order. It reads one page at a
    /// time.
    ///
    /// - Parameter type: The name of the account type. The default is all types.
    public nonisolated func accountSequence(ofType type: String? = nil) -> AccountSequence {
        AccountSequence(reader: repository.reader, type: type)
    }

    /// Returns the current account of a type: the account that signed in or was made current last. If it was removed,
    /// returns the newest account of the type.
    ///
    /// - Returns: The account, or `nil` if the type does not have an account.
    /// - Throws: ``AccountStoreError``, including if the record of the current account is damaged. No other account
    ///   replaces it.
    public func currentAccount(ofType type: String) async throws -> Account? {
        try await AccountStoreError.wrappingErrors("cannot read the accounts") {
            try await activeAccounts.current(ofType: type)
        }
    }

    /// Returns the account that signed in or was made current last, of any type. If it was removed, returns the newest
    /// of the current accounts of the types in the settings.
    ///
    /// - Throws: ``AccountStoreError``, including if the record of the active account is damaged. No other account
    ///   replaces it.
    public func activeAccount() async throws -> Account? {
        // The account of a type with invalid settings remains active: no account of another type replaces it.
        let types = settings.typeNames
        return try await AccountStoreError.wrappingErrors("cannot read the accounts") {
            try await activeAccounts.active(ofTypes: types)
        }
    }

    /// Returns the account of a type that was current before the present one, or `nil` if there was none. Compare it
    /// with ``currentAccount(ofType:)`` to find out whether another user uses the device now.
    ///
    /// On a shared device (`DeviceMode/shared`) this can be an account that was signed out, until its user signs in
    /// again. It then has its identity and names, but no tokens, claims or user data. On other devices the result is
    /// `nil` if the account was removed.
    ///
    /// - Throws: ``AccountStoreError``, including if the record is damaged.
    public func previousAccount(ofType type: String) async throws -> Account? {
        try await AccountStoreError.wrappingErrors("cannot read the accounts") {
            try await activeAccounts.previous(ofType: type, includingSignedOut: settings.deviceMode == .shared)
        }
    }

    /// Returns whether an account is the current account of its type. If the record of the current account is damaged,
    /// returns `false`.
    ///
    /// - Throws: ``AccountStoreError``
    public func isCurrent(_ account: Account) async throws -> Bool {
        try await AccountStoreError.wrappingErrors("cannot read the accounts") {
            try await activeAccounts.isCurrent(account)
        }
    }

    /// Makes an account the current account of its type, and the active account of the store.
    ///
    /// - Throws: ``AccountStoreError``
    public func makeCurrent(_ account: Account) async throws {
        try await AccountStoreError.wrappingErrors("cannot choose the account") {
            try await activeAccounts.setCurrent(account)
        }
    }

    /// Saves the app's own data with an account, sealed like the tokens, and returns the account with the data. `nil`
    /// removes it.
    ///
    /// - Throws: ``AccountStoreError``; `EncodingError` if the value cannot be encoded.
    @discardableResult
    public func setUserData(_ value: (some Encodable)?, for id: Account.ID) async throws -> Account {
        // Wrapped in an array, because some decoders reject a JSON document that is only a string or a number.
        let bytes = try value.map { try JSONEncoder().encode([$0]) }
        let saved = try await AccountStoreError.wrappingErrors("cannot save the account's data") {
            try await repository.update(id, .userData) { $0.userData = bytes }
        }
        guard let saved else { throw AccountStoreError.unknownAccount(id) }
        return saved.account
    }

    /// Sets or removes the nickname of an account, which identifies it in messages and commands, and returns the
    /// changed account.
    ///
    /// - Parameters:
    ///   - id: The account.
    ///   - name: The nickname, at most 200 bytes without control characters. `nil` or an empty string removes it.
    /// - Throws: ``AccountStoreError``: `settings` if another account of the store has this name as nickname, user name
    ///   or identifier, or if the nickname is not valid.
    public func rename(_ id: Account.ID, to name: String?) async throws -> Account {
        try await AccountStoreError.wrappingErrors("cannot rename the account") {
            try await repository.rename(id, to: name)
        }
    }

    /// Checks before a sign-in, whose user is still unknown, that an account of this type can get a name with
    /// ``rename(_:to:)``.
    ///
    /// - Throws: ``AccountStoreError``
    package func checkName(_ name: String, forSignInTo type: String) async throws {
        try await AccountStoreError.wrappingErrors("cannot rename the account") {
            try await repository.checkName(name) { $0.type == type }
        }
    }

    /// Removes an account from this store without a request to the provider: see
    /// ``signOut(_:revoking:endingBrowserSession:)``. Does nothing if there is no such account.
    ///
    /// - Throws: ``AccountStoreError``
    public func remove(_ id: Account.ID) async throws { try await remover.remove(id) }

    /// Signs an account out: removes it from this store, revokes its tokens at the provider, and ends the browser
    /// session.
    ///
    /// Without revocation and without a browser session to end, the store sends no request.
    ///
    /// - Parameters:
    ///   - id: The account.
    ///   - revoking: Whether to revoke the tokens (RFC 7009). The default is `true`.
    ///   - endingBrowserSession: Whether to open the provider's logout page in the browser. The default is to do so
    ///     only on a shared device, and only if `revoking` is `true`.
    /// - Returns: The result of each step. The account is removed from this store even if the provider cannot be
    ///   reached.
    /// - Throws: ``AccountStoreError`` if the account cannot be removed. Nothing changed then.
    @discardableResult
    public func signOut(
        _ id: Account.ID, revoking: Bool = true, endingBrowserSession: Bool? = nil
    ) async throws -> SignOutReport {
        try await remover.signOut(id, revoking: revoking, endingBrowserSession: endingBrowserSession)
    }

    /// Saves the result of a client registration, sealed like the accounts. `nil` removes it.
    ///
    /// - Throws: ``AccountStoreError`` if it cannot be saved. Delete the registration at the provider then, or write
    ///   down its client identifier.
    package func keepRegistration(_ client: RegisteredClient?, ofType type: String) async throws {
        try await AccountStoreError.wrappingErrors("cannot keep the registration") {
            try await RegisteredClient.save(client, ofType: type, repository)
        }
    }

    /// Returns the registration of a type's client, or `nil` if this store did not register the client.
    ///
    /// - Throws: ``AccountStoreError``, including if the record is damaged.
    package func registration(ofType type: String) async throws -> RegisteredClient? {
        try await AccountStoreError.wrappingErrors("cannot read the registration") {
            try await RegisteredClient.read(ofType: type, repository)
        }
    }
}
