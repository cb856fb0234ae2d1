import SealedStorage

/// What every storage has to do, whichever it is. A check is given a way to open the same storage, fresh and empty at first, as
/// often as it likes: for a storage that several processes share, each opening stands for a process.
public enum StorageCheck: String, CaseIterable, Sendable {
    case `records come back as they were, in the order they were added`
    case `pages go through all records, each once`
    case `a record is found by its identity, and only while it has it`
    case `records are counted, and the last one is known`
    case `a taken identifier is refused and changes nothing`
    case `only the next revision replaces a record`
    case `a removed record's place is not given to the record before it`
    case `small values are kept, replaced and removed`
    case `the log has every change once and in order`
    case `a log asked for what is to come has nothing`
    case `writers at once lose nothing and leave no gap in the log`
    case `who watches is told of another's change`
    case `who no longer watches is not told`
    case `a lock is given to one at a time, and names do not wait for each other`
    case `who gives up waiting for a lock does not get it`
    case `a lock that is let go of is free`
    case `it can be written when it says so`

    /// Opens the storage.
    public typealias Open = @Sendable () async throws -> any AccountStorage

    /// Does the check.
    ///
    /// - Throws: ``StorageCheckFailure`` when the storage did something else, or what the storage threw.
    public func run(_ open: @escaping Open) async throws {
        switch self {
        case .`records come back as they were, in the order they were added`: try await RecordChecks.order(open)
        case .`pages go through all records, each once`: try await RecordChecks.pages(open)
        case .`a record is found by its identity, and only while it has it`: try await RecordChecks.identity(open)
        case .`records are counted, and the last one is known`: try await RecordChecks.count(open)
        case .`a taken identifier is refused and changes nothing`: try await RecordChecks.taken(open)
        case .`only the next revision replaces a record`: try await RecordChecks.revision(open)
        case .`a removed record's place is not given to the record before it`: try await RecordChecks.removed(open)
        case .`small values are kept, replaced and removed`: try await RecordChecks.values(open)
        case .`the log has every change once and in order`: try await SharedChecks.log(open)
        case .`a log asked for what is to come has nothing`: try await SharedChecks.future(open)
        case .`writers at once lose nothing and leave no gap in the log`: try await SharedChecks.writers(open)
        case .`who watches is told of another's change`: try await SharedChecks.watch(open)
        case .`who no longer watches is not told`: try await SharedChecks.unwatch(open)
        case .`a lock is given to one at a time, and names do not wait for each other`:
            try await SharedChecks.locks(open)
        case .`who gives up waiting for a lock does not get it`: try await SharedChecks.cancelledLock(open)
        case .`a lock that is let go of is free`: try await SharedChecks.droppedLock(open)
        case .`it can be written when it says so`:
            let storage = try await open()
            try await storage.checkWritable()
            try await storage.checkWritable()
            _ = try await storage.insert(record("a"))
            try await expect(await storage.count(ofType: nil) == 1, "one record")
        }
    }
}

/// A storage did something else than it should.
public struct StorageCheckFailure: Error, CustomStringConvertible {
    /// What was expected, and the line of the check.
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
