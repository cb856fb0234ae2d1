import StrictJSON

/// One answer of a search: some people, and what the service says beside them.
public struct UserPage: Sendable, Equatable {
    /// The people, in the service's order. May be empty although more pages follow.
    public var users: [User]
    /// How many people there are in all; only on the first page of an advanced query.
    public var count: Int?
    /// Whether the service has more.
    public var hasMore: Bool
}

/// The pages of a search, fetched one by one as they are asked for.
///
/// Each iteration asks anew. An iteration that failed ends.
public struct UserPages: AsyncSequence, Sendable {
    /// A page.
    public typealias Element = UserPage

    let connect: @Sendable () async throws -> GraphConnection
    let query: UserQuery

    /// Begins to read; the first request is sent by the first `next()`.
    public func makeAsyncIterator() -> Iterator { Iterator(connect: connect, query: query) }

    /// Reads the pages in order.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        private let connect: @Sendable () async throws -> GraphConnection
        private let query: UserQuery
        private var connection: GraphConnection?
        private var budget: RetryBudget?
        private var place = Place.beginning
        private var guardian = LoopGuard()
        private var given = 0

        private enum Place {
            case beginning
            case link(String)
            case end
        }

        /// - Parameter budget: that of the operation this is a part of; nil for one of its own.
        init(
            connect: @escaping @Sendable () async throws -> GraphConnection, query: UserQuery,
            budget: RetryBudget? = nil
        ) {
            self.connect = connect
            self.query = query
            self.budget = budget
        }

        /// The next page, or nil after the last.
        ///
        /// - Throws: ``DirectoryError``; what the transport and the authorization throw; `CancellationError`.
        public mutating func next() async throws -> UserPage? {
            // Until a page is read, so that whatever is thrown below ends the iteration.
            let current = place
            place = .end
            if case .end = current { return nil }
            // Before anything else: a query that cannot be sent needs no connection.
            let target = try query.requestTarget()
            if query.limit == 0 { return nil }

            let connection: GraphConnection
            if let known = self.connection { connection = known } else { connection = try await connect() }
            let budget = self.budget ?? connection.makeBudget()
            self.connection = connection
            self.budget = budget
            let address = if case .link(let link) = current { link } else { "\(connection.base)/\(target)" }
            try guardian.enter(address)

            let question = GraphConnection.Question(
                address: address, isAdvanced: query.needsAdvancedQuery, permissions: query.permissions)
            let answer = try await connection.answer(to: question, budget: budget)
            var (page, link) = try Self.page(answer)
            try guardian.leave(isEmpty: page.users.isEmpty && link != nil)
            if let limit = query.limit, given + page.users.count >= limit {
                page.hasMore = page.hasMore || given + page.users.count > limit
                page.users.removeLast(given + page.users.count - limit)
            } else if let link {
                // Looked at when the next page is asked for: a wrong link is no reason to lose the people of this one.
                place = .link(link)
            }
            given += page.users.count
            return page
        }

        private static func page(_ answer: GraphConnection.Answer) throws(DirectoryError) -> (UserPage, String?) {
            guard case .array(let elements)? = answer.object["value"] else {
                throw answer.unreadable("the list \"value\" is missing")
            }
            var users: [User] = []
            users.reserveCapacity(elements.count)
            for element in elements {
                guard case .object(let object) = element else {
                    throw answer.unreadable("the list holds \(element.kind) instead of an object")
                }
                users.append(User(json: object))
            }
            let link: String?
            switch answer.object["@odata.nextLink"] {
            case nil, .null?: link = nil
            case .string(let text)? where !text.isEmpty: link = text
            default: throw answer.unreadable("the next page's address is not a text")
            }
            let count = answer.object["@odata.count"]?.number?.int64.flatMap { Int(exactly: $0) }
            return (UserPage(users: users, count: count, hasMore: link != nil), link)
        }
    }
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

/// The people of a search, one by one; pages are fetched as they are needed and not kept.
///
/// Each iteration asks anew. An iteration that failed ends.
public struct Users: AsyncSequence, Sendable {
    /// A person.
    public typealias Element = User

    let pages: UserPages

    /// Begins to read; the first request is sent by the first `next()`.
    public func makeAsyncIterator() -> Iterator { Iterator(pages: pages.makeAsyncIterator()) }

    /// Reads the people in the service's order.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        private var pages: UserPages.Iterator
        private var users: [User] = []
        private var index = 0

        init(pages: UserPages.Iterator) { self.pages = pages }

        /// The next person, or nil after the last.
        ///
        /// - Throws: ``DirectoryError``; what the transport and the authorization throw; `CancellationError`.
        public mutating func next() async throws -> User? { try await next(isolation: nil) }

        /// The next person, or nil after the last.
        ///
        /// Stays with the caller's actor as long as there are people in the page; only fetching and reading a page leaves
        /// it. A change of threads for each person would take ten times as long as reading them.
        ///
        /// - Throws: ``DirectoryError``; what the transport and the authorization throw; `CancellationError`.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> User? {
            while index >= users.count {
                // Let go of the page before the next is fetched: two at once would double the memory.
                users = []
                index = 0
                guard let page = try await pages.next() else { return nil }
                users = page.users
            }
            defer { index += 1 }
            return users[index]
        }
    }
}
