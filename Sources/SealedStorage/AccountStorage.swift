import Platform

/// One account as storage sees it: sealed bytes and what is needed to find them.
public struct SealedRecord: Sendable, Equatable {
    /// The account's identifier.
    public var id: String
    /// The name of the account's type.
    public var type: String
    /// Goes up by one with every change. The seal binds identifier, type and revision.
    public var revision: Int64
    /// The place in the order of accounts; storage gives it on insertion and never changes it.
    public var position: Int64
    /// By what a sign-in finds the account that it belongs to: a digest of 16 bytes, made with a key that is derived from the
    /// store's, of type, issuer and subject. Nil when it is not known. Several records may have the same one.
    public var identity: [UInt8]?
    /// The sealed record.
    public var sealed: [UInt8]

    /// A record.
    public init(
        id: String, type: String, revision: Int64, position: Int64 = 0, identity: [UInt8]? = nil, sealed: [UInt8]
    ) {
        self.id = id
        self.type = type
        self.revision = revision
        self.position = position
        self.identity = identity
        self.sealed = sealed
    }
}

/// One line of the storage's log of changes, by which every process learns what the others did.
public struct StorageChange: Sendable, Equatable {
    /// What changed.
    public enum Kind: String, Sendable {
        /// An account was added.
        case added
        /// An account was removed.
        case removed
        /// The tokens are new.
        case tokens
        /// The account needs a sign-in.
        case signInNeeded = "sign-in-needed"
        /// The app's own data changed.
        case userData = "user-data"
        /// Name, claims or scope changed, by signing in again.
        case profile
    }

    /// Goes up with every change of the storage.
    public var sequence: Int64
    /// The account.
    public var id: String
    /// Its type.
    public var type: String
    /// What changed.
    public var kind: Kind

    /// A change.
    public init(sequence: Int64, id: String, type: String, kind: Kind) {
        self.sequence = sequence
        self.id = id
        self.type = type
        self.kind = kind
    }
}

/// A lock across processes. Held until ``release()`` or until nobody holds the value; the kernel drops it when the process dies.
public protocol StorageLock: Sendable {
    /// Gives the lock back. Calling it again does nothing.
    func release()
}

/// Where sealed records are kept. Storage never sees a token.
///
/// Every change is one transaction: durable when the call returns, or not made at all when it throws.
/// All functions throw ``StorageError``.
public protocol AccountStorage: Sendable {
    /// Where it is, in words for people: a path, "memory".
    var location: String { get }

    /// A page of the records of a type, or of every type: the first `limit` of those with a greater position, in order of
    /// position. No record means that there are no more. A record that cannot be made out is given all the same, with what can
    /// be read of it: its seal will tell.
    func records(ofType type: String?, after position: Int64, limit: Int) async throws -> [SealedRecord]
    /// The records of a type that have this ``SealedRecord/identity``, in order of position.
    func records(ofType type: String, identity: [UInt8]) async throws -> [SealedRecord]
    /// The record of a type with the greatest position.
    func lastRecord(ofType type: String) async throws -> SealedRecord?
    /// How many records there are of a type, or of every type.
    func count(ofType type: String?) async throws -> Int
    /// The record of this identifier.
    func record(_ id: String) async throws -> SealedRecord?
    /// Adds a record, with its identity, after all others and gives its position, which is greater than 0. Revision is 1.
    func insert(_ record: SealedRecord) async throws -> (position: Int64, sequence: Int64)
    /// Replaces a record, and its identity, if its revision in storage is one less than the new one; nil when it is not, or the
    /// record is gone. Identifier, type and position stay.
    func replace(_ record: SealedRecord, kind: StorageChange.Kind) async throws -> Int64?
    /// Removes a record; nil when it was not there. Gives the change's sequence.
    func remove(_ id: String) async throws -> Int64?

    /// A small value kept beside the records. Not sealed.
    func value(_ name: String) async throws -> [UInt8]?
    /// Sets a small value; nil removes it.
    func setValue(_ value: [UInt8]?, for name: String) async throws

    /// The changes after a sequence, oldest first; nil when the log does not reach back that far.
    func changes(after sequence: Int64) async throws -> [StorageChange]?
    /// The sequence of the newest change; 0 when there was none.
    func lastSequence() async throws -> Int64
    /// Calls `handler` after somebody may have changed something, another process or this one, until the returned value is
    /// released. Nil when the storage has no way to tell.
    func watch(_ handler: @escaping @Sendable () -> Void) throws -> (any StorageLock)?

    /// Finds out, by writing, whether a record could be saved now. Called before something is done that must not be lost.
    func checkWritable() async throws

    /// Waits for the lock of this name.
    ///
    /// - Throws: `CancellationError` when the task is cancelled; ``StorageError`` after `timeout`.
    func lock(_ name: String, timeout: Duration) async throws -> any StorageLock
}

extension AccountStorage {
    /// Whether there are no records.
    package func isEmpty() async throws -> Bool { try await records(ofType: nil, after: 0, limit: 1).isEmpty }

    /// All records of a type, or of every type, in order: for tests and small stores, because all are in memory at once.
    package func records(ofType type: String?) async throws -> [SealedRecord] {
        var all: [SealedRecord] = []
        while true {
            let last = all.last?.position ?? 0
            let page = try await records(ofType: type, after: last, limit: RecordPage.size)
            guard let end = page.last?.position else { return all }
            _ = try RecordPage.next(after: last, end, location: location)
            all += page
        }
    }
}

/// How records are gone through.
package enum RecordPage {
    /// How many records are read at a time.
    package static let size = 256

    /// Where the next page begins. Positions that do not go up are damage, and would be gone through for ever.
    package static func next(after last: Int64, _ end: Int64, location: String) throws(StorageError) -> Int64 {
        guard end > last else {
            throw StorageError(
                .notAStore, location: location, reason: "the order of its records is damaged",
                hint: "nothing was changed; restore a copy, or copy what can be read: \(StorageRemedy.salvage)")
        }
        return end
    }
}

/// Why storage could not do what it was asked.
public struct StorageError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kinds of fault.
    public enum Kind: String, Sendable {
        /// The file is no store, or damaged.
        case notAStore
        /// The store was written by a later version.
        case laterVersion
        /// The place can only be read.
        case readOnly
        /// No permission, or another user's.
        case noPermission
        /// Other users can read or change the place.
        case insecure
        /// No space is left.
        case full
        /// Another process holds a lock for too long, or the server that keeps the accounts is away.
        case busy
        /// Anything else.
        case other
    }

    /// The kind.
    public var kind: Kind
    /// Where.
    public var location: String
    /// What the system said.
    public var reason: String
    /// What to do.
    public var hint: Hint

    /// A fault.
    public init(_ kind: Kind, location: String, reason: String, hint: Hint) {
        self.kind = kind
        self.location = location
        self.reason = reason
        self.hint = hint
    }

    /// Place and reason.
    public var description: String { "\(location): \(reason)" }
}
