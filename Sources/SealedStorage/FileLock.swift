import Platform
import JOSE
import Synchronization

/// Locks by name in one file: each name is one byte of the file, locked with an open-file-description lock.
///
/// The kernel drops such a lock when the descriptor is closed, also at the end of the process. Threads of one process exclude
/// each other like processes do. The file stays empty.
package struct FileLock: Sendable {
    let path: String
    let sleep: @Sendable (Duration) async throws -> Void
    /// Requests the lock of one byte; returns 0 or the error number.
    var request: @Sendable (_ file: Int32, _ byte: off_t) -> Int32 = { OpenFileLock.lock($0, byte: $1) }

    /// Tries once. Returns `nil` if another holder has the lock.
    func tryLock(_ name: String) throws(StorageError) -> (any StorageLock)? {
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw StorageError.system(errno, location: path, doing: "opening the lock file") }
        switch request(file, Self.offset(name)) {
        case 0 where isCurrent(file): return ReleaseHandle { FileDescriptor.close(file) }
        // Another holder has it. Or another process removed the file, and the next holder locks a new file.
        case 0, EAGAIN, EACCES:
            close(file)
            return nil
        case let code:
            close(file)
            guard ![ENOLCK, EOPNOTSUPP, ENOSYS, EINVAL].contains(code) else {
                throw .noLocks(location: path, reason: "locking failed: \(String(cString: strerror(code)))")
            }
            throw .system(code, location: path, doing: "locking")
        }
    }

    /// Returns whether the path still leads to this file.
    private func isCurrent(_ file: Int32) -> Bool {
        var opened = stat()
        var named = stat()
        return fstat(file, &opened) == 0 && lstat(path, &named) == 0 && opened.st_dev == named.st_dev
            && opened.st_ino == named.st_ino
    }

    /// Waits without blocking a thread: the kernel cannot wake a task.
    func lock(_ name: String, timeout: Duration) async throws -> any StorageLock {
        guard let lock = try await poll(timeout: timeout, sleep: sleep, { try tryLock(name) }) else {
            throw StorageError.lockTimeout(
                timeout, location: path, hint: "see which process uses the store, and try again")
        }
        return lock
    }

    /// Returns the byte for a name. Two names with the same byte only wait for each other.
    private static func offset(_ name: String) -> off_t {
        let value = SHA2.sha256.digest(Array(name.utf8)).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return off_t(value >> 2)
    }
}
