/// The pages of a search in a directory that names the next page by a place: a number or a token.
///
/// Only the present page, the place of the next and the identifiers of the page before are kept. Who comes while people are listed
/// by number moves the others on by one, so that the last of a page begins the next: nobody comes twice for that. Who goes
/// moves them back, and somebody can be missed; numbers are no better than that (RFC 7644 section 3.4.2.4).
struct CursorPages: UserPageSource {
    /// What one kind of directory does with a query and with an answer.
    struct Reading: Sendable {
        /// The request for the page at a place; nil for the first.
        var request: @Sendable (UserQuery, String?) throws(DirectoryError) -> DirectoryRequest
        /// The people of an answer, and the place of the next page.
        var page:
            @Sendable (GraphConnection.Answer, _ place: String?) throws(DirectoryError) -> (
                users: [User], total: Int?, next: String?
            )
    }

    private let connect: @Sendable () async throws -> GraphConnection
    private let query: UserQuery
    private let reading: Reading
    private var connection: GraphConnection?
    private var budget: RetryBudget?
    private var place: String?
    private var hasEnded = false
    private var count = 0
    private var guardian = LoopGuard()
    /// The people of the page before.
    private var previous: Set<Int> = []
    /// How many pages in a row had nobody but those of the page before: a service that ignores the place gives the same for ever.
    private var repeats = 0

    /// How often a page may be repeated.
    private static let maximumRepeats = 1

    /// - Parameter budget: that of the operation this is a part of; nil for one of its own.
    init(
        connect: @escaping @Sendable () async throws -> GraphConnection, query: UserQuery, reading: Reading,
        budget: RetryBudget? = nil
    ) {
        self.connect = connect
        self.query = query
        self.reading = reading
        self.budget = budget
    }

    mutating func next() async throws -> UserPage? {
        guard !hasEnded else { return nil }
        // Before anything else: a query that cannot be sent needs no connection.
        let request = try reading.request(query, place)
        if query.limit == 0 { return nil }
        let connection: GraphConnection
        if let known = self.connection { connection = known } else { connection = try await connect() }
        let budget = self.budget ?? connection.makeBudget()
        self.connection = connection
        self.budget = budget

        let isFirst = place == nil
        try guardian.enter("\(request.target) \(place ?? "")")
        let answer = try await connection.answer(
            to: GraphConnection.Question(
                address: "\(connection.base)/\(request.target)", body: request.body, contentType: request.accept,
                accept: request.accept,
                permissions: request.permissions), budget: budget)
        let found = try reading.page(answer, place)
        let users = found.users.filter { user in user.identity.map { !previous.contains($0) } ?? true }
        repeats = users.isEmpty && !found.users.isEmpty ? repeats + 1 : 0
        guard repeats <= Self.maximumRepeats else { throw DirectoryError(.endlessPages) }
        previous = Set(found.users.compactMap(\.identity))
        place = found.next
        hasEnded = found.next == nil
        try guardian.leave(isEmpty: found.users.isEmpty && found.next != nil)

        var page = UserPage(users: users, hasMore: found.next != nil)
        if isFirst, query.countsTotal { page.count = found.total }
        if let limit = query.limit, count + page.users.count >= limit {
            page.hasMore = page.hasMore || count + page.users.count > limit
            page.users.removeLast(count + page.users.count - limit)
            hasEnded = true
        }
        count += page.users.count
        return page
    }
}
