import HTTPExchange
import StrictJSON

/// The pages of a search in Microsoft Graph.
struct GraphPages: UserPageSource {
    private enum Position: Sendable {
        case start
        case link(String)
        case end
    }

    private let plan: Result<QueryPlan, DirectoryError>
    private var session: PageSession
    private var position = Position.start
    private var loopGuard = LoopGuard()
    private var seen = SeenUsers()
    private var restarts = 0

    /// The maximum number of restarts of a search whose page tokens expired.
    private static let maximumRestarts = 3

    /// Creates the pages and plans the search. The first page throws the error of an invalid query.
    ///
    /// - Parameters:
    ///   - plan: The plan of the query, if it is already planned.
    ///   - budget: The time budget of a larger operation, or `nil` for a separate one.
    init(
        makeClient: @escaping @Sendable () async throws -> DirectoryClient, query: UserQuery, plan: QueryPlan? = nil,
        budget: RetryBudget? = nil
    ) {
        self.plan = plan.map { .success($0) } ?? Result { () throws(DirectoryError) in try query.plan() }
        session = PageSession(makeClient, limit: query.limit, budget: budget)
    }

    mutating func next() async throws -> UserPage? {
        if case .end = position { return nil }
        let plan = try plan.get()
        if session.isEmpty { return nil }
        let (client, budget) = try await session.start()
        var (page, link) = try await read(plan, client, budget)
        position = .end
        let known = restarts > 0 ? seen : nil
        let newUsers = link == nil ? page.users.count : seen.add(page.users)
        try loopGuard.leave(newElements: newUsers, hasNext: link != nil)
        if let known {
            page.users.removeAll(where: known.contains)
            page.count = nil
        }
        // The next request checks the link: an invalid one must not discard the users of this page.
        if !session.finishes(with: &page), let link { position = .link(link) }
        return page
    }

    /// Loads the page at the current position. Starts again if the service does not know the position any more.
    private mutating func read(
        _ plan: QueryPlan, _ client: DirectoryClient, _ budget: RetryBudget
    ) async throws -> (UserPage, String?) {
        while true {
            var request = client.request(for: plan)
            if case .link(let link) = position { request.url = link }
            try loopGuard.enter(request.url)
            do {
                return try await read(request, client, budget)
            } catch let error as DirectoryError where error.kind == .resyncNeeded {
                guard case .link = position, restarts < Self.maximumRestarts, seen.isComplete else { throw error }
                restarts += 1
                position = .start
                loopGuard.restart()
            }
        }
    }

    private func read(
        _ request: DirectoryClient.Request, _ client: DirectoryClient, _ budget: RetryBudget
    ) async throws -> (UserPage, String?) {
        try await client.loadPage {
            try await client.response(toLong: request, budget: budget)
        } read: { response in
            let found = try response.page()
            return (found, found.link != nil)
        }
    }
}

extension DirectoryClient {
    /// The maximum number of requests for a page until one succeeds without a retry.
    private static let maximumPageRequests = 3

    /// Loads a page, and again if its request was retried.
    ///
    /// The service forgets the page token of such a response (`DirectoryPageTokenNotFoundException`).
    ///
    /// - Parameter read: Returns the page, and whether the response has the token of another one.
    func loadPage<Page>(
        _ load: () async throws -> Response, read: (Response) throws -> (page: Page, hasNext: Bool)
    ) async throws -> Page {
        var requests = 1
        while true {
            let response = try await load()
            let (page, hasNext) = try read(response)
            guard response.wasRetried, hasNext, requests < Self.maximumPageRequests else { return page }
            requests += 1
        }
    }
}

extension DirectoryClient.Response {
    /// Returns the response as a page of users, and the URL of the next page.
    func page() throws(DirectoryError) -> (page: UserPage, link: String?) {
        let (members, elements) = try list()
        let link: String?
        switch members["@odata.nextLink"] {
        case nil, .null?: link = nil
        case .string(let text)? where !text.isEmpty: link = text
        default: throw unreadable("the URL of the next page is not a string")
        }
        let count = members["@odata.count"]?.number?.int64.flatMap { Int(exactly: $0) }
        return (UserPage(users: elements.map { User(json: $0) }, count: count, hasMore: link != nil), link)
    }
}
