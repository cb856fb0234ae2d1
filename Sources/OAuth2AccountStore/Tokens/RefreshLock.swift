import SealedStorage

/// The lock of an account during a refresh.
///
/// A process that is about to end releases it after the token request. Otherwise other machines would wait until the
/// lease of the lock expires.
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
