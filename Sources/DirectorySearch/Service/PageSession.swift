import HTTPExchange

/// The client, budget and limit of one search, for sources that load its pages.
struct PageSession: Sendable {
    private let makeClient: @Sendable () async throws -> DirectoryClient
    private var client: DirectoryClient?
    private var budget: RetryBudget?
    private let limit: Int?
    private var count = 0

    /// Creates a session.
    ///
    /// - Parameter budget: The time budget of a larger operation, or `nil` for a separate one.
    init(
        _ makeClient: @escaping @Sendable () async throws -> DirectoryClient, limit: Int?, budget: RetryBudget? = nil
    ) {
        self.makeClient = makeClient
        self.limit = limit
        self.budget = budget
    }

    /// Whether the limit is 0.
    var isEmpty: Bool { limit == 0 }

    /// Returns the client and the time budget, the same for each page.
    mutating func start() async throws -> (DirectoryClient, RetryBudget) {
        let client = if let client { client } else { try await makeClient() }
        let budget = self.budget ?? client.makeBudget()
        self.client = client
        self.budget = budget
        return (client, budget)
    }

    /// Counts the users of a page, removes users beyond the limit and returns whether the page reaches it.
    mutating func finishes(with page: inout UserPage) -> Bool {
        let total = count + page.users.count
        guard let limit, total >= limit else {
            count = total
            return false
        }
        page.hasMore = page.hasMore || total > limit
        page.users.removeLast(total - limit)
        count = limit
        return true
    }
}
