import LodgePlatform
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
    let queue = LockQueue()

    /// Tries once. Returns `nil` if another holder has the lock.
    func tryLock(_ name: String) throws(StorageError) -> (any StorageLock)? {
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw StorageError.system(errno, location: path, doing: "opening the lock file") }
        let byte = Self.byte(of: name)
        switch request(file, byte) {
        case 0 where Self.isCurrent(file, path):
            LockHolder.save(byte: byte, in: file)
            return HeldFileLock(file: file, path: path, byte: byte) { [queue] in queue.didRelease(name) }
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

    /// Waits without blocking a thread.
    ///
    /// The kernel cannot wake a task, so the first task that waits in this process asks it again and again. The others wait for their
    /// turn, and a release in this process wakes the first one: hundreds of sign-ins should neither load the kernel nor wait for
    /// their next attempt.
    ///
    /// - Throws: `CancellationError`; ``StorageError``, of the kind busy after the time limit and if `sleep` throws
    ///   because the caller has no more time.
    func lock(_ name: String, timeout: Duration) async throws -> any StorageLock {
        let start = ContinuousClock.now
        do {
            if let lock = try await queuedLock(name, timeout: timeout) { return lock }
        } catch let error where !(error is CancellationError || error is StorageError) {
            throw StorageError.held(by: holder(of: name), for: ContinuousClock.now - start, location: path)
        }
        var error = StorageError.held(by: holder(of: name), for: timeout, location: path)
        error.isLockTimeout = true
        throw error
    }

    /// The duration of one wait for the turn.
    private static let turnStep = Duration.milliseconds(500)

    /// Returns `nil` after the time limit.
    ///
    /// - Throws: `CancellationError` if the task is cancelled; the errors of `sleep`; ``StorageError``.
    private func queuedLock(_ name: String, timeout: Duration) async throws -> (any StorageLock)? {
        let turn = queue.join(name)
        defer { queue.leave(turn, name) }
        var waited = Duration.zero
        // Short waits, because `sleep` can refuse one that ends after the caller's deadline.
        while try await !isFinished(turn, within: min(Self.turnStep, timeout - waited)) {
            waited += Self.turnStep
            guard waited < timeout else { return nil }
        }
        var backoff = Backoff(.milliseconds(1) ... .milliseconds(50))
        while true {
            try Task.checkCancellation()
            // Before the attempt, so that no release is missed.
            let release = queue.nextRelease(name)
            if let lock = try tryLock(name) { return lock }
            guard waited < timeout else { return nil }
            let delay = backoff.next()
            _ = try await isFinished(release, within: delay)
            waited += delay
        }
    }

    /// Waits for a promise of this task with a time limit. Throws the error of `sleep`.
    private func isFinished(_ promise: Promise<Void>, within limit: Duration) async throws -> Bool {
        try await promise.value(within: limit) { [sleep] delay in
            do {
                try await sleep(delay)
            } catch {
                promise.finish(.failure(error))
                throw error
            }
        } != nil
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

/// The tasks of this process that wait for locks, in the order of their arrival.
final class LockQueue: Sendable {
    private struct Line {
        /// A promise for each task. That of the first one is finished.
        var turns: [Promise<Void>] = []
        /// The promise that the next release finishes.
        var release: Promise<Void>?
    }
    private let lines = Mutex<[String: Line]>([:])

    /// Returns the number of tasks that wait for a lock or are about to get it.
    func count(_ name: String) -> Int { lines.withLock { $0[name]?.turns.count ?? 0 } }

    /// Adds a task. The promise is finished when no other task is before it.
    func join(_ name: String) -> Promise<Void> {
        let turn = Promise<Void>()
        let isFirst = lines.withLock { lines in
            lines[name, default: Line()].turns.append(turn)
            return lines[name]?.turns.count == 1
        }
        if isFirst { turn.finish(.success(())) }
        return turn
    }

    /// Removes a task, which no longer waits.
    func leave(_ turn: Promise<Void>, _ name: String) {
        let first = lines.withLock { lines in
            lines[name]?.turns.removeAll { $0 === turn }
            let first = lines[name]?.turns.first
            if first == nil { lines[name] = nil }
            return first
        }
        first?.finish(.success(()))
    }

    /// Returns the promise of the next release in this process, for the first task.
    func nextRelease(_ name: String) -> Promise<Void> {
        let release = Promise<Void>()
        lines.withLock { $0[name]?.release = release }
        return release
    }

    func didRelease(_ name: String) { lines.withLock { $0[name]?.release }?.finish(.success(())) }
}

/// A lock that this process holds.
private final class HeldFileLock: StorageLock {
    private let file: Int32
    private let path: String
    private let byte: off_t
    private let onRelease: @Sendable () -> Void
    private let once = Once()

    init(file: Int32, path: String, byte: off_t, onRelease: @escaping @Sendable () -> Void) {
        self.file = file
        self.path = path
        self.byte = byte
        self.onRelease = onRelease
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
            onRelease()
        }
    }

    deinit { release() }
}
