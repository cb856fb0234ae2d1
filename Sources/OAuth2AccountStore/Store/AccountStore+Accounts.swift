import OAuth2Protocol
import Platform
import SealedStorage
import StrictJSON

extension AccountStore {
    /// Every account, or those of one type, in a stable order. Damaged records are left out: see ``damagedRecords()``.
    ///
    /// - Throws: ``AccountStoreError``
    public func accounts(ofType type: String? = nil) async throws -> [Account] {
        try await AccountStoreError.wrappingErrors("cannot read the accounts") {
            try await activeAccounts.accounts(ofType: type)
        }
    }

    /// The records whose seal is broken: changed from outside, or sealed with another key. They are left as they are.
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

    /// The account of this identifier, or nil.
    ///
    /// - Throws: ``AccountStoreError``, also when the record is damaged.
    public func account(_ id: Account.ID) async throws -> Account? {
        try await AccountStoreError.wrappingErrors("cannot read the account") { try await repository.read(id)?.account }
    }

    /// Every account, or those of one type, in a stable order, read a page at a time.
    public nonisolated func accountSequence(ofType type: String? = nil) -> AccountSequence {
        AccountSequence(reader: repository.reader, type: type)
    }

    /// The account of a type that is used where none is named: the one signed in or chosen last; when that is removed, the
    /// newest one.
    ///
    /// - Throws: ``AccountStoreError``, also when its record is damaged: nobody acts as somebody else unawares.
    public func currentAccount(ofType type: String) async throws -> Account? {
        try await AccountStoreError.wrappingErrors("cannot read the accounts") {
            try await activeAccounts.current(ofType: type)
        }
    }

    /// Returns the account that signed in or was made current last, of any type. If it was removed, returns the newest of the current
    /// accounts of the types in the settings.
    ///
    /// - Throws: ``AccountStoreError``. If the record of the active account is damaged, no other account replaces it.
    public func activeAccount() async throws -> Account? {
        // A type that cannot be used keeps its account active: no account of another type replaces it.
        let types = settings.typeNames
        return try await AccountStoreError.wrappingErrors("cannot read the accounts") {
            try await activeAccounts.active(ofTypes: types)
        }
    }

    /// Returns the account of a type that was the current one before the present one, or `nil` if there was none. With
    /// ``currentAccount(ofType:)`` a program sees that another user uses the device now.
    ///
    /// On a shared device (`DeviceMode/shared`) it also returns an account that was signed out, until its user signs in again: with its
    /// identity and names, without tokens, claims and user data. Otherwise an account that was removed is `nil`.
    ///
    /// - Throws: ``AccountStoreError``, also if its record is damaged.
    public func previousAccount(ofType type: String) async throws -> Account? {
        try await AccountStoreError.wrappingErrors("cannot read the accounts") {
            try await activeAccounts.previous(ofType: type, includingSignedOut: settings.deviceMode == .shared)
        }
    }

    /// Whether an account is its type's current one. When the record of that one is damaged, none is.
    ///
    /// - Throws: ``AccountStoreError``
    public func isCurrent(_ account: Account) async throws -> Bool {
        try await AccountStoreError.wrappingErrors("cannot read the accounts") {
            try await activeAccounts.isCurrent(account)
        }
    }

    /// Makes an account its type's current one, and the active account.
    ///
    /// - Throws: ``AccountStoreError``
    public func makeCurrent(_ account: Account) async throws {
        try await AccountStoreError.wrappingErrors("cannot choose the account") {
            try await activeAccounts.setCurrent(account)
        }
    }

    /// Saves the app's own data with an account, sealed with the tokens; `nil` removes it. Returns the account with the data.
    ///
    /// - Throws: ``AccountStoreError``; `EncodingError` if the value cannot be encoded.
    @discardableResult
    public func setUserData(_ value: (some Encodable)?, for id: Account.ID) async throws -> Account {
        // In an array, because some decoders reject a JSON text that is a string or a number.
        let bytes = try value.map { try JSONEncoder().encode([$0]) }
        let saved = try await AccountStoreError.wrappingErrors("cannot save the account's data") {
            try await repository.update(id, .userData) { $0.userData = bytes }
        }
        guard let saved else { throw AccountStoreError.unknownAccount(id) }
        return saved.account
    }

    /// Gives an account a name of one's own, by which it is shown and found; nil or an empty name takes it away.
    ///
    /// - Parameter name: at most 200 bytes, without control characters.
    /// - Throws: ``AccountStoreError``: `settings` when another account of the store has this name, or it is not one.
    public func rename(_ id: Account.ID, to name: String?) async throws -> Account {
        try await AccountStoreError.wrappingErrors("cannot rename the account") {
            try await repository.rename(id, to: name)
        }
    }

    /// Throws if an account of this type cannot get a name from ``rename(_:to:)``, before a sign-in whose user is still unknown.
    ///
    /// - Throws: ``AccountStoreError``
    package func checkName(_ name: String, forSignInTo type: String) async throws {
        try await AccountStoreError.wrappingErrors("cannot rename the account") {
            try await repository.checkName(name) { $0.type == type }
        }
    }

    /// Removes an account from this store without telling the provider: see ``signOut(_:revoking:endingBrowserSession:)``. Does
    /// nothing if there is no such account.
    ///
    /// - Throws: ``AccountStoreError``
    public func remove(_ id: Account.ID) async throws { try await remover.remove(id) }

    /// Signs an account out: removes it here, then asks the provider to forget its tokens, then the browser to end its session.
    ///
    /// - Parameters:
    ///   - id: the account.
    ///   - revoking: whether the provider is asked to forget the tokens.
    ///   - endingBrowserSession: whether the browser is sent where its session ends; nil: on a shared device, unless the provider
    ///     is not to be asked either. With neither of the two the network is not used.
    /// - Returns: What was done. The account is gone here even when the provider could not be reached.
    /// - Throws: ``AccountStoreError`` when the account could not be removed; then nothing was done.
    @discardableResult
    public func signOut(
        _ id: Account.ID, revoking: Bool = true, endingBrowserSession: Bool? = nil
    ) async throws -> SignOutReport {
        try await remover.signOut(id, revoking: revoking, endingBrowserSession: endingBrowserSession)
    }

    /// Keeps what a registration gave, sealed like the accounts are; nil forgets it.
    ///
    /// - Throws: ``AccountStoreError`` when it cannot be saved; then the registration should be deleted at the provider, or
    ///   its client identifier noted down.
    package func keepRegistration(_ client: RegisteredClient?, ofType type: String) async throws {
        try await AccountStoreError.wrappingErrors("cannot keep the registration") {
            try await RegisteredClient.save(client, ofType: type, repository)
        }
    }

    /// What the registration of a type's client gave; nil when it was not registered by this store.
    ///
    /// - Throws: ``AccountStoreError``, also when the record's seal is broken.
    package func registration(ofType type: String) async throws -> RegisteredClient? {
        try await AccountStoreError.wrappingErrors("cannot read the registration") {
            try await RegisteredClient.read(ofType: type, repository)
        }
    }
}
