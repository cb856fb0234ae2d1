import Platform

/// A lock on the folder that a file is in: no file is left behind for it, and it ends with the process.
///
/// It is `flock`'s, because a folder cannot be opened for writing, as `fcntl` wants it for a lock like the one of the account storage.
struct FolderLock {
    /// The folder; nil where the system has no lock for it, such as on some network file systems.
    private let folder: Int32?

    /// Waits for the lock without holding a thread.
    ///
    /// - Throws: ``SettingsError`` when another program keeps it for too long; what `sleep` throws.
    static func wait(
        for path: String, timeout: Duration, sleep: @Sendable (Duration) async throws -> Void,
        isolation: isolated (any Actor)? = #isolation
    ) async throws -> FolderLock {
        // Whoever comes by another link comes to the same folder.
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
                    found: "another program that has been changing it for \(timeout)",
                    hint: "see which program uses its folder, and try again")
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
