extension OfflineDirectory: UserDirectory {
    /// The people of a query, page by page, in the order of the copy. A search in Graph's words, an order, related people and those
    /// deleted are refused, as `invalidQuery`: the copy does not have them.
    public nonisolated func pages(matching query: UserQuery) -> UserPages {
        UserPages { OfflinePages(directory: self, query: query) }
    }

    /// How many people of the copy a query finds.
    ///
    /// - Throws: ``DirectoryError`` of the kinds `emptySearch` and `invalidQuery`, ``OfflineIndexError``, `StorageError`,
    ///   `CancellationError`.
    public func count(of query: UserQuery) async throws -> Int {
        try OfflinePages.check(query)
        guard query.filter != nil else { return try summary().people }
        var count = 0
        var place: Position? = Position()
        while let position = place {
            let (users, next) = try page(matching: query.filter, select: ["id"], after: position, limit: 1000)
            count += users.count
            place = next
            // Others may ask in between.
            await Task.yield()
        }
        return count
    }

    /// One person, by identifier, sign-in name or mail address.
    ///
    /// - Throws: ``DirectoryError`` of the kinds `notFound`, `ambiguous` and `emptySearch`; ``OfflineIndexError``, `StorageError`.
    public func user(_ name: String, select: [String]) async throws -> User { try user(name, select: Optional(select)) }

    /// Refused: the copy does not know which of its people is signed in.
    public func me(select: [String]) async throws -> User {
        throw OfflineCondition.refusal("it does not say which person is signed in")
    }

    /// One person. Nothing around them is kept: every part is ``UserDetail/Part/notAsked``.
    public func detail(
        of name: String, select: [String], parts: Set<UserDetail.PartName>
    ) async throws -> UserDetail {
        UserDetail(user: try user(name, select: Optional(select)))
    }

    /// Many people by identifier, sign-in name or mail address, in the order of the names.
    public nonisolated func lookUp<Names: AsyncSequence & Sendable>(_ names: Names, select: [String]) -> UserLookups
    where Names.Element == String, Names.AsyncIterator: Sendable {
        UserLookups { OfflineLookups(directory: self, names: names.makeAsyncIterator(), select: select) }
    }
}

/// The pages of a query to the copy.
private struct OfflinePages: UserPageSource {
    let directory: OfflineDirectory
    let query: UserQuery
    var place: OfflineDirectory.Position? = OfflineDirectory.Position()
    var given = 0

    mutating func next() async throws -> UserPage? {
        try Self.check(query)
        guard let position = place, query.limit != given else { return nil }
        let count = query.countsTotal && given == 0 ? try await directory.count(of: query) : nil
        let size = min(query.pageSize ?? 100, query.limit.map { $0 - given } ?? .max)
        let (users, next) = try await directory.page(
            matching: query.filter, select: query.select, after: position, limit: size)
        place = next
        given += users.count
        return UserPage(users: users, count: count, hasMore: next != nil)
    }

    static func check(_ query: UserQuery) throws(DirectoryError) {
        // What the service would not be asked is no question to the copy either.
        _ = try query.plan()
        if query.search != nil { throw OfflineCondition.refusal("it is not searched in the service's words") }
        if !query.orderBy.isEmpty { throw OfflineCondition.refusal("it has an order of its own") }
        if query.isAmongDeleted { throw OfflineCondition.refusal("the deleted are not kept") }
        let selection = try Selection(query.select, expanding: query.expand)
        if selection.expansion != nil { throw OfflineCondition.refusal("related people are not kept") }
    }
}

/// The answers of a lookup in the copy.
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
