import HTTPExchange

/// The client, budget and limit of one search, for sources that load its pages.
struct PageSession: Sendable {
    private let makeClient: @Sendable () async throws -> DirectoryClient
    private var client: DirectoryClient?
    private var budget: RetryBudget?
    private let limit: Int?
    private var count = 0

    /// - Parameter budget: The budget of a larger operation; `nil` for one of its own.
    init(
        _ makeClient: @escaping @Sendable () async throws -> DirectoryClient, limit: Int?, budget: RetryBudget? = nil
    ) {
        self.makeClient = makeClient
        self.limit = limit
        self.budget = budget
    }

    /// Whether the limit admits no users at all.
    var isEmpty: Bool { limit == 0 }

    /// Returns the client and the budget, the same for each page.
    mutating func start() async throws -> (DirectoryClient, RetryBudget) {
        let client = if let client { client } else { try await makeClient() }
        let budget = self.budget ?? client.makeBudget()
        self.client = client
        self.budget = budget
        return (client, budget)
    }

    /// Counts the users of a page, removes those beyond the limit and returns whether the page reaches it.
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
