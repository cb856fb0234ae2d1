/// A directory of users: Microsoft Graph, or another kind of directory.
///
/// Each function sends requests and throws a ``DirectoryError``, an error of the transport or the authorization, or
/// `CancellationError`.
public protocol UserDirectory: Sendable {
    /// Returns the users of a query, page by page.
    ///
    /// The first page sends the first request, or throws `invalidQuery` if the directory does not support the query.
    func pages(matching query: UserQuery) -> UserPages

    /// Returns the users of a planned query, page by page. A directory of a different kind plans the query itself.
    func pages(of plan: SearchPlan) -> UserPages

    /// Returns the number of users of a query without loading them. Ignores ``UserQuery/limit``.
    ///
    /// - Throws: ``DirectoryError`` of the kind `invalidQuery` or `notSupported` if the directory does not return the
    ///   number.
    func count(of query: UserQuery) async throws -> Int

    /// Returns one user by identifier, sign-in name or mail address.
    ///
    /// - Throws: ``DirectoryError`` of the kind `notFound` if there is no such user, `ambiguous` if there are several.
    func user(_ name: String, select: [String]) async throws -> User

    /// Returns the signed-in user.
    func me(select: [String]) async throws -> User

    /// Returns one user and the related objects.
    ///
    /// A part that does not exist or is not permitted does not make the function throw.
    func detail(of name: String, select: [String], parts: Set<UserDetail.PartName>) async throws -> UserDetail

    /// Looks up users by identifier, sign-in name or mail address, in the order of the names.
    ///
    /// Reads the names on demand.
    func lookUp<Names: AsyncSequence & Sendable>(_ names: Names, select: [String]) -> UserLookups
    where Names.Element == String, Names.AsyncIterator: Sendable
}

extension UserDirectory {
    /// Returns the users of a planned query, page by page. It plans the query again.
    public func pages(of plan: SearchPlan) -> UserPages { pages(matching: plan.query) }

    /// Returns the users of a query. The first user sends the first request.
    public func users(matching query: UserQuery) -> Users { Users(pages: pages(matching: query)) }

    /// Returns the number of users of a filter without loading them.
    public func count(of filter: UserFilter) async throws -> Int { try await count(of: UserQuery(filter)) }

    /// Returns the users of a filter. The first user sends the first request.
    public func users(matching filter: UserFilter) -> Users { users(matching: UserQuery(filter)) }

    /// Returns the users of a filter, page by page.
    public func pages(matching filter: UserFilter) -> UserPages { pages(matching: UserQuery(filter)) }

    /// Returns one user with the default properties, by identifier, sign-in name or mail address.
    public func user(_ name: String) async throws -> User {
        try await user(name, select: UserQuery.defaultProperties)
    }

    /// Returns the signed-in user with the default properties.
    public func me() async throws -> User { try await me(select: UserQuery.defaultProperties) }

    /// Returns one user and all related objects.
    public func detail(of name: String) async throws -> UserDetail {
        try await detail(of: name, select: UserQuery.defaultProperties, parts: Set(UserDetail.PartName.allCases))
    }

    /// Looks up users with the default properties.
    public func lookUp<Names: AsyncSequence & Sendable>(_ names: Names) -> UserLookups
    where Names.Element == String, Names.AsyncIterator: Sendable {
        lookUp(names, select: UserQuery.defaultProperties)
    }

    /// Looks up the users of a list of names, in its order.
    public func lookUp(_ names: [String], select: [String] = UserQuery.defaultProperties) -> UserLookups {
        lookUp(ListedNames(names: names), select: select)
    }
}

extension UserDirectory {
    /// Returns the number of users of a query, from the total on a first page of one user.
    ///
    /// - Throws: ``DirectoryError`` of the kind `notSupported` if the directory does not return the number.
    public func count(of query: UserQuery) async throws -> Int { try await countOfFirstPage(query) }

    func countOfFirstPage(_ query: UserQuery) async throws -> Int {
        var pages = pages(matching: query.pageForTotal).makeAsyncIterator()
        guard let count = try await pages.next()?.count else {
            throw DirectoryError(.notSupported, message: "the response does not have a count")
        }
        return count
    }
}

/// The names of an array.
private struct ListedNames: AsyncSequence, Sendable {
    typealias Element = String
    let names: [String]

    func makeAsyncIterator() -> Iterator { Iterator(names: names) }

    struct Iterator: AsyncIteratorProtocol, Sendable {
        let names: [String]
        var position = 0

        mutating func next() async -> String? {
            guard position < names.count else { return nil }
            defer { position += 1 }
            return names[position]
        }
    }
}
