import Platform
public import OAuth2AccountStore
import Platform
import StrictJSON

/// The people of an account's offline copy. Nothing is sent.
///
/// ```swift
/// let directory = OfflineDirectory(account: account.id, in: storeDirectory)
/// let people = try await directory.users(typed: "ada lo", limit: 20)
/// ```
///
/// The file is opened by the first question, and again after ``OfflineIndex/forget(account:in:)`` and a new ``DirectorySync``. Questions
/// are answered one after the other on a thread of their own. While a sync writes, they are answered from what was saved before.
///
/// People have the properties that are kept; the others are missing, as they are in answers of the service that was not asked for them.
public actor OfflineDirectory {
    /// The copy that is asked.
    public nonisolated let index: OfflineIndex
    private let thread = SerialThread()
    private var database: OfflineDatabase?

    /// The directory's own thread: SQLite waits for the disk.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// The copy of this account in this directory of a store. Nothing is opened yet.
    public init(account: Account.ID, in directory: StoreLocation) {
        index = OfflineIndex(account: account, in: directory)
    }

    /// People for what somebody typed, the best first.
    ///
    /// A person is found when each word begins a word of their display name, given name, surname, or of what stands before the `@` of
    /// their mail address or sign-in name. Upper and lower case make no difference, and neither do accents. Those come first whose
    /// display name begins with the text, then those whose given name does, then the surname, then the others.
    ///
    /// - Parameter limit: the most people, 1 to 1,000.
    /// - Returns: nobody for a text without a letter or digit.
    /// - Throws: ``OfflineIndexError``, `StorageError`.
    public func users(typed text: String, limit: Int = 50) throws -> [User] {
        try asking { database in
            let kept = try database.state().properties
            return try database.people(matching: text, limit: min(max(limit, 1), 1000)).map {
                Self.user($0, kept: kept, select: kept)
            }
        }
    }

    /// The people to whom a filter applies, compared as the service compares them, in an order that stays the same until the next sync.
    ///
    /// What begins with a text in names and addresses is found at once; any other comparison goes through everybody. A filter over what
    /// is not kept, or in OData's own words, is refused.
    ///
    /// - Parameters:
    ///   - filter: nil for everybody.
    ///   - select: the properties that each person has, of those that are kept; nil for all of these.
    ///   - limit: the most people.
    /// - Throws: ``DirectoryError`` of the kinds `emptySearch` and `invalidQuery`, ``OfflineIndexError``, `StorageError`,
    ///   `CancellationError`.
    public func users(matching filter: UserFilter?, select: [String]? = nil, limit: Int) throws -> [User] {
        try page(matching: filter, select: select, after: Position(), limit: limit).users
    }

    /// A place in the list of the people to whom a filter applies.
    public struct Position: Sendable, Equatable {
        var number: Int64 = 0

        /// The beginning.
        public init() {}
    }

    /// Some of the people to whom a filter applies, and where to go on; nil at the end.
    ///
    /// - Throws: as ``users(matching:select:limit:)`` does.
    public func page(
        matching filter: UserFilter?, select: [String]? = nil, after position: Position, limit: Int
    ) throws -> (users: [User], next: Position?) {
        try asking { database in
            let kept = try database.state().properties
            let condition = try filter.map { try OfflineCondition($0, kept: kept) }
            guard limit > 0 else { return ([], nil) }
            let (found, isEnd) = try database.people(condition, after: position.number, limit: limit)
            var next = position
            if let last = found.last { next.number = last.number }
            return (found.map { Self.user($0.person, kept: kept, select: select ?? kept) }, isEnd ? nil : next)
        }
    }

    /// One person, by identifier, sign-in name or mail address.
    ///
    /// - Throws: ``DirectoryError`` of the kind `notFound` when nobody of this name is kept, `ambiguous` when several have the mail
    ///   address, `emptySearch` for an empty text; ``OfflineIndexError``, `StorageError`.
    public func user(_ name: String, select: [String]? = nil) throws -> User {
        try asking { database in
            let kept = try database.state().properties
            return Self.user(try database.person(named: name), kept: kept, select: select ?? kept)
        }
    }

    /// What is kept, in figures.
    ///
    /// - Throws: ``OfflineIndexError``, `StorageError`.
    public func summary() throws -> OfflineIndex.Summary { try asking { try $0.summary() } }

    private func asking<Value>(_ body: (OfflineDatabase) throws -> Value) throws -> Value {
        if database?.isInPlace == false { database = nil }
        if database == nil { database = try OfflineDatabase.open(index) }
        guard let database else { throw OfflineIndexError(.missing, place: index.path) }
        do {
            return try OfflineDatabase.translating(index) { try body(database) }
        } catch let error as OfflineIndexError where error.kind == .damaged || error.kind == .missing {
            // The next question opens it anew: by then there may be a sound one.
            self.database = nil
            throw error
        }
    }

    /// The person as the service would give them: what has no value is null.
    private static func user(_ person: JSONObject, kept: [String], select: [String]) -> User {
        var object = JSONObject()
        for name in select {
            let top = String(name.prefix { $0 != "/" })
            guard object[top] == nil else { continue }
            if let value = person[top] {
                object.append(top, value)
            } else if kept.contains(name) {
                object.append(top, .null)
            }
        }
        if object["id"] == nil, let id = person["id"] {
            object = JSONObject([.init(name: "id", value: id)] + object.members)
        }
        return User(json: object)
    }
}
