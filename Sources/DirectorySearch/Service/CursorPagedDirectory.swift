/// A directory of another kind than Graph: how it is reached, and what it does with queries and answers.
struct CursorPagedDirectory: Sendable {
    /// Gives the connection, at the beginning of each operation.
    let connect: @Sendable () async throws -> DirectoryConnection
    private let reading: CursorPages.Reading

    /// The directory behind a connection, which is looked up at the beginning of each operation.
    init(
        _ connect: @escaping @Sendable () async throws -> DirectoryConnection, speaking dialect: ServiceDialect,
        reading: CursorPages.Reading
    ) {
        self.connect = { try await connect().speaking(dialect) }
        self.reading = reading
    }

    func pages(matching query: UserQuery) -> UserPages {
        UserPages { [connect, reading] in CursorPages(connect: connect, query: query, reading: reading) }
    }

    /// The people of a few pages that belong to a larger operation.
    func pages(matching query: UserQuery, _ connection: GraphConnection, _ budget: RetryBudget) -> CursorPages {
        CursorPages(connect: { connection }, query: query, reading: reading, budget: budget)
    }
}
