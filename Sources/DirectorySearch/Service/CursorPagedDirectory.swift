import HTTPExchange

/// A directory with cursors: how to reach it, and its protocol.
struct CursorPagedDirectory: Sendable {
    /// Returns the client, at the start of each operation.
    let makeClient: @Sendable () async throws -> DirectoryClient
    private let cursorProtocol: CursorProtocol

    init(
        _ makeClient: @escaping @Sendable () async throws -> DirectoryClient, speaking dialect: ServiceDialect,
        _ cursorProtocol: CursorProtocol
    ) {
        self.makeClient = { try await makeClient().speaking(dialect) }
        self.cursorProtocol = cursorProtocol
    }

    func pages(matching query: UserQuery) -> UserPages {
        let pages = CursorPages(makeClient: makeClient, query: query, cursorProtocol)
        return UserPages { pages }
    }

    /// Returns a few pages that belong to a larger operation.
    func pages(matching query: UserQuery, _ client: DirectoryClient, _ budget: RetryBudget) -> CursorPages {
        CursorPages(makeClient: { client }, query: query, cursorProtocol, budget: budget)
    }
}

extension UserPageSource {
    /// Reads pages until there is a second user.
    ///
    /// - Returns: The only user; `nil` if there is none.
    /// - Throws: ``DirectoryError`` of the kind `ambiguous` if there are several; the errors of the pages.
    func onlyUser() async throws -> User? {
        var pages = self
        var users: [User] = []
        while users.count < 2, let page = try await pages.next() { users += page.users }
        guard users.count < 2 else { throw DirectoryError(.ambiguous) }
        return users.first
    }
}
