import Platform
import JOSE
import Synchronization

/// Locks by name in one file: each name is one byte of the file, locked with an open-file-description lock.
///
/// The kernel releases such a lock when the descriptor is closed, including at the end of the process. Threads of one
/// process wait for each other like processes do. The content of the file only identifies the lock holders: see
/// ``LockHolder``.
package struct FileLock: Sendable {
    let path: String
    let sleep: @Sendable (Duration) async throws -> Void
    /// Requests the lock of one byte. Returns 0 or the error number.
    var request: @Sendable (_ file: Int32, _ byte: off_t) -> Int32 = { OpenFileLock.lock($0, byte: $1) }

    /// Tries once. Returns `nil` if another holder has the lock.
    func tryLock(_ name: String) throws(StorageError) -> (any StorageLock)? {
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw StorageError.system(errno, location: path, doing: "opening the lock file") }
        let byte = Self.byte(of: name)
        switch request(file, byte) {
        case 0 where Self.isCurrent(file, path):
            LockHolder.save(byte: byte, in: file)
            return HeldFileLock(file: file, path: path, byte: byte)
        // Another holder has the lock, or another process removed the file, and the next holder locks a new file.
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

    /// Waits without blocking a thread, because the kernel cannot wake a task.
    ///
    /// - Throws: `CancellationError`; ``StorageError``, of the kind busy after the time limit and if `sleep` throws
    ///   because the caller has no more time.
    func lock(_ name: String, timeout: Duration) async throws -> any StorageLock {
        let start = ContinuousClock.now
        do {
            if let lock = try await poll(timeout: timeout, sleep: sleep, { try tryLock(name) }) { return lock }
        } catch let error where !(error is CancellationError || error is StorageError) {
            throw StorageError.held(by: holder(of: name), for: ContinuousClock.now - start, location: path)
        }
        var error = StorageError.held(by: holder(of: name), for: timeout, location: path)
        error.isLockTimeout = true
        throw error
    }

    /// Returns whether the path still refers to this file: other processes lock the file at the path.
    fileprivate static func isCurrent(_ file: Int32, _ path: String) -> Bool {
        var opened = stat()
        var named = stat()
        return fstat(file, &opened) == 0 && lstat(path, &named) == 0 && opened.st_dev == named.st_dev
            && opened.st_ino == named.st_ino
    }

    /// Returns the process that holds the lock with a name, or `nil` if it is unknown. Call it after ``tryLock(_:)`` failed.
    private func holder(of name: String) -> LockHolder? {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard file >= 0 else { return nil }
        defer { close(file) }
        return LockHolder.read(byte: Self.byte(of: name), in: file)
    }

    /// Returns the byte for a name. Two names with the same byte only wait for each other.
    private static func byte(of name: String) -> off_t {
        let value = SHA2.sha256.digest(Array(name.utf8)).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return off_t(value >> 2)
    }
}

/// A lock that this process holds.
private final class HeldFileLock: StorageLock {
    private let file: Int32
    private let path: String
    private let byte: off_t
    private let once = Once()

    init(file: Int32, path: String, byte: off_t) {
        self.file = file
        self.path = path
        self.byte = byte
    }

    func confirm() throws(StorageError) {
        guard FileLock.isCurrent(file, path) else {
            throw StorageError(
                .busy, location: path,
                reason: "the lock file was removed or replaced, so that another process may have the lock too",
                hint: "try again; no request was sent")
        }
        // Another process holds the same lock in a file that was since removed, moved or restored, or in the folder of
        // a hard link.
        guard OpenFileLock.fileCount(ofByte: byte) <= 1 else {
            throw StorageError(
                .busy, location: path,
                reason: "another process has this lock in another lock file: the store was moved, restored or linked",
                hint: "try again in a minute; no request was sent")
        }
    }

    func release() {
        once.run {
            LockHolder.remove(byte: byte, from: file)
            FileDescriptor.close(file)
        }
    }

    deinit { release() }
}
