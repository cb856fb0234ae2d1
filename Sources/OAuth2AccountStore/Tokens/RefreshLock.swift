import SealedStorage

/// The lock of an account during a refresh. An ending process ends it after its exchange: until then, the lease of the lock would
/// make the refreshes of other machines wait.
final class RefreshLock: StorageLock {
    private let lock: any StorageLock
    private let history: TokenHistory

    init(_ lock: any StorageLock, _ history: TokenHistory) {
        self.lock = lock
        self.history = history
    }

    func confirm() async throws {
        history.add(self)
        try await lock.confirm()
    }

    func release() {
        lock.release()
        history.remove(self)
    }

    func end() async {
        await lock.end()
        history.remove(self)
    }
}
