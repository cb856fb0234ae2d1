import AccountKeys
import JOSE
import SealedStorage
import StorageSuite
import Synchronization

/// A storage whose next replacement or read fails.
package final class FaultyStorage: WrappedStorage {
    package let inner = MemoryStorage()
    private let nextError = Mutex<StorageError?>(nil)

    package init() {}

    package func fail(with error: StorageError) { nextError.withLock { $0 = error } }
    private func check() throws {
        let error = nextError.withLock { next in
            defer { next = nil }
            return next
        }
        if let error { throw error }
    }

    package func watch(_ handler: @escaping @Sendable () -> Void) throws -> (any StorageLock)? { nil }
    package func checkWritable() async throws { try check() }
}

/// A keyring that does not return its key.
package struct UnusableKeyring: KeyCustody {
    package let reason: String

    package init(reason: String) { self.reason = reason }

    package var location: String { "keyring" }
    private var error: KeyCustodyError { KeyCustodyError(location: location, reason: reason, hint: "what to do") }
    package func key() throws -> SealingKey? { throw error }
    package func create() throws -> SealingKey { throw error }
}
