import Platform
public import OAuth2AccountStore

/// Keeps an account's offline copy up to date by `/users/delta`, a page at a time.
///
/// The first time everybody is listed, later only what changed. People and the place in the service's list are saved together: whoever
/// is stopped or killed goes on from the last page. When the service no longer knows the place, after seven days or when it says so,
/// everybody is listed anew; who is kept stays until that list is at its end. Several processes may sync at once: a page that another
/// one has saved already is dropped.
///
/// Memory holds one page, however many people there are.
public actor DirectorySync {
    /// How far a sync is.
    public struct Progress: Sendable, Equatable {
        /// What is being done.
        public enum Phase: Sendable, Equatable {
            /// Everybody is being listed.
            case listing
            /// The list is complete, and the index is being put in order.
            case settling
            /// Changes are being read.
            case changes
            /// The copy agrees with the service.
            case current
        }

        /// What is being done.
        public var phase = Phase.listing
        /// How many people are kept.
        public var people = 0
        /// How many people came or changed in this sync.
        public var changed = 0
        /// How many people were removed in this sync.
        public var removed = 0
        /// How many pages were read in this sync.
        public var pages = 0
        /// How often everybody had to be listed anew in this sync.
        public var restarts = 0
    }

    /// The copy that is kept up to date.
    public nonisolated let index: OfflineIndex
    private let connect: @Sendable () async throws -> GraphConnection
    private let wanted: [String]?
    private let thread = SerialThread()
    private var connection: GraphConnection?
    private var database: OfflineDatabase?
    private var guardian = LoopGuard()
    private var isMerging = false
    /// Whether this made the copy, and nothing is in it yet.
    private var isNew = false
    /// Whether the first step went on with what another sync had begun, perhaps long ago; nil before it.
    private var isResumed: Bool?
    private var progress = Progress()

    /// How often a list is begun anew in one sync.
    private static let maximumRestarts = 3

    /// The sync's own thread: SQLite waits for the disk.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// A sync of the people that an account sees in a directory.
    ///
    /// - Parameters:
    ///   - directory: where the people come from.
    ///   - properties: what is kept of each person, beside the identifier; nil for what is kept already, at first
    ///     ``UserQuery/defaultProperties``. Other properties than those kept begin a new list.
    public init(
        of directory: GraphDirectory, account: Account.ID, in storeDirectory: StoreLocation,
        properties: [String]? = nil
    ) {
        index = OfflineIndex(account: account, in: storeDirectory)
        connect = directory.connect
        wanted = properties
    }

    /// Reads changes until there are no more.
    ///
    /// - Parameter report: called after each step, with what was done so far.
    /// - Throws: ``DirectoryError``, ``OfflineIndexError``, `StorageError`; what the transport and the authorization throw;
    ///   `CancellationError`. What was saved stays, and the next sync goes on from there.
    @discardableResult
    public func run(_ report: @Sendable (Progress) async -> Void = { _ in }) async throws -> Progress {
        while true {
            let progress = try await step()
            await report(progress)
            guard progress.phase == .current else { continue }
            if isResumed != true {
                try? database?.tidy()
                return progress
            }
            // The end of what was begun earlier is not the present.
            isResumed = false
        }
    }

    /// Reads and saves one page, or does a part of the work at the end of a list.
    ///
    /// - Returns: what was done by this value so far; at the phase `current` there is no more to do, and another step asks for new changes.
    /// - Throws: as ``run(_:)`` does.
    public func step() async throws -> Progress {
        try Task.checkCancellation()
        let connection = try await connected()
        var (stored, state) = try opened(connection)
        if isResumed == nil { isResumed = state.phase != .current && state.link != nil }
        if state.phase == .settling {
            try settle(state, connection)
            return progress
        }
        let address = try state.link ?? connection.deltaAddress(selecting: state.properties)
        // A round of changes begins where the last one ended, so only the pages within one are compared.
        if state.phase == .current { guardian = LoopGuard() }
        try guardian.enter(address)
        let page: DeltaPage
        do {
            page = try await connection.deltaPage(
                at: address, properties: state.properties, isMinimal: state.phase != .listing)
        } catch let error as DirectoryError where error.kind == .resyncNeeded && state.link != nil {
            guard progress.restarts < Self.maximumRestarts else { throw error }
            try restart(state, connection)
            return progress
        } catch {
            forgetNew()
            throw error
        }
        // While the answer was awaited, somebody may have signed out.
        let database = try placed()
        try guardian.leave(isEmpty: page.changes.isEmpty && page.next.isPage)
        guard let applied = try database.apply(page, at: state, replacing: stored, now: Self.seconds(connection))
        else { return progress }
        isNew = false
        state = applied.state
        progress.pages += 1
        note(applied.changes, state)
        return progress
    }

    private func connected() async throws -> GraphConnection {
        if let connection { return connection }
        let made = try await connect()
        connection = made
        return made
    }

    /// The state of the copy, which is made when there is none, and where to ask: there, or at the beginning of a new list where what is
    /// wanted is not what is kept. The new list takes the old one's place with its first page: what the service refuses changes nothing.
    private func opened(_ connection: GraphConnection) throws -> (stored: SyncState, state: SyncState) {
        // Before anything is made: a name that is none is told at once.
        if let wanted { _ = try connection.deltaAddress(selecting: wanted) }
        if database == nil { database = try OfflineDatabase.open(index) }
        if database == nil {
            isNew = true
            database = try OfflineDatabase.make(
                index,
                SyncState(
                    account: index.account.rawValue, base: connection.base,
                    properties: wanted ?? UserQuery.defaultProperties))
        }
        let database = try placed()
        return try OfflineDatabase.translating(index) {
            let stored = try database.state()
            var state = stored
            let properties = wanted ?? state.properties
            if Set(properties) != Set(state.properties) || state.base != connection.base {
                state.beginList(of: properties, base: connection.base)
                guardian = LoopGuard()
            }
            return (stored, state)
        }
    }

    /// A copy that was made for people who did not come is none: with it, questions would be answered by nobody.
    private func forgetNew() {
        guard isNew, let state = try? database?.state(), state.link == nil, state.people == 0 else { return }
        isNew = false
        database = nil
        _ = try? index.erase()
    }

    private func placed() throws -> OfflineDatabase {
        guard let database, database.isInPlace else {
            database = nil
            throw OfflineIndexError(.forgotten, place: index.path)
        }
        return database
    }

    private func restart(_ state: SyncState, _ connection: GraphConnection) throws {
        let database = try placed()
        try database.connection.transaction { () throws(StorageError) in
            // Another process may have begun anew already.
            var now = try database.state()
            guard now.isAtSamePlace(as: state) else { return }
            now.beginList(of: now.properties, base: now.base)
            try database.save(now)
        }
        guardian = LoopGuard()
        isMerging = false
        progress.restarts += 1
        progress.phase = .listing
    }

    private func settle(_ state: SyncState, _ connection: GraphConnection) throws {
        let database = try placed()
        guard let settled = try database.settle(state, isMerging: isMerging, now: Self.seconds(connection)) else {
            return
        }
        isMerging = settled.isMerging
        note(settled.changes, settled.state)
        if settled.state.phase == .current { isMerging = false }
    }

    private func note(_ changes: AppliedChanges, _ state: SyncState) {
        progress.changed += changes.changed
        progress.removed += changes.removed
        progress.people = Int(clamping: state.people)
        progress.phase =
            switch state.phase {
            case .listing: .listing
            case .settling: .settling
            case .changing: .changes
            case .current: .current
            }
    }

    private static func seconds(_ connection: GraphConnection) -> Int64 {
        Int64(exactly: connection.now().timeIntervalSince1970.rounded(.down)) ?? 0
    }
}

extension DeltaPage.Next {
    var isPage: Bool {
        if case .page = self { true } else { false }
    }
}
