import LodgePlatform
import SealedStorage

/// Publishes the changes of a storage as events, in the order of its change log. No other code reads the log.
actor ChangePublisher {
    private let reader: AccountReader
    private let sleep: @Sendable (Duration) async throws -> Void
    nonisolated let broadcaster = EventBroadcaster()
    nonisolated let poster = NotificationPoster()
    /// The sequence number of the newest published change.
    private var lastPublishedSequence: Int64?
    private var publishTask: Task<Void, Never>?
    private var hasPendingChange = false
    /// Whether the last attempt to read the log failed.
    private var isBehind = false
    private var watch: (any StorageLock)?

    /// The maximum number of attempts to read the log again, one per second.
    private static let maximumReadAttempts = 10

    init(reader: AccountReader, sleep: @escaping @Sendable (Duration) async throws -> Void) {
        self.reader = reader
        self.sleep = sleep
    }

    /// Ends every stream.
    nonisolated func close() { broadcaster.finish() }

    deinit { watch?.release() }

    /// Publishes the changes that other processes make from now on.
    func watchStorage() async throws {
        lastPublishedSequence = try await reader.storage.lastSequence()
        watch = try reader.storage.watch { [weak self] in
            guard let self else { return }
            Task { await self.storageDidChange() }
        }
    }

    /// Sends an event to every stream and to NotificationCenter.
    nonisolated func publish(_ event: AccountEvent) {
        broadcaster.send(event)
        poster.post(event)
    }

    /// Publishes a change that this store saved, after the earlier changes of other processes.
    func didSave(_ sequence: Int64) async {
        if lastPublishedSequence == nil { lastPublishedSequence = sequence - 1 }
        await publishChanges(upTo: sequence)
    }

    /// Publishes the changes of other processes. Signals that arrive before the log is read are handled together.
    private func storageDidChange() async {
        guard !hasPendingChange else { return }
        hasPendingChange = true
        while let running = publishTask { await running.value }
        // A change that is saved from here on sends another signal.
        hasPendingChange = false
        await publishChanges(upTo: .max)
        // Another process can lock the file for longer than SQLite waits. Without another change there is no other
        // signal.
        for _ in 0..<Self.maximumReadAttempts where isBehind {
            guard (try? await sleep(.seconds(1))) != nil else { return }
            await publishChanges(upTo: .max)
        }
    }

    /// Publishes the new changes of the log.
    ///
    /// Only one task runs at a time, so that no change is published twice. The task is unstructured, so that the
    /// cancellation of a caller does not end it.
    private func publishChanges(upTo sequence: Int64) async {
        while let running = publishTask {
            await running.value
            if let lastPublishedSequence, lastPublishedSequence >= sequence { return }
        }
        let task = Task {
            // The change is saved in any case. If the log cannot be read now, the next change publishes it.
            isBehind = (try? await publishChangeLog()) == nil
            publishTask = nil
        }
        publishTask = task
        await task.value
    }

    private func publishChangeLog() async throws {
        guard let last = lastPublishedSequence else { return }
        guard let changes = try await reader.storage.changes(after: last) else {
            lastPublishedSequence = try await reader.storage.lastSequence()
            reader.cache.removeAll()
            publish(.manyChanges)
            return
        }
        for change in changes {
            let event = try await event(for: change)
            lastPublishedSequence = change.sequence
            if let event { publish(event) }
        }
    }

    private func event(for change: StorageChange) async throws -> AccountEvent? {
        let id = Account.ID(rawValue: change.id)
        if change.kind == .removed {
            reader.cache.remove(id)
            return .removed(id, type: change.type)
        }
        let found: CachedRecord?
        do {
            found = try await reader.read(id)
        } catch let error as AccountStoreError where error.kind == .damagedRecord {
            found = nil
        }
        // If the account was removed since then, a later change of the log reports it. If its record is damaged,
        // reading the account reports it.
        guard let account = found?.account else { return nil }
        switch change.kind {
        case .added: return .added(account)
        case .tokens: return .accessTokenChanged(account)
        case .signInNeeded: return .accessTokenLost(account)
        case .userData: return .userDataChanged(account)
        case .profile, .removed: return .profileChanged(account)
        }
    }
}
