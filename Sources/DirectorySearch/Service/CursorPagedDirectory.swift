import HTTPExchange

/// The common parts of directories with cursors: SCIM and Google.
struct CursorPagedDirectory: Sendable {
    /// Returns the user with this identifier, sign-in name or mail address.
    typealias Find =
        @Sendable (_ name: String, _ select: [String], DirectoryClient, RetryBudget) async throws -> User

    /// Returns the client, at the start of each operation.
    let makeClient: @Sendable () async throws -> DirectoryClient
    private let cursorProtocol: CursorProtocol
    private let find: Find

    init(
        _ makeClient: @escaping @Sendable () async throws -> DirectoryClient, speaking dialect: ServiceDialect,
        _ cursorProtocol: CursorProtocol, find: @escaping Find
    ) {
        self.makeClient = { try await makeClient().speaking(dialect) }
        self.cursorProtocol = cursorProtocol
        self.find = find
    }

    func pages(of query: UserQuery, _ plan: SearchPlan.Request? = nil) -> UserPages {
        var request: DirectoryRequest?
        if case .cursor(let planned) = plan { request = planned }
        let pages = CursorPages(makeClient: makeClient, query: query, plan: request, cursorProtocol)
        return UserPages { pages }
    }

    func user(_ name: String, _ select: [String]) async throws -> User {
        let client = try await makeClient()
        return try await find(name, select, client, client.makeBudget())
    }

    /// Looks up one name at a time.
    ///
    /// - Parameter check: Throws an error of the whole query before any request.
    func lookUp<Names: AsyncSequence & Sendable>(
        _ names: Names, _ select: [String],
        check: @escaping @Sendable ([String]) throws(DirectoryError) -> Void = { _ throws(DirectoryError) in }
    ) -> UserLookups where Names.Element == String, Names.AsyncIterator: Sendable {
        UserLookups { [makeClient, find] in
            SequentialLookups(
                makeClient: {
                    try check(select)
                    return try await makeClient()
                }, names: names.makeAsyncIterator()
            ) { client, name in try await find(name, select, client, client.makeBudget()) }
        }
    }

    /// Returns a user with the manager and the reports, if these parts are requested.
    ///
    /// - Parameters:
    ///   - manager: The key of the manager, or `nil` without one.
    ///   - reports: The query for the reports, or `nil` if the user has no key for it.
    func detail(
        of user: User, _ parts: Set<UserDetail.PartName>, manager: String?, reports: UserQuery?,
        _ client: DirectoryClient, _ budget: RetryBudget, load: (_ key: String) async throws -> User
    ) async throws -> UserDetail {
        var detail = UserDetail(user: user)
        if parts.contains(.manager) {
            detail.manager = .none
            if let manager { detail.manager = try await UserDetail.Part { try await load(manager) } }
        }
        if parts.contains(.reports), let reports {
            detail.reports = try await .reports(
                of: CursorPages(makeClient: { client }, query: reports, cursorProtocol, budget: budget))
        }
        return detail
    }
}

extension UserPageSource {
    /// Reads pages until there is a second user.
    ///
    /// - Returns: The only user, or `nil` if there is no user.
    /// - Throws: ``DirectoryError`` of the kind `ambiguous` if there are several; the errors of the pages.
    func onlyUser() async throws -> User? {
        let users = try await users(upTo: 2)
        guard users.count < 2 else { throw DirectoryError(.ambiguous) }
        return users.first
    }

    /// Reads pages until there are this many users.
    func users(upTo count: Int) async throws -> [User] {
        var pages = self
        var users: [User] = []
        while users.count < count, let page = try await pages.next() { users += page.users }
        return users
    }
}
