import LodgePlatform

/// An error of a storage.
public struct StorageError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kinds of error.
    public enum Kind: String, Sendable {
        /// The file is not a store, or it is damaged.
        case notAStore
        /// A later version wrote the store.
        case laterVersion
        /// The location is read-only.
        case readOnly
        /// The process lacks the permission.
        case noPermission
        /// Another user owns the location, or other users can read or change it.
        case insecure
        /// The disk is full.
        case full
        /// Another process holds a lock for too long, or the server is unreachable.
        case busy
        /// Any other error.
        case other
    }

    /// The kind of error.
    public var kind: Kind
    /// The location of the storage or of the file.
    public var location: String
    /// The reason from the system.
    public var reason: String
    /// A sentence that tells the user how to solve the problem.
    public var hint: Hint
    /// Whether the wait for a lock of another process timed out.
    package var isLockTimeout = false
    /// Whether no process holds the requested lock, but the request of its last holder may be in progress.
    package var isLeased = false
    /// The process that holds the requested lock, if known.
    package var lockHolder: LockHolder?

    /// Creates an error.
    public init(_ kind: Kind, location: String, reason: String, hint: Hint) {
        self.kind = kind
        self.location = location
        self.reason = reason
        self.hint = hint
    }

    /// The location and the reason.
    public var description: String { "\(location): \(reason)" }
}

extension StorageError {
    /// Returns the error for a lock that another process holds for too long.
    package static func lockTimeout(_ timeout: Duration, location: String, hint: Hint) -> StorageError {
        var error = StorageError(
            .busy, location: location, reason: "another process has held a lock for \(timeout)", hint: hint)
        error.isLockTimeout = true
        return error
    }

    /// Returns the error for a system error number.
    package static func system(_ code: Int32, location: String, doing action: String) -> StorageError {
        let (kind, hint): (Kind, Hint) =
            switch code {
            case ENOSPC, EDQUOT, EFBIG: (.full, "free some space and try again")
            case EROFS: (.readOnly, "\(StorageRemedy.chooseStore(.writable))")
            case EACCES, EPERM:
                (.noPermission, "check who owns it and its mode, or \(StorageRemedy.chooseStore(.other))")
            default: (.other, "\(StorageRemedy.chooseStore(.other))")
            }
        let reason = "\(action) failed: \(String(cString: strerror(code)))"
        return StorageError(kind, location: location, reason: reason, hint: hint)
    }

    /// Returns the error for a file system without working locks, such as some network file systems.
    static func noLocks(location: String, reason: String) -> StorageError {
        StorageError(
            .other, location: location,
            reason: "\(reason): the file system does not support locks, which a store requires",
            hint: "\(StorageRemedy.chooseStore(.local))")
    }

    /// Returns the error for a new record with an existing identifier.
    package static func duplicateIdentifier(location: String) -> StorageError {
        StorageError(.other, location: location, reason: "the identifier is taken", hint: "use another identifier")
    }

    /// Returns the error for tables of an unknown later version.
    package static func laterVersion(
        _ found: Int64, known: Int64, location: String, alternative: Hint
    ) -> StorageError {
        StorageError(
            .laterVersion, location: location,
            reason: "it was written by a later version (schema \(found), this one knows \(known))",
            hint: "use that version, or \(alternative); this one is unchanged")
    }

    /// Returns the error for records whose positions are damaged.
    static func damagedOrder(location: String) -> StorageError {
        StorageError(
            .notAStore, location: location, reason: "the order of its records is damaged",
            hint: "the file is unchanged; restore a copy, or copy the readable accounts: \(StorageRemedy.salvage)")
    }
}

extension stat {
    /// Creates the status of a file or folder, which `create` creates if it does not exist.
    init(
        of path: String, doing action: String, creating create: () throws(StorageError) -> Void
    ) throws(StorageError) {
        self.init()
        if lstat(path, &self) == 0 { return }
        guard errno == ENOENT else { throw .system(errno, location: path, doing: action) }
        try create()
        guard lstat(path, &self) == 0 else { throw .system(errno, location: path, doing: action) }
    }

    func checkOwner(of path: String) throws(StorageError) {
        guard st_uid == geteuid() else {
            throw StorageError(
                .insecure, location: path, reason: "it belongs to another user",
                hint: "\(StorageRemedy.chooseStore(.own))")
        }
    }
}

extension StorageError: LocalizedError {
    /// The failure in a sentence, for an alert.
    public var errorDescription: String? { "Cannot use the account storage." }
    /// The reason in a sentence.
    public var failureReason: String? { description.sentence }
    /// The remedy in a sentence.
    public var recoverySuggestion: String? { hint.description.sentence }
}
