import SealedStorage

/// The requirements for every storage. A check receives a closure that opens the same storage, initially empty, any
/// number of times: for a storage that several processes share, each instance represents a process.
public enum StorageCheck: String, CaseIterable, Sendable {
    case `records are returned unchanged, in the order of insertion`
    case `pages contain each record once`
    case `a record is found only by its current identity`
    case `count and lastRecord include the records of a type`
    case `an existing identifier is rejected without a change`
    case `only the next revision replaces a record`
    case `a new record does not reuse the position of a removed record`
    case `values are saved, replaced and removed`
    case `a record and values are saved together or not at all`
    case `the log contains each change once and in order`
    case `changes after a future sequence are empty or unknown`
    case `concurrent writers lose no change and leave no gap in the log`
    case `watch reports a change of another instance`
    case `a released watch reports no change`
    case `a lock has one holder at a time, and different names are independent`
    case `a cancelled wait for a lock does not acquire it`
    case `a deinitialized lock is released`
    case `checkWritable succeeds for a writable storage`

    /// Opens the storage.
    public typealias Open = @Sendable () async throws -> any AccountStorage

    /// Runs the check.
    ///
    /// - Throws: ``StorageCheckFailure`` if the storage does not meet the requirement, or the error of the storage.
    public func run(_ open: @escaping Open) async throws {
        switch self {
        case .`records are returned unchanged, in the order of insertion`: try await RecordChecks.order(open)
        case .`pages contain each record once`: try await RecordChecks.pages(open)
        case .`a record is found only by its current identity`: try await RecordChecks.identity(open)
        case .`count and lastRecord include the records of a type`: try await RecordChecks.count(open)
        case .`an existing identifier is rejected without a change`: try await RecordChecks.taken(open)
        case .`only the next revision replaces a record`: try await RecordChecks.revision(open)
        case .`a new record does not reuse the position of a removed record`: try await RecordChecks.removed(open)
        case .`values are saved, replaced and removed`: try await RecordChecks.values(open)
        case .`a record and values are saved together or not at all`: try await RecordChecks.valuesOfRecord(open)
        case .`the log contains each change once and in order`: try await SharedChecks.log(open)
        case .`changes after a future sequence are empty or unknown`: try await SharedChecks.future(open)
        case .`concurrent writers lose no change and leave no gap in the log`: try await SharedChecks.writers(open)
        case .`watch reports a change of another instance`: try await SharedChecks.watch(open)
        case .`a released watch reports no change`: try await SharedChecks.unwatch(open)
        case .`a lock has one holder at a time, and different names are independent`:
            try await SharedChecks.locks(open)
        case .`a cancelled wait for a lock does not acquire it`: try await SharedChecks.cancelledLock(open)
        case .`a deinitialized lock is released`: try await SharedChecks.droppedLock(open)
        case .`checkWritable succeeds for a writable storage`:
            let storage = try await open()
            try await storage.checkWritable()
            try await storage.checkWritable()
            _ = try await storage.insert(record("a"))
            try await expect(await storage.count(ofType: nil) == 1, "one record")
        }
    }
}

/// The error of a storage that does not meet a requirement.
public struct StorageCheckFailure: Error, CustomStringConvertible {
    /// The expectation, and the line of the check.
    public let description: String
}

func expect(_ condition: @autoclosure () async throws -> Bool, _ expectation: String, line: Int = #line) async throws {
    guard try await !condition() else { return }
    throw StorageCheckFailure(description: "expected: \(expectation) (line \(line))")
}

func record(
    _ id: String, type: String = "graph", revision: Int64 = 1, identity: [UInt8]? = nil,
    _ bytes: [UInt8] = [1, 2, 0, 3]
) -> SealedRecord {
    SealedRecord(id: id, type: type, revision: revision, identity: identity, sealed: bytes)
}
