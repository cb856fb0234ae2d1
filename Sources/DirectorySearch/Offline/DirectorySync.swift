import LodgePlatform
import OAuth2AccountStore

/// Updates the offline copy of an account with `/users/delta`, one page at a time.
///
/// The first sync loads all users, later ones only the changes. Each page is saved together with the position in the
/// service's list: an interrupted sync resumes after the last page. If the service does not know the position any more,
/// after seven days or at its own request, the sync loads all users again; the copy keeps its users until that list is
/// complete. Several processes can sync concurrently: a sync ignores a page that another process has saved.
///
/// Memory contains one page, regardless of the number of users.
public actor DirectorySync {
    /// The progress of a sync.
    public struct Progress: Sendable, Equatable {
        /// A phase of a sync.
        public enum Phase: Sendable, Equatable {
            /// All users are being loaded.
            case listing
            /// The list is complete. Old users are removed and the index is optimized.
            case finishing
            /// Changes are being loaded.
            case changes
            /// The copy is current.
            case current
        }

        /// The current phase.
        public var phase = Phase.listing
        /// The number of users in the copy.
        public var users = 0
        /// The number of users that this sync added or changed.
        public var changed = 0
        /// The number of users that this sync removed.
        public var removed = 0
        /// The number of pages that this sync read.
        public var pages = 0
        /// The number of times that this sync started a new list.
        public var restarts = 0
    }

    /// The copy that this sync updates.
    package nonisolated let index: OfflineIndex
    private let makeClient: @Sendable () async throws -> DirectoryClient
    private let requestedProperties: [String]?
    private let maximumUsers: Int
    private let thread = SerialThread()
    private var client: DirectoryClient?
    private var database: OfflineDatabase?
    private var loopGuard: LoopGuard
    private var isMerging = false
    /// Whether this sync created the copy, which is still empty.
    private var isNew = false
    /// Whether the first step resumed an interrupted sync; `nil` before the first step.
    private var isResumed: Bool?
    private var progress = Progress()

    /// The default maximum number of users: the number of objects that Microsoft Entra allows in a large tenant.
    public static let defaultMaximumUsers = 5_000_000
    /// The upper bound for the maximum number of users.
    package static let largestMaximumUsers = 100_000_000
    /// The maximum size of the copy: a fixed part and a part per user.
    private static let maximumSize = (fixed: 64 << 20, perUser: 4 << 10)

    /// The maximum number of new lists in one sync.
    private static let maximumRestarts = 3

    /// The executor of a separate thread, because SQLite waits for the disk.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// Creates a sync of the users that an account can read.
    ///
    /// - Parameters:
    ///   - directory: The source of the users.
    ///   - properties: The properties to save in addition to the identifier. If `nil`, the properties of the existing
    ///     copy, or ``UserQuery/defaultProperties``. Different properties start a new list.
    ///   - maximumUsers: The maximum number of users in the copy and of changes in one sync, as protection against an
    ///     endless directory. The copy has at most 4 KB for each of them, and 64 MB.
    public init(
        of directory: GraphDirectory, account: Account.ID, in storeDirectory: StoreLocation,
        properties: [String]? = nil, maximumUsers: Int = DirectorySync.defaultMaximumUsers
    ) {
        index = OfflineIndex(account: account, in: storeDirectory)
        makeClient = directory.makeClient
        requestedProperties = properties
        self.maximumUsers = min(max(0, maximumUsers), Self.largestMaximumUsers)
        loopGuard = Self.makeLoopGuard(self.maximumUsers)
    }

    /// Returns a guard for one list. A user can change again while the sync loads the changes.
    private static func makeLoopGuard(_ maximumUsers: Int) -> LoopGuard {
        LoopGuard(maximumElements: 2 * maximumUsers)
    }

    /// Loads changes until there are no more.
    ///
    /// - Parameter report: Receives the progress after each step.
    /// - Throws: ``DirectoryError``, of the kind `notSupported` if the service has no list of changes;
    ///   ``OfflineIndexError``, `StorageError`; the errors of the transport and the authorization; `CancellationError`.
    ///   The saved pages remain, and the next sync resumes after them.
    @discardableResult
    public func run(_ report: @Sendable (Progress) async -> Void = { _ in }) async throws -> Progress {
        while true {
            let progress = try await step()
            await report(progress)
            guard progress.phase == .current else { continue }
            if isResumed != true {
                try? database?.truncateLog()
                return progress
            }
            // This finished an interrupted sync. The next round loads the changes made since then.
            isResumed = false
        }
    }

    /// Loads and saves one page, or performs a part of the work at the end of a list.
    ///
    /// - Returns: The progress so far. In the phase `current` the sync is complete, and another step loads new changes.
    /// - Throws: The same errors as ``run(_:)``.
    package func step() async throws -> Progress {
        try Task.checkCancellation()
        let client = try await currentClient()
        var (stored, state) = try openedState(client)
        if isResumed == nil { isResumed = state.phase != .current && state.link != nil }
        try checkSize(state)
        if state.phase == .finishing {
            try finish(state, client)
            return progress
        }
        let url = try state.link ?? client.deltaURL(selecting: state.properties)
        // A round of changes starts at the end of the previous one, so the guard compares only the pages of one round.
        if state.phase == .current { loopGuard = Self.makeLoopGuard(maximumUsers) }
        try loopGuard.enter(url)
        let page: DeltaPage
        do {
            page = try await client.deltaPage(at: url, isMinimal: state.phase != .listing)
        } catch let error as DirectoryError where error.kind == .resyncNeeded && state.link != nil {
            guard progress.restarts < Self.maximumRestarts else { throw error }
            try restart(state, client)
            return progress
        } catch var error as DirectoryError where state.link == nil && error.isMissingResource {
            discardEmptyCopy()
            error.kind = .notSupported
            throw error
        } catch {
            discardEmptyCopy()
            throw error
        }
        // Another process may have signed out and removed the copy during the request.
        let database = try currentDatabase()
        guard let applied = try database.apply(page, at: state, replacing: stored, now: Self.seconds(client))
        else { return progress }
        isNew = false
        state = applied.state
        progress.pages += 1
        note(applied.changes, state)
        // A list contains each user once. A round of changes repeats a user who changed again.
        let changes = applied.changes
        let newUsers = state.phase == .listing ? changes.new : changes.changed + changes.removed
        do throws(DirectoryError) {
            try loopGuard.leave(newElements: newUsers, hasNext: page.next.isPage)
        } catch {
            if case .tooManyResults = error.kind { throw DirectoryError(.copyTooLarge(maximumUsers: maximumUsers)) }
            throw error
        }
        return progress
    }

    /// Checks the size of the copy before the next page.
    private func checkSize(_ state: SyncState) throws {
        // While a new list replaces an old one, the copy contains the users of both.
        let lists = state.generation > 1 && state.phase == .listing ? 2 : 1
        let users = lists * maximumUsers
        guard state.users <= users,
            try currentDatabase().size() <= Self.maximumSize.fixed + users * Self.maximumSize.perUser
        else { throw DirectoryError(.copyTooLarge(maximumUsers: maximumUsers)) }
    }

    private func currentClient() async throws -> DirectoryClient {
        if let client { return client }
        let made = try await makeClient()
        client = made
        return made
    }

    /// Opens or creates the copy. Returns its state and the state to resume from.
    ///
    /// They differ if the properties changed: then a new list starts, and its first page replaces the old one. A list
    /// that the service rejects changes nothing.
    private func openedState(_ client: DirectoryClient) throws -> (stored: SyncState, state: SyncState) {
        // Checked first, so that a wrong property name creates no file.
        if let requestedProperties { _ = try client.deltaURL(selecting: requestedProperties) }
        if database == nil { database = try OfflineDatabase.open(index) }
        if database == nil {
            isNew = true
            database = try OfflineDatabase.make(
                index,
                SyncState(
                    account: index.account.rawValue, base: client.base,
                    properties: requestedProperties ?? UserQuery.defaultProperties))
        }
        let database = try currentDatabase()
        return try OfflineDatabase.wrappingErrors(index) {
            let stored = try database.state()
            var state = stored
            let properties = requestedProperties ?? state.properties
            if Set(properties) != Set(state.properties) || state.base != client.base {
                state.startList(of: properties, base: client.base)
                loopGuard = Self.makeLoopGuard(maximumUsers)
            }
            return (stored, state)
        }
    }

    /// Removes a new empty copy after an error, because a search in it would find no users.
    private func discardEmptyCopy() {
        guard isNew, let state = try? database?.state(), state.link == nil, state.users == 0 else { return }
        isNew = false
        database = nil
        _ = try? index.erase()
    }

    private func currentDatabase() throws -> OfflineDatabase {
        guard let database, database.isCurrentFile else {
            database = nil
            throw OfflineIndexError(.forgotten, path: index.path)
        }
        return database
    }

    private func restart(_ state: SyncState, _ client: DirectoryClient) throws {
        let database = try currentDatabase()
        try database.connection.transaction { () throws(StorageError) in
            // Another process may already have started a new list.
            var now = try database.state()
            guard now.hasSamePosition(as: state) else { return }
            now.startList(of: now.properties, base: now.base)
            try database.save(now)
        }
        loopGuard = Self.makeLoopGuard(maximumUsers)
        isMerging = false
        progress.restarts += 1
        progress.phase = .listing
    }

    private func finish(_ state: SyncState, _ client: DirectoryClient) throws {
        let database = try currentDatabase()
        guard let finished = try database.finish(state, isMerging: isMerging, now: Self.seconds(client)) else {
            return
        }
        isMerging = finished.isMerging
        note(finished.changes, finished.state)
        if finished.state.phase == .current { isMerging = false }
    }

    private func note(_ changes: AppliedChanges, _ state: SyncState) {
        progress.changed += changes.changed
        progress.removed += changes.removed
        progress.users = Int(clamping: state.users)
        progress.phase =
            switch state.phase {
            case .listing: .listing
            case .finishing: .finishing
            case .changing: .changes
            case .current: .current
            }
    }

    private static func seconds(_ client: DirectoryClient) -> Int64 {
        Int64(exactly: client.now().timeIntervalSince1970.rounded(.down)) ?? 0
    }
}
