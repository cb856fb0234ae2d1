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

    /// Plans the search. The first page throws the error of a query that cannot be sent.
    ///
    /// - Parameters:
    ///   - plan: The plan of the query, if it is planned already.
    ///   - budget: The budget of a larger operation; `nil` for one of its own.
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
        try loopGuard.leave(isEmpty: page.users.isEmpty && link != nil)
        if restarts > 0 {
            page.users.removeAll(where: seen.contains)
            page.count = nil
        }
        // The next request checks the link: a wrong one must not discard the users of this page.
        if !session.finishes(with: &page), let link { position = .link(link) }
        if link != nil { seen.add(page.users) }
        return page
    }

    /// Reads the page at the current position; from the start again if the service no longer knows the position.
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
                loopGuard = LoopGuard()
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

    /// Loads a page, and again if its request was retried: the service forgets the page token of such a response
    /// (`DirectoryPageTokenNotFoundException`).
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
        default: throw unreadable("the next page's address is not a text")
        }
        let count = members["@odata.count"]?.number?.int64.flatMap { Int(exactly: $0) }
        return (UserPage(users: elements.map { User(json: $0) }, count: count, hasMore: link != nil), link)
    }
}

/// The users that a search returned, so that a restarted search does not repeat them.
private struct SeenUsers: Sendable {
    /// The maximum number of users of a search that restarts: memory must not grow with the directory.
    private static let maximum = 250_000

    private var identities: Set<Int> = []
    /// Whether this contains all returned users.
    private(set) var isComplete = true

    mutating func add(_ users: [User]) {
        guard isComplete else { return }
        for user in users {
            guard let identity = user.identity, identities.count < Self.maximum else {
                isComplete = false
                identities = []
                return
            }
            identities.insert(identity)
        }
    }

    func contains(_ user: User) -> Bool { user.identity.map(identities.contains) ?? false }
}

/// Stops at pages that lead back to one already read, and at too many empty pages.
struct LoopGuard: Sendable {
    /// The maximum number of empty pages in a row.
    static let maximumEmptyPages = 100
    /// The maximum number of recorded URLs. The next round of a longer loop finds it.
    static let maximumURLs = 100_000

    /// Hashes, not the URLs: a long listing has thousands, of hundreds of bytes each.
    private var seen: Set<Int> = []
    private var emptyPages = 0

    mutating func enter(_ url: String) throws(DirectoryError) {
        if seen.count >= Self.maximumURLs { seen.removeAll(keepingCapacity: true) }
        guard seen.insert(url.hashValue).inserted else { throw DirectoryError(.endlessPages) }
    }

    mutating func leave(isEmpty: Bool) throws(DirectoryError) {
        emptyPages = isEmpty ? emptyPages + 1 : 0
        guard emptyPages <= Self.maximumEmptyPages else { throw DirectoryError(.endlessPages) }
    }
}
