import LodgePlatform
import OAuth2AccountStore
import StrictJSON

/// The users in an account's offline copy. It sends no requests.
///
/// ```swift
/// let directory = OfflineDirectory(account: account.id, in: storeDirectory)
/// let users = try await directory.users(typed: "ada lo", limit: 20)
/// ```
///
/// The first call opens the file. A call after ``OfflineIndex/forget(account:in:)`` and a new ``DirectorySync`` opens
/// it again. One thread processes all calls in order. During a sync they return the users of the last saved page.
///
/// Users have the saved properties; others are missing, as in a response to a query that does not select them.
public actor OfflineDirectory {
    /// The copy.
    public nonisolated let index: OfflineIndex
    private let thread = SerialThread()
    private var database: OfflineDatabase?

    /// The executor of a separate thread, because SQLite waits for the disk.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// Creates access to the copy of an account in the folder of a store. Opens no file.
    public init(account: Account.ID, in directory: StoreLocation) {
        index = OfflineIndex(account: account, in: directory)
    }

    /// Returns the users that match a typed search text, the best match first.
    ///
    /// ``SearchText`` determines the users and their order. Case and accents are ignored. With a limit, users whose
    /// given name or surname is a word of the search text have precedence, then users whose given name or surname
    /// starts with one.
    ///
    /// - Parameter limit: The maximum number of users, 1 to 1,000.
    /// - Returns: An empty list for a search text without letters and digits.
    /// - Throws: ``OfflineIndexError``, `StorageError`; ``DirectoryError`` of the kind `notInCopy` if the copy contains
    ///   neither names nor addresses.
    public func users(typed text: String, limit: Int = 50) throws -> [User] {
        let text = SearchText(text)
        return try withDatabase { database in
            let saved = try database.state().properties
            guard !text.words.isEmpty else { return [] }
            let condition = try OfflineCondition(.matching(text), saved: saved)
            let users = try database.users(matching: text, condition, limit: min(max(limit, 1), 1000)).map {
                Self.user($0, saved: saved, select: saved)
            }
            return text.ranked(users)
        }
    }

    /// Returns the users that match a filter, compared like the service.
    ///
    /// Their order is stable until the next sync.
    ///
    /// The index finds prefixes of names and addresses; any other comparison reads all users. A filter for a property
    /// that is not in the copy, or in OData's language, throws an error.
    ///
    /// - Parameters:
    ///   - filter: The filter; `nil` for all users.
    ///   - select: The properties of each user; `nil` for all properties of the copy.
    ///   - limit: The maximum number of users.
    /// - Throws: ``DirectoryError`` of the kinds `emptySearch` and `invalidQuery`, ``OfflineIndexError``,
    ///   `StorageError`, `CancellationError`.
    package func users(matching filter: UserFilter?, select: [String]? = nil, limit: Int) throws -> [User] {
        try page(matching: filter, select: select, after: Position(), limit: limit).users
    }

    /// A position in the list of matching users.
    package struct Position: Sendable, Equatable {
        var number: Int64 = 0

        /// Creates the position at the start.
        package init() {}
    }

    /// Returns some of the matching users and the next position, or `nil` at the end.
    ///
    /// - Throws: The same errors as ``users(matching:select:limit:)``.
    package func page(
        matching filter: UserFilter?, select: [String]? = nil, after position: Position, limit: Int
    ) throws -> (users: [User], next: Position?) {
        _ = try filter?.odata()
        var query = UserQuery.everyone()
        query.filter = filter
        return try page(of: query, select: select, after: position, limit: limit)
    }

    /// Returns a page for the filter and the search of a validated query.
    func page(
        of query: UserQuery, select: [String]?, after position: Position, limit: Int
    ) throws -> (users: [User], next: Position?) {
        try withDatabase { database in
            let saved = try database.state().properties
            let condition = try OfflineCondition.of(query, saved: saved)
            guard limit > 0 else { return ([], nil) }
            let (found, isEnd) = try database.users(condition, after: position.number, limit: limit)
            var next = position
            if let last = found.last { next.number = last.number }
            return (found.map { Self.user($0.user, saved: saved, select: select ?? saved) }, isEnd ? nil : next)
        }
    }

    /// Returns one user by identifier, sign-in name or mail address.
    ///
    /// - Throws: ``DirectoryError`` of the kind `notFound` if the copy has no such user, `ambiguous` if several users
    ///   have the mail address, `emptySearch` for an empty name; ``OfflineIndexError``, `StorageError`.
    public func user(_ name: String, select: [String]? = nil) throws -> User {
        try withDatabase { database in
            let saved = try database.state().properties
            return Self.user(try database.user(named: name), saved: saved, select: select ?? saved)
        }
    }

    /// Returns a summary of the copy.
    ///
    /// - Throws: ``OfflineIndexError``, `StorageError`.
    public func summary() throws -> OfflineIndex.Summary { try withDatabase { try $0.summary() } }

    private func withDatabase<Value>(_ body: (OfflineDatabase) throws -> Value) throws -> Value {
        if database?.isCurrentFile == false { database = nil }
        if database == nil { database = try OfflineDatabase.open(index) }
        guard let database else { throw OfflineIndexError(.missing, path: index.path) }
        do {
            return try OfflineDatabase.wrappingErrors(index) { try body(database) }
        } catch let error as OfflineIndexError where error.kind == .damaged || error.kind == .missing {
            // Another process may have replaced the file, so the next call opens it again.
            self.database = nil
            throw error
        }
    }

    /// Returns a user in the form of the service: a property without a value is `null`.
    private static func user(_ user: JSONObject, saved: [String], select: [String]) -> User {
        var object = JSONObject()
        for name in select {
            let top = String(name.prefix { $0 != "/" })
            guard object[top] == nil else { continue }
            if let value = user[top] {
                object.append(top, value)
            } else if saved.contains(name) {
                object.append(top, .null)
            }
        }
        if object["id"] == nil, let id = user["id"] {
            object = JSONObject([.init(name: "id", value: id)] + object.members)
        }
        return User(json: object)
    }
}
