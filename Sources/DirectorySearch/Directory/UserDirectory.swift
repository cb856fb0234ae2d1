/// A place that knows people: Microsoft Graph, or a directory of another kind.
///
/// Each question costs requests, and what it throws is a ``DirectoryError``, what the transport and the authorization throw, or
/// `CancellationError`.
public protocol UserDirectory: Sendable {
    /// The people of a query, page by page. Nothing is sent before the first page is asked for. What this directory cannot answer
    /// is thrown by the first page, as `invalidQuery`.
    func pages(matching query: UserQuery) -> UserPages

    /// How many people a query finds, without reading them. ``UserQuery/limit`` makes no difference to it.
    ///
    /// - Throws: also ``DirectoryError`` of the kind `invalidQuery` or `notSupported` where the directory cannot say it.
    func count(of query: UserQuery) async throws -> Int

    /// One person, by identifier, sign-in name or mail address.
    ///
    /// - Throws: ``DirectoryError`` of the kind `notFound` when there is none, `ambiguous` when there are several.
    func user(_ name: String, select: [String]) async throws -> User

    /// The signed-in person.
    func me(select: [String]) async throws -> User

    /// One person and who and what is around them. A part that does not exist, or may not be seen, is told apart from the others
    /// and is no error.
    func detail(of name: String, select: [String], parts: Set<UserDetail.PartName>) async throws -> UserDetail

    /// Many people by identifier, sign-in name or mail address, in the order of the names. Names are read as they are needed.
    func lookUp<Names: AsyncSequence & Sendable>(_ names: Names, select: [String]) -> UserLookups
    where Names.Element == String, Names.AsyncIterator: Sendable
}

extension UserDirectory {
    /// The people of a query. Nothing is sent before the first is asked for.
    public func users(matching query: UserQuery) -> Users { Users(pages: pages(matching: query)) }

    /// How many people a filter applies to, without reading them.
    public func count(of filter: UserFilter) async throws -> Int { try await count(of: UserQuery(filter)) }

    /// The people to whom a filter applies. Nothing is sent before the first is asked for.
    public func users(matching filter: UserFilter) -> Users { users(matching: UserQuery(filter)) }

    /// The people to whom a filter applies, page by page.
    public func pages(matching filter: UserFilter) -> UserPages { pages(matching: UserQuery(filter)) }

    /// One person with the properties of a detail view, by identifier, sign-in name or mail address.
    public func user(_ name: String) async throws -> User {
        try await user(name, select: UserQuery.defaultProperties)
    }

    /// The signed-in person with the properties of a detail view.
    public func me() async throws -> User { try await me(select: UserQuery.defaultProperties) }

    /// One person and everything around them.
    public func detail(of name: String) async throws -> UserDetail {
        try await detail(of: name, select: UserQuery.defaultProperties, parts: Set(UserDetail.PartName.allCases))
    }

    /// Many people with the properties of a detail view.
    public func lookUp<Names: AsyncSequence & Sendable>(_ names: Names) -> UserLookups
    where Names.Element == String, Names.AsyncIterator: Sendable {
        lookUp(names, select: UserQuery.defaultProperties)
    }

    /// Many people of a list of names, in its order.
    public func lookUp(_ names: [String], select: [String] = UserQuery.defaultProperties) -> UserLookups {
        lookUp(ListedNames(names: names), select: select)
    }
}

extension UserDirectory {
    /// How many people a query finds, by the total that stands on the first page of one person.
    ///
    /// - Throws: ``DirectoryError``, of the kind `notSupported` where the directory does not say it.
    public func count(of query: UserQuery) async throws -> Int { try await countOfFirstPage(query) }

    func countOfFirstPage(_ query: UserQuery) async throws -> Int {
        var pages = pages(matching: query.pageForTotal).makeAsyncIterator()
        guard let count = try await pages.next()?.count else {
            throw DirectoryError(.notSupported, message: "the answer does not say how many there are")
        }
        return count
    }
}

/// Names that are all there already.
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
