import Platform
import JOSE
import Synchronization

/// Locks by name in one file: each name is one byte of the file, locked with an open-file-description lock.
///
/// The kernel drops such a lock when the descriptor is closed, and so when the process dies; threads of one process exclude
/// each other like processes do. The file stays empty.
package struct FileLock: Sendable {
    let path: String
    let sleep: @Sendable (Duration) async throws -> Void
    /// Requests the lock of one byte; returns 0 or the error number.
    var request: @Sendable (_ file: Int32, _ byte: off_t) -> Int32 = { OpenFileLock.lock($0, byte: $1) }

    private struct Held: StorageLock {
        /// Closes the descriptor with the last copy.
        private final class Descriptor: Sendable {
            let file: Int32
            let once = Once()
            init(_ file: Int32) { self.file = file }
            func close() { once.run { FileDescriptor.close(file) } }
            deinit { close() }
        }
        private let descriptor: Descriptor
        init(_ file: Int32) { descriptor = Descriptor(file) }
        func release() { descriptor.close() }
    }

    /// Tries once; nil when another holder has it.
    func tryLock(_ name: String) throws(StorageError) -> (any StorageLock)? {
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw StorageError.system(errno, location: path, doing: "opening the lock file") }
        switch request(file, Self.offset(name)) {
        case 0 where isCurrent(file): return Held(file)
        // Held by another, or the file was removed meanwhile, and the next one opens another: that one counts.
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

    /// Whether the path still leads to this file.
    private func isCurrent(_ file: Int32) -> Bool {
        var opened = stat()
        var named = stat()
        return fstat(file, &opened) == 0 && lstat(path, &named) == 0 && opened.st_dev == named.st_dev
            && opened.st_ino == named.st_ino
    }

    /// Waits without holding a thread: the kernel has no way to wake a task.
    func lock(_ name: String, timeout: Duration) async throws -> any StorageLock {
        guard let lock = try await poll(timeout: timeout, sleep: sleep, { try tryLock(name) }) else {
            throw StorageError(
                .busy, location: path, reason: "another process has held a lock for \(timeout)",
                hint: "see which process uses the store, and try again")
        }
        return lock
    }

    /// The byte that stands for a name. Two names on one byte only wait for each other.
    private static func offset(_ name: String) -> off_t {
        let value = SHA2.sha256.digest(Array(name.utf8)).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return off_t(value >> 2)
    }
}

extension StorageError {
    /// The fault of a file system on which processes cannot exclude each other, such as some network file systems.
    static func noLocks(location: String, reason: String) -> StorageError {
        StorageError(
            .other, location: location,
            reason: "\(reason): the file system offers no locks, which a store cannot do without",
            hint: "\(StorageRemedy.chooseStore(.local))")
    }

    /// The fault that an error number means.
    package static func system(_ code: Int32, location: String, doing action: String) -> StorageError {
        let reason = "\(action) failed: \(String(cString: strerror(code)))"
        switch code {
        case ENOSPC, EDQUOT, EFBIG:
            return StorageError(.full, location: location, reason: reason, hint: "free some space and try again")
        case EROFS:
            return StorageError(
                .readOnly, location: location, reason: reason, hint: "\(StorageRemedy.chooseStore(.writable))")
        case EACCES, EPERM:
            return StorageError(
                .noPermission, location: location, reason: reason,
                hint: "check who owns it and its mode, or \(StorageRemedy.chooseStore(.other))")
        default:
            return StorageError(
                .other, location: location, reason: reason, hint: "\(StorageRemedy.chooseStore(.other))")
        }
    }
}
