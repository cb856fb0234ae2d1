import LodgePlatform

/// The storage's view of an account: encrypted bytes, and the values for finding them.
public struct SealedRecord: Sendable, Equatable {
    /// The identifier of the account.
    public var id: String
    /// The name of the account type.
    public var type: String
    /// The number of saved versions. The encryption authenticates identifier, type and revision.
    public var revision: Int64
    /// The position in the order of accounts. Storage assigns it on insertion and never changes it.
    public var position: Int64
    /// A digest of type, issuer and subject, by which a sign-in finds its account, or `nil` if it is unknown.
    ///
    /// It has 16 bytes and is computed with a key derived from the store's. Several records can have the same digest.
    public var identity: [UInt8]?
    /// The encrypted content.
    public var sealed: [UInt8]

    /// Creates a record.
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

/// An entry of the change log, through which processes observe each other's changes.
public struct StorageChange: Sendable, Equatable {
    /// The kinds of change.
    public enum Kind: String, Sendable {
        /// An account was added.
        case added
        /// An account was removed.
        case removed
        /// The tokens changed.
        case tokens
        /// The account needs a sign-in.
        case signInNeeded = "sign-in-needed"
        /// The app's own data changed.
        case userData = "user-data"
        /// Name, claims or scope changed by a new sign-in.
        case profile
    }

    /// The number of the change. It increases with every change of the storage.
    public var sequence: Int64
    /// The identifier of the account.
    public var id: String
    /// The name of the account type.
    public var type: String
    /// The kind of change.
    public var kind: Kind

    /// Creates a change.
    public init(sequence: Int64, id: String, type: String, kind: Kind) {
        self.sequence = sequence
        self.id = id
        self.type = type
        self.kind = kind
    }

    /// Returns the changes after a sequence, or `nil` if the log does not contain the first of them.
    static func unbroken(_ changes: [StorageChange], after sequence: Int64) -> [StorageChange]? {
        if let first = changes.first, first.sequence > sequence + 1 { return nil }
        return changes
    }
}

/// A lock across processes, or a watch.
///
/// It ends with ``release()`` or ``end()``, with the last reference to the value, and with the process.
public protocol StorageLock: Sendable {
    /// Checks that no other process can have the lock.
    ///
    /// Call it immediately before a request that only one process may send.
    ///
    /// - Throws: ``StorageError`` of the kind busy if the lock was lost. Data read since may be outdated, so the caller
    ///   must release the lock and send nothing.
    func confirm() async throws
    /// Ends the lock. A second call has no effect.
    func release()
    /// Ends the lock and returns when another process can have it, even if another call ends it.
    ///
    /// After ``confirm()``, call it instead of ``release()``: a process that exits too early could make others wait.
    func end() async
}

extension StorageLock {
    /// Does nothing: by default, a lock cannot be lost.
    public func confirm() async throws {}
    /// Calls ``release()``: by default, another process can have the lock immediately.
    public func end() async { release() }
}

/// A lock that calls a function once when it ends.
package final class ReleaseHandle: StorageLock {
    private let once = Once()
    private let onRelease: @Sendable () -> Void

    package init(onRelease: @escaping @Sendable () -> Void) { self.onRelease = onRelease }
    package func release() { once.run(onRelease) }
    deinit { release() }
}

/// A storage of encrypted records. It never has access to a token.
///
/// Every change is one transaction: durable when the call returns, or without effect if the call throws. All functions
/// throw ``StorageError``.
public protocol AccountStorage: Sendable {
    /// A description of the location: a path, "memory".
    var location: String { get }

    /// Returns whether the store does not exist yet, without creating it. The other functions create it.
    func isMissing() async throws -> Bool

    /// Returns a page of the records of a type, or of every type.
    ///
    /// It contains the first `limit` records with a greater position, in order of position. An empty page is the end. A
    /// damaged record is included with its readable parts; it cannot be decrypted.
    func records(ofType type: String?, after position: Int64, limit: Int) async throws -> [SealedRecord]
    /// Returns the records of a type with this ``SealedRecord/identity``, in order of position.
    func records(ofType type: String, identity: [UInt8]) async throws -> [SealedRecord]
    /// Returns the record of a type with the greatest position.
    func lastRecord(ofType type: String) async throws -> SealedRecord?
    /// Returns the number of records of a type, or of every type.
    func count(ofType type: String?) async throws -> Int
    /// Returns the record with an identifier.
    func record(_ id: String) async throws -> SealedRecord?
    /// Adds a record of revision 1 after all others, and sets small values in the same transaction.
    ///
    /// Returns its position, which is greater than 0, and the change's sequence.
    func insert(
        _ record: SealedRecord, setting values: [String: [UInt8]]
    ) async throws -> (position: Int64, sequence: Int64)
    /// Replaces a record and its identity, sets small values in the same transaction, and returns the change's sequence.
    ///
    /// Returns `nil` and changes nothing unless the saved revision is one less than the new one.
    ///
    /// Identifier, type and position do not change.
    func replace(
        _ record: SealedRecord, kind: StorageChange.Kind, setting values: [String: [UInt8]]
    ) async throws -> Int64?
    /// Removes a record and returns the change's sequence, or `nil` if the record does not exist.
    func remove(_ id: String) async throws -> Int64?

    /// Returns a small value saved next to the records. It is not encrypted.
    func value(_ name: String) async throws -> [UInt8]?
    /// Sets a small value, or removes it if it is `nil`.
    func setValue(_ value: [UInt8]?, for name: String) async throws

    /// Returns the changes after a sequence, oldest first, or `nil` if the log does not reach back that far.
    func changes(after sequence: Int64) async throws -> [StorageChange]?
    /// Returns the sequence of the newest change, or 0 without changes.
    func lastSequence() async throws -> Int64
    /// Calls `handler` after any process, including this one, may have changed the storage.
    ///
    /// The calls end when the returned value is released.
    ///
    /// Returns `nil` if the storage cannot detect changes.
    func watch(_ handler: @escaping @Sendable () -> Void) throws -> (any StorageLock)?

    /// Checks with a write whether a record could be saved now. Call it before an action whose result must not be lost.
    ///
    /// Simultaneous calls can share a write that starts after all of them.
    func checkWritable() async throws

    /// Waits for the lock with a name.
    ///
    /// - Throws: `CancellationError` if the task is cancelled; ``StorageError`` after `timeout`.
    func lock(_ name: String, timeout: Duration) async throws -> any StorageLock
}

extension AccountStorage {
    /// Adds a record and sets no value: see ``insert(_:setting:)``.
    public func insert(_ record: SealedRecord) async throws -> (position: Int64, sequence: Int64) {
        try await insert(record, setting: [:])
    }

    /// Replaces a record and sets no value: see ``replace(_:kind:setting:)``.
    public func replace(_ record: SealedRecord, kind: StorageChange.Kind) async throws -> Int64? {
        try await replace(record, kind: kind, setting: [:])
    }

    /// Returns whether there are no records.
    package func isEmpty() async throws -> Bool { try await records(ofType: nil, after: 0, limit: 1).isEmpty }

    /// Returns all records of a type, or of every type, in order.
    ///
    /// For tests and small stores, because all are in memory together.
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

/// The pages in which callers read all records.
package enum RecordPage {
    /// The maximum number of records in a page.
    package static let size = 256

    /// Returns the position after which the next page starts.
    ///
    /// Positions that do not increase are damaged, and would cause an endless loop.
    package static func next(after last: Int64, _ end: Int64, location: String) throws(StorageError) -> Int64 {
        guard end > last else { throw .damagedOrder(location: location) }
        return end
    }
}
