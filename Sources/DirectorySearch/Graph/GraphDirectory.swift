import HTTPExchange
import StrictJSON

/// The users of a Microsoft Graph tenant.
///
/// ```swift
/// for try await user in directory.users(matching: .givenName(startsWith: "Ada")) {
///     print(user.displayName ?? "", user.mail ?? "")
/// }
/// ```
public struct GraphDirectory: UserDirectory {
    /// Returns the client, at the start of each operation.
    let makeClient: @Sendable () async throws -> DirectoryClient

    /// Creates the directory of this client.
    package init(client: DirectoryClient) { makeClient = { client } }

    /// Creates a directory whose client is created at the start of each operation.
    ///
    /// Its errors are thrown unchanged.
    package init(makeClient: @escaping @Sendable () async throws -> DirectoryClient) {
        self.makeClient = makeClient
    }

    /// Returns the users of a query, page by page. The first page sends the first request.
    public func pages(matching query: UserQuery) -> UserPages { pages(query, nil) }

    /// Returns the users of a planned query, page by page.
    public func pages(of plan: SearchPlan) -> UserPages {
        if case .graph(let request) = plan.request { pages(plan.query, request) } else { pages(matching: plan.query) }
    }

    private func pages(_ query: UserQuery, _ plan: QueryPlan?) -> UserPages {
        let pages = GraphPages(makeClient: makeClient, query: query, plan: plan)
        return UserPages { pages }
    }

    /// Returns the number of users of a query in one request, without loading them.
    ///
    /// - Throws: ``DirectoryError``; the errors of the transport and the authorization; `CancellationError`.
    public func count(of query: UserQuery) async throws -> Int {
        if query.isAmongDeleted { return try await countOfFirstPage(query) }
        let plan = try query.countPlan()
        let client = try await makeClient()
        return try await client.response(toLong: client.request(for: plan), budget: client.makeBudget()).number()
    }

    /// Returns the signed-in user. Requires the permission `User.Read`.
    ///
    /// - Throws: ``DirectoryError``; the errors of the transport and the authorization; `CancellationError`.
    public func me(select: [String] = UserQuery.defaultProperties) async throws -> User {
        let selection = try Selection(select)
        let client = try await makeClient()
        try client.checkHasUser()
        return try await client.user(at: "me?\(selection.options)", permissions: ["User.Read"], client.makeBudget())
    }

    /// Returns one user by identifier or sign-in name, or, if neither exists and the name has an `@`, by mail address.
    ///
    /// - Throws: ``DirectoryError`` of the kind `notFound` if there is no such user, `emptySearch` for an empty name,
    ///   `ambiguous` if several users have the mail address; the errors of the transport and the authorization;
    ///   `CancellationError`.
    public func user(
        _ identifierOrName: String, select: [String] = UserQuery.defaultProperties
    ) async throws -> User { try await user(identifierOrName, select: select, expand: nil) }

    /// Returns one user like ``user(_:select:)``, with a related user or the management chain.
    ///
    /// - Throws: The same errors as ``user(_:select:)``.
    public func user(
        _ identifierOrName: String, select: [String] = UserQuery.defaultProperties, expand: UserExpansion?
    ) async throws -> User {
        let selection = try Selection(select, expanding: expand)
        let path = try UserPath(identifierOrName)
        let client = try await makeClient()
        let budget = client.makeBudget()
        do {
            return try await client.user(
                at: "\(path.text)?\(selection.options)", isAdvanced: selection.needsAdvancedQuery,
                permissions: UserQuery.permissions(toRead: select), budget)
        } catch let error as DirectoryError where error.kind == .notFound {
            guard var query = path.mailQuery(select: select) else { throw error }
            query.expand = expand
            let pages = GraphPages(makeClient: { client }, query: query, budget: budget)
            guard let user = try await pages.onlyUser() else { throw error }
            return user
        }
    }

    /// Returns a user deleted in the last 30 days, by identifier.
    ///
    /// The sign-in name of deleted users starts with the identifier.
    ///
    /// A query with ``UserQuery/isAmongDeleted`` lists them.
    ///
    /// - Throws: The same errors as ``user(_:select:)``.
    public func deletedUser(
        _ identifier: String, select: [String] = UserQuery.defaultProperties + ["deletedDateTime"]
    ) async throws -> User {
        let selection = try Selection(select)
        guard !identifier.isBlank else { throw DirectoryError(.emptySearch) }
        let client = try await makeClient()
        return try await client.user(
            at: "directory/deletedItems/\(ODataEscaping.pathSegment(identifier))?\(selection.selectOption)",
            permissions: ["User.Read.All"], client.makeBudget())
    }

    /// Returns the managers of a user, from the direct manager to the top; an empty list if the user has no manager.
    ///
    /// Sends one advanced query.
    ///
    /// - Throws: The same errors as ``user(_:select:)``.
    public func managers(
        of identifierOrName: String, select: [String] = ["id", "displayName", "mail"]
    ) async throws -> [User] {
        try await user(identifierOrName, select: ["id"], expand: .managers(select: select)).managers
    }
}

extension DirectoryClient {
    fileprivate func user(
        at target: String, isAdvanced: Bool = false, permissions: [String], _ budget: RetryBudget
    ) async throws -> User {
        let request = Request(url: "\(base)/\(target)", isAdvanced: isAdvanced, permissions: permissions)
        return try await response(to: request, budget: budget).user()
    }
}
