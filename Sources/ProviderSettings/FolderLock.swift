import LodgePlatform

/// A lock on the folder of a file. It needs no lock file. The system releases it when the process exits.
///
/// It uses `flock`, because `fcntl` locks only files that are open for writing, and a folder cannot be.
struct FolderLock {
    /// The descriptor, or `nil` if the file system has no such locks, such as some network file systems.
    private let folder: Int32?

    /// Waits for the lock without blocking a thread.
    ///
    /// - Throws: ``SettingsError`` after the timeout; the errors of `sleep`.
    static func wait(
        for path: String, timeout: Duration, sleep: @Sendable (Duration) async throws -> Void,
        isolation: isolated (any Actor)? = #isolation
    ) async throws -> FolderLock {
        // Resolve links, so that all paths to the file use the same folder.
        let folder = open(
            OwnerOnlyFile.directory(of: OwnerOnlyFile.resolved(path) ?? path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { return FolderLock(folder: nil) }
        do {
            let lock = try await poll(timeout: timeout, sleep: sleep) {
                if flock(folder, LOCK_EX | LOCK_NB) == 0 { return FolderLock(folder: folder) }
                if errno == EWOULDBLOCK || errno == EINTR { return nil }
                return FolderLock(folder: nil)
            }
            guard let lock else {
                throw SettingsError(
                    file: path, expected: "a settings file that can be changed",
                    found: "a lock of another program for \(timeout)",
                    hint: "close the program that uses its folder, and try again")
            }
            if lock.folder == nil { close(folder) }
            return lock
        } catch {
            close(folder)
            throw error
        }
    }

    func release() {
        if let folder { close(folder) }
    }
}
