import StrictJSON

/// The pages of a search in Microsoft Graph.
struct GraphPages: UserPageSource {
    private enum Place: Sendable {
        case beginning
        case link(String)
        case end
    }

    private let connect: @Sendable () async throws -> GraphConnection
    private let query: UserQuery
    private var connection: GraphConnection?
    private var budget: RetryBudget?
    private var place = Place.beginning
    private var guardian = LoopGuard()
    private var given = SeenUsers()
    private var count = 0
    private var restarts = 0

    /// How often a search begins anew because its page tokens ran out.
    private static let maximumRestarts = 3
    /// How often a page is asked for in the hope of an answer that is not to a retried request.
    private static let maximumRepeats = 3

    /// - Parameter budget: that of the operation this is a part of; nil for one of its own.
    init(
        connect: @escaping @Sendable () async throws -> GraphConnection, query: UserQuery, budget: RetryBudget? = nil
    ) {
        self.connect = connect
        self.query = query
        self.budget = budget
    }

    mutating func next() async throws -> UserPage? {
        if case .end = place { return nil }
        // Before anything else: a query that cannot be sent needs no connection.
        let plan = try query.plan()
        if query.limit == 0 { return nil }
        let connection: GraphConnection
        if let known = self.connection { connection = known } else { connection = try await connect() }
        let budget = self.budget ?? connection.makeBudget()
        self.connection = connection
        self.budget = budget

        var (page, link) = try await read(plan, connection, budget)
        place = .end
        try guardian.leave(isEmpty: page.users.isEmpty && link != nil)
        if restarts > 0 {
            page.users.removeAll(where: given.contains)
            page.count = nil
        }
        if let limit = query.limit, count + page.users.count >= limit {
            page.hasMore = page.hasMore || count + page.users.count > limit
            page.users.removeLast(count + page.users.count - limit)
        } else if let link {
            // Looked at when the next page is asked for: a wrong link is no reason to lose the people of this one.
            place = .link(link)
        }
        if link != nil { given.add(page.users) }
        count += page.users.count
        return page
    }

    /// Reads the page at the present place; from the beginning again when the service no longer knows the place.
    private mutating func read(
        _ plan: QueryPlan, _ connection: GraphConnection, _ budget: RetryBudget
    ) async throws -> (UserPage, String?) {
        while true {
            let address = if case .link(let link) = place { link } else { "\(connection.base)/\(plan.target)" }
            try guardian.enter(address)
            do {
                return try await read(
                    GraphConnection.Question(
                        address: address, isAdvanced: plan.isAdvanced, permissions: plan.permissions),
                    connection, budget)
            } catch let error as DirectoryError where error.kind == .resyncNeeded {
                guard case .link = place, restarts < Self.maximumRestarts, given.isComplete else { throw error }
                restarts += 1
                place = .beginning
                guardian = LoopGuard()
            }
        }
    }

    /// Reads one page. The service forgets the place that it names in an answer to a retried request
    /// (`DirectoryPageTokenNotFoundException`): such an answer is asked for once more, from where it was asked for before.
    private func read(
        _ question: GraphConnection.Question, _ connection: GraphConnection, _ budget: RetryBudget
    ) async throws -> (UserPage, String?) {
        var repeats = 1
        while true {
            let answer = try await connection.answer(toLong: question, budget: budget)
            let (page, link) = try answer.page()
            guard answer.wasRetried, link != nil, repeats < Self.maximumRepeats else { return (page, link) }
            repeats += 1
        }
    }
}

extension GraphConnection.Answer {
    /// The answer as a page of people, and the address of the next.
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

/// Whom a search has given already, so that nobody comes twice when it has to begin anew.
private struct SeenUsers: Sendable {
    /// For more people than this no search begins anew: memory must not grow with a directory.
    private static let maximum = 250_000

    private var identities: Set<Int> = []
    /// Whether everybody who was given is known.
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

/// Ends a walk through pages that would never end by itself.
struct LoopGuard: Sendable {
    /// How many empty pages in a row are followed.
    static let maximumEmptyPages = 100
    /// How many addresses are remembered. A loop longer than this is found in its next round.
    static let maximumAddresses = 100_000

    /// Hashes, not the addresses: a long listing has thousands, of hundreds of bytes each.
    private var seen: Set<Int> = []
    private var emptyPages = 0

    mutating func enter(_ address: String) throws(DirectoryError) {
        if seen.count >= Self.maximumAddresses { seen.removeAll(keepingCapacity: true) }
        guard seen.insert(address.hashValue).inserted else { throw DirectoryError(.endlessPages) }
    }

    mutating func leave(isEmpty: Bool) throws(DirectoryError) {
        emptyPages = isEmpty ? emptyPages + 1 : 0
        guard emptyPages <= Self.maximumEmptyPages else { throw DirectoryError(.endlessPages) }
    }
}
