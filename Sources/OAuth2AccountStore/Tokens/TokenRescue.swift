import LodgePlatform
import SealedStorage

/// Saves new tokens to a rescue file while the storage cannot be written, and imports the file later.
///
/// A rescue file is sealed like a record, for its account, type and revision. It contains the refresh token that was
/// sent, and the access token that it replaces. It is imported only into a record that still has both tokens. So it can
/// neither replace newer tokens nor restore older ones.
struct TokenRescue: StoreCollaborator {
    let context: StoreContext
    let history: TokenHistory

    private static let purpose = "token-rescue-1"

    private var folder: RescueFolder? { (storage as? any RecordRescue)?.rescueFolder }

    /// Writes the tokens to a rescue file and returns its path, or `nil` if that fails.
    ///
    /// - Parameter revision: The revision of the record at the start of the refresh.
    func save(_ update: TokenUpdate, _ record: AccountRecord, _ revision: Int64) async -> String? {
        // The client's own tokens can be requested again, without a rescue file.
        guard let folder, record.serviceGrant == nil, let plain = try? JSONEncoder().encode(update),
            let sealed = try? seal.seal(
                Array(plain), for: Self.purpose, id: record.id.rawValue, type: record.type, revision: revision)
        else { return nil }
        return try? await folder.save(sealed)
    }

    /// Returns the error for a failed save whose tokens are in a rescue file.
    func error(_ error: StorageError, _ path: String) -> AccountStoreError {
        AccountStoreError(
            .storage(error.kind), what: "cannot save the new tokens in the store",
            reason: "\(error.description); the tokens are in \(path)", remedy: .repairStore,
            hint: storage.isSharedByMachines
                ? "\(error.hint); use the account on this machine before another machine refreshes it: that saves the tokens"
                : "\(error.hint); the next use of the account saves them there: you are still signed in")
    }

    /// Saves the tokens that this process could not save before.
    func savePendingUpdate(_ id: Account.ID) async throws {
        guard let update = history.pendingUpdate(id) else { return }
        do {
            _ = try await repository.update(id, .tokens, update)
            history.setPendingUpdate(nil, id)
        } catch is RecordConflict {
            history.setPendingUpdate(nil, id)
            // A sign-in saved newer tokens.
        }
    }

    /// Imports the rescue file of an account. The caller holds the account's lock and has not sent a request yet.
    ///
    /// - Throws: `StorageError` if the tokens still cannot be saved. The caller must not send the old refresh token
    ///   then.
    func importTokens(of id: Account.ID) async throws {
        guard let folder, let file = try await folder.file(of: id.rawValue) else { return }
        try await importTokens(file, folder)
    }

    /// Imports the rescue files of all accounts that are not locked. The next refresh imports the others.
    func importAll() async {
        guard let folder, let all = try? await folder.files() else { return }
        for file in all {
            guard let record = file.record else {
                try? await folder.setAside(file)
                continue
            }
            let lock: (any StorageLock)?
            do {
                lock = try await storage.lock("account:\(record.id)", timeout: .zero)
            } catch let error as StorageError where error.isLeased {
                // The lease belongs to the refresh that wrote this file.
                lock = nil
            } catch {
                continue
            }
            defer { lock?.release() }
            // Read the file again: another process can have imported it.
            try? await importTokens(of: Account.ID(rawValue: record.id))
        }
    }

    private func importTokens(_ file: RescueFile, _ folder: RescueFolder) async throws {
        guard let record = file.record, let update = open(record) else {
            // Without the new tokens, the refresh token that was sent is the only one. The diagnostics report the file.
            return try await folder.setAside(file)
        }
        do {
            let saved = try await repository.update(Account.ID(rawValue: record.id), .tokens, change(update))
            // If the store was moved or restored and has no such account, the file remains.
            guard saved != nil else { return }
        } catch is RecordConflict {
            // The record has newer tokens.
        }
        await folder.remove(record.id)
    }

    /// Returns the change that imports the rescue file of an account, or `nil` if there is no valid file.
    func update(of id: Account.ID) async -> RecordUpdate? {
        guard let folder, let record = (try? await folder.file(of: id.rawValue))?.record else { return nil }
        return open(record).map(change)
    }

    /// Removes the rescue file of an account.
    func remove(_ id: Account.ID) async { await folder?.remove(id.rawValue) }

    /// Returns the change that saves the tokens later, unless the record has newer tokens.
    func change(_ update: TokenUpdate) -> RecordUpdate {
        { [history, dependencies] record in
            guard update.isNewer(than: record) else { throw RecordConflict() }
            try update.apply(to: &record, history, now: dependencies.now())
        }
    }

    private func open(_ record: SealedRecord) -> TokenUpdate? {
        seal.open(record, for: Self.purpose).flatMap { try? JSONDecoder().decode(TokenUpdate.self, from: Data($0)) }
    }
}

extension TokenRefresher {
    /// Imports the tokens that an earlier process could not save.
    func importRescuedTokens() async { await TokenRescue(context: context, history: history).importAll() }
}
