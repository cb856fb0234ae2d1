import JOSE

/// Finds the key of a store, or creates one for a new store.
struct KeyLoader {
    let storage: any AccountStorage
    /// The key storage that the program supplied. The default is one of the locations.
    let given: (any KeyCustody)?
    let locations: KeyLocations

    static let checkName = "key-check"
    static let lockName = "key"
    static let lockTimeout = Duration.seconds(30)

    func open() async throws -> (key: SealingKey, custody: any KeyCustody) {
        // Loading the key and opening the storage both take time. Do them concurrently if the key needs no prompt.
        let first = given ?? locations.replacements["key-file"] ?? KeyFile(directory: locations.directory)
        let isEarly = first.choice == nil || first.choice == .keyFile && (locations.choice ?? .keyFile) == .keyFile
        async let early = isEarly ? first.key() : nil
        if let check = try await storage.value(Self.checkName) {
            let record = try await KeyLocationRecord.read(storage)
            var custody = try await agreed(record)
            var key = isEarly && custody.location == first.location ? try await early : nil
            // Another process can have created or moved the key since then.
            for _ in 0..<3 where key == nil {
                custody = try await agreed(KeyLocationRecord.read(storage))
                key = try await custody.key()
            }
            let found = (key: try Self.checked(key, check, custody, storage), custody: custody)
            if let record, !record.leftovers.isEmpty { await tidy(found.key) }
            return found
        }
        let lock = try await storage.lock(Self.lockName, timeout: Self.lockTimeout)
        defer { lock.release() }
        if let check = try await storage.value(Self.checkName) {
            let custody = try await agreed(KeyLocationRecord.read(storage))
            return (try Self.checked(try await custody.key(), check, custody, storage), custody)
        }
        return try await make()
    }

    /// Creates the key of a new store. First saves its location, then creates the key, then saves the key's check value
    /// in the store. Until the last step the store is new, and can get another location.
    private func make() async throws -> (key: SealingKey, custody: any KeyCustody) {
        guard try await storage.isEmpty() else {
            throw StorageError(
                .notAStore, location: storage.location,
                reason: "it has accounts, but nothing that tells which key opens them",
                hint: "restore it from a copy, or \(StorageRemedy.chooseStore(.other)); the store is unchanged")
        }
        let record = try await KeyLocationRecord.read(storage)
        let choice = given == nil ? locations.choice ?? record?.current ?? Keychain.defaultChoice : given?.choice
        // A start that was interrupted can have left a record.
        if let choice, choice.word != (record?.current ?? .keyFile).word {
            try await KeyLocationRecord(current: choice).save(storage)
        }
        let custody: any KeyCustody
        if let given {
            custody = given
        } else {
            custody = try await locations.custody(choice ?? .keyFile, storage, makesIdentity: true)
        }
        var key = try await custody.key()
        if key == nil { key = try await custody.create() }
        guard let key else { throw CancellationError() }
        try await storage.setValue(try RecordSeal(key: key).check(), for: Self.checkName)
        return (key, custody)
    }

    /// Returns the key storage of an existing store. It must match the saved location, so that the location never
    /// changes silently.
    private func agreed(_ record: KeyLocationRecord?) async throws -> any KeyCustody {
        let current = record?.current ?? .keyFile
        if let asked = given == nil ? locations.choice : given?.choice, asked.word != current.word {
            throw KeyCustodyError(
                location: "the key of \(storage.location)",
                reason: "it is in \(current.explanation), not in \(asked.explanation)",
                hint: "to move it: \(KeyRemedy.moveKey(to: asked)); or ask for \(current.word)")
        }
        if let given { return given }
        // Only the program knows the number of the file descriptor.
        return try await locations.custody(locations.choice ?? current, storage)
    }

    static func checked(
        _ key: SealingKey?, _ check: [UInt8], _ custody: any KeyCustody, _ storage: any AccountStorage
    ) throws -> SealingKey {
        let isShared = storage.isSharedByMachines
        guard let key else {
            let action: Hint = isShared ? "copy it from a machine that uses the store" : "restore it from a copy"
            throw KeyCustodyError(
                location: custody.location, reason: "the key of this store is missing",
                hint: "\(action); without it the accounts in \(storage.location) cannot be read")
        }
        guard RecordSeal(key: key).matches(check) else {
            let action: Hint = isShared ? "use the key of the other machines" : "restore the right key"
            throw KeyCustodyError(
                location: custody.location, reason: "it is not the key of this store",
                hint: "\(action); without it the accounts in \(storage.location) cannot be read")
        }
        return key
    }

    /// Removes copies that a move did not remove, from locations that show no prompt. Does not wait for a move in
    /// progress, and ignores errors.
    private func tidy(_ key: SealingKey) async {
        guard let lock = try? await storage.lock(Self.lockName, timeout: .zero) else { return }
        defer { lock.release() }
        guard var record = try? await KeyLocationRecord.read(storage) else { return }
        _ = try? await KeyMigration.tidy(&record, key, storage, locations) { $0 == .keyFile || $0 == .passphrase }
    }
}
