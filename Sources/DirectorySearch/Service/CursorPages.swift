import HTTPExchange

/// The protocol of a directory with cursors, a number or a token, for the next page.
struct CursorProtocol: Sendable {
    /// Returns the request for a query's first page.
    var plan: @Sendable (UserQuery) throws(DirectoryError) -> DirectoryRequest
    /// The name of the cursor option.
    var option: String
    /// Returns the users of a response, and the cursor of the next page.
    var page:
        @Sendable (DirectoryClient.Response, _ cursor: String?) throws(DirectoryError) -> (
            users: [User], total: Int?, next: String?
        )
}

/// The pages of a search in a directory with cursors.
///
/// It stores only the cursor of the next page and the identifiers of the previous page. If the cursor is a number and a
/// user is added during the listing, all others shift by one, and the last user of a page is also the first of the
/// next. This duplicate is removed. A removed user shifts them back, so that the listing can miss a user. This is a
/// limit of numeric cursors (RFC 7644 section 3.4.2.4).
struct CursorPages: UserPageSource {
    private let plan: Result<DirectoryRequest, DirectoryError>
    private let cursorProtocol: CursorProtocol
    private let countsTotal: Bool
    private var session: PageSession
    private var cursor: String?
    private var hasEnded = false
    private var loopGuard = LoopGuard()
    private var seen = SeenUsers()
    /// The users of the previous page.
    private var previous: Set<Int> = []
    /// The number of consecutive pages that repeat the previous one: a service that ignores the cursor repeats it
    /// forever.
    private var repeats = 0

    /// The maximum number of repetitions of a page.
    private static let maximumRepeats = 1

    /// Creates the pages and plans the search. The first page throws the error of an invalid query.
    ///
    /// - Parameters:
    ///   - plan: The request of the query, if it is already planned.
    ///   - budget: The time budget of a larger operation, or `nil` for a separate one.
    init(
        makeClient: @escaping @Sendable () async throws -> DirectoryClient, query: UserQuery,
        plan: DirectoryRequest? = nil, _ cursorProtocol: CursorProtocol, budget: RetryBudget? = nil
    ) {
        self.plan = plan.map { .success($0) } ?? Result { () throws(DirectoryError) in try cursorProtocol.plan(query) }
        self.cursorProtocol = cursorProtocol
        countsTotal = query.countsTotal
        session = PageSession(makeClient, limit: query.limit, budget: budget)
    }

    mutating func next() async throws -> UserPage? {
        guard !hasEnded else { return nil }
        let request = try plan.get().page(at: cursor, option: cursorProtocol.option)
        if session.isEmpty { return nil }
        let (client, budget) = try await session.start()
        try loopGuard.enter("\(request.target) \(cursor ?? "")")
        let response = try await client.response(
            to: DirectoryClient.Request(
                url: "\(client.base)/\(request.target)", body: request.body, contentType: request.accept,
                accept: request.accept, permissions: request.permissions), budget: budget)
        let found = try cursorProtocol.page(response, cursor)
        let users = found.users.filter { user in user.identity.map { !previous.contains($0) } ?? true }
        repeats = users.isEmpty && !found.users.isEmpty ? repeats + 1 : 0
        guard repeats <= Self.maximumRepeats else { throw DirectoryError(.endlessPages) }
        previous = Set(found.users.compactMap(\.identity))
        var page = UserPage(users: users, hasMore: found.next != nil)
        if cursor == nil, countsTotal { page.count = found.total }
        cursor = found.next
        try loopGuard.leave(newElements: seen.add(found.users), hasNext: found.next != nil)
        hasEnded = session.finishes(with: &page) || found.next == nil
        return page
    }
}
