extension OfflineDirectory: UserDirectory {
    /// Returns the users of a query, page by page, in the order of the copy.
    ///
    /// A filter or search in Graph's language, an order, related users and deleted users throw `notInCopy`.
    public nonisolated func pages(matching query: UserQuery) -> UserPages { pages(query, isPlanned: false) }

    /// Returns the users of a planned query, page by page. Throws the same errors as ``pages(matching:)-(UserQuery)``.
    public nonisolated func pages(of plan: SearchPlan) -> UserPages {
        if case .graph = plan.request { pages(plan.query, isPlanned: true) } else { pages(matching: plan.query) }
    }

    private nonisolated func pages(_ query: UserQuery, isPlanned: Bool) -> UserPages {
        let pages = OfflinePages(directory: self, query: query, isPlanned: isPlanned)
        return UserPages { pages }
    }

    /// Returns the number of matching users in the copy.
    ///
    /// - Throws: ``DirectoryError`` of the kinds `emptySearch`, `invalidQuery` and `notInCopy`, ``OfflineIndexError``,
    ///   `StorageError`, `CancellationError`.
    public func count(of query: UserQuery) async throws -> Int {
        // The number depends neither on the size of a page nor on the order.
        let query = query.pageForTotal
        try OfflinePages.check(query, isPlanned: false)
        return try await count(ofPlanned: query)
    }

    fileprivate func count(ofPlanned query: UserQuery) async throws -> Int {
        guard query.filter != nil || query.search != nil else { return try summary().users }
        var count = 0
        var position: Position? = Position()
        while let start = position {
            let (users, next) = try page(of: query, select: ["id"], after: start, limit: 1000)
            count += users.count
            position = next
            // Lets other callers of the actor run.
            await Task.yield()
        }
        return count
    }

    /// Returns one user by identifier, sign-in name or mail address.
    ///
    /// - Throws: ``DirectoryError`` of the kinds `notFound`, `ambiguous` and `emptySearch`; ``OfflineIndexError``, `StorageError`.
    public func user(_ name: String, select: [String]) async throws -> User { try user(name, select: Optional(select)) }

    /// Throws an error, because the copy does not identify the signed-in user.
    public func me(select: [String]) async throws -> User {
        throw OfflineCondition.unsupported("the copy does not contain which user is signed in")
    }

    /// Returns one user. The copy contains no related objects: every part is ``UserDetail/Part/notRequested``.
    public func detail(
        of name: String, select: [String], parts: Set<UserDetail.PartName>
    ) async throws -> UserDetail {
        UserDetail(user: try user(name, select: Optional(select)))
    }

    /// Looks up users by identifier, sign-in name or mail address, in the order of the names.
    public nonisolated func lookUp<Names: AsyncSequence & Sendable>(_ names: Names, select: [String]) -> UserLookups
    where Names.Element == String, Names.AsyncIterator: Sendable {
        UserLookups { OfflineLookups(directory: self, names: names.makeAsyncIterator(), select: select) }
    }
}

/// The pages of a query in the copy.
private struct OfflinePages: UserPageSource {
    let directory: OfflineDirectory
    let query: UserQuery
    private let checked: Result<Void, DirectoryError>
    private var position: OfflineDirectory.Position? = OfflineDirectory.Position()
    private var count = 0

    init(directory: OfflineDirectory, query: UserQuery, isPlanned: Bool) {
        self.directory = directory
        self.query = query
        checked = Result { () throws(DirectoryError) in try Self.check(query, isPlanned: isPlanned) }
    }

    mutating func next() async throws -> UserPage? {
        try checked.get()
        guard let position, query.limit != count else { return nil }
        let total = query.countsTotal && count == 0 ? try await directory.count(ofPlanned: query) : nil
        let size = min(query.pageSize ?? 100, query.limit.map { $0 - count } ?? .max)
        let (users, next) = try await directory.page(
            of: query, select: query.select, after: position, limit: size)
        self.position = next
        count += users.count
        return UserPage(users: users, count: total, hasMore: next != nil)
    }

    static func check(_ query: UserQuery, isPlanned: Bool) throws(DirectoryError) {
        // The copy rejects the same queries as the service.
        if !isPlanned { _ = try query.plan() }
        if !query.orderBy.isEmpty { throw OfflineCondition.unsupported("the copy is not sorted") }
        if query.isAmongDeleted { throw OfflineCondition.unsupported("the copy does not contain deleted users") }
        let selection = try Selection(query.select, expanding: query.expand)
        if let expansion = selection.expansion {
            throw OfflineCondition.unsupported("the copy does not contain the \(expansion.relation)")
        }
    }
}

/// The results of a lookup in the copy.
private struct OfflineLookups<Names: AsyncIteratorProtocol & Sendable>: UserLookupSource where Names.Element == String {
    let directory: OfflineDirectory
    var names: Names
    let select: [String]

    mutating func next() async throws -> [UserLookup]? {
        guard let name = try await names.next() else { return nil }
        do {
            return [UserLookup(name: name, result: .success(try await directory.user(name, select: Optional(select))))]
        } catch let error as DirectoryError {
            return [UserLookup(name: name, result: .failure(error))]
        }
    }
}
