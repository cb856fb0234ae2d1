import StrictJSON

/// The people of a Microsoft Graph tenant.
///
/// ```swift
/// for try await user in directory.users(matching: .givenName(startsWith: "Ada")) {
///     print(user.displayName ?? "", user.mail ?? "")
/// }
/// ```
public struct GraphDirectory: UserDirectory {
    /// Gives the connection, at the beginning of each operation.
    let connect: @Sendable () async throws -> GraphConnection

    /// The directory behind this connection.
    public init(connection: GraphConnection) { connect = { connection } }

    /// The directory behind a connection that is looked up when it is first needed, at the beginning of each operation:
    /// for an account whose settings are read then. What it throws is given to the caller as it is.
    public init(connecting connect: @escaping @Sendable () async throws -> GraphConnection) {
        self.connect = connect
    }

    /// The people of a query, page by page. Nothing is sent before the first page is asked for.
    public func pages(matching query: UserQuery) -> UserPages {
        UserPages { [connect] in GraphPages(connect: connect, query: query) }
    }

    /// The signed-in person. Needs the permission `User.Read`.
    ///
    /// - Throws: ``DirectoryError``; what the transport and the authorization throw; `CancellationError`.
    public func me(select: [String] = UserQuery.defaultProperties) async throws -> User {
        let selection = try Selection(select)
        let connection = try await connect()
        return try await user(
            at: "me?\(selection.options)", permissions: ["User.Read"], connection: connection,
            budget: connection.makeBudget())
    }

    /// One person, by identifier or sign-in name, or, where neither exists and the text has an `@`, by mail address.
    ///
    /// - Throws: ``DirectoryError``, of the kind `notFound` when there is no such person, `emptySearch` for an empty text,
    ///   `ambiguous` when several have the mail address; what the transport and the authorization throw;
    ///   `CancellationError`.
    public func user(
        _ identifierOrName: String, select: [String] = UserQuery.defaultProperties
    ) async throws -> User { try await user(identifierOrName, select: select, expand: nil) }

    /// One person as ``user(_:select:)`` gives them, and with them a related person or the chain of managers.
    ///
    /// - Throws: as ``user(_:select:)``.
    public func user(
        _ identifierOrName: String, select: [String] = UserQuery.defaultProperties, expand: UserExpansion?
    ) async throws -> User {
        let selection = try Selection(select, expanding: expand)
        let path = try UserPath(identifierOrName)
        let connection = try await connect()
        let budget = connection.makeBudget()
        do {
            return try await user(
                at: "\(path.text)?\(selection.options)", isAdvanced: selection.needsAdvancedQuery,
                permissions: UserQuery.permissions(toRead: select), connection: connection, budget: budget)
        } catch let error as DirectoryError where error.kind == .notFound {
            guard var query = path.mailQuery(select: select) else { throw error }
            query.expand = expand
            var pages = GraphPages(connect: { connection }, query: query, budget: budget)
            var found: [User] = []
            while found.count < 2, let page = try await pages.next() { found += page.users }
            guard found.count < 2 else { throw DirectoryError(.ambiguous) }
            guard let user = found.first else { throw error }
            return user
        }
    }

    /// One of the people deleted in the last 30 days, by identifier. Their sign-in name begins with the identifier.
    ///
    /// A list of them is a query with ``UserQuery/isAmongDeleted``.
    ///
    /// - Throws: as ``user(_:select:)``.
    public func deletedUser(
        _ identifier: String, select: [String] = UserQuery.defaultProperties + ["deletedDateTime"]
    ) async throws -> User {
        let selection = try Selection(select)
        guard !identifier.isBlank else { throw DirectoryError(.emptySearch) }
        let connection = try await connect()
        return try await user(
            at: "directory/deletedItems/\(ODataEscaping.pathSegment(identifier))?\(selection.selectOption)",
            permissions: ["User.Read.All"], connection: connection, budget: connection.makeBudget())
    }

    /// The managers above a person, from their own up to the top: empty for who has none. One request, an advanced query.
    ///
    /// - Throws: as ``user(_:select:)``.
    public func managers(
        of identifierOrName: String, select: [String] = ["id", "displayName", "mail"]
    ) async throws -> [User] {
        try await user(identifierOrName, select: ["id"], expand: .managers(select: select)).managers
    }

    private func user(
        at target: String, isAdvanced: Bool = false, permissions: [String], connection: GraphConnection,
        budget: RetryBudget
    ) async throws -> User {
        let answer = try await connection.answer(
            to: GraphConnection.Question(
                address: "\(connection.base)/\(target)", isAdvanced: isAdvanced, permissions: permissions),
            budget: budget)
        return try answer.person()
    }
}

extension GraphDirectory {
    /// How many people a query finds, without reading them: one request, whose answer is the number.
    ///
    /// - Throws: ``DirectoryError``; what the transport and the authorization throw; `CancellationError`.
    public func count(of query: UserQuery) async throws -> Int {
        if query.isAmongDeleted { return try await countOfFirstPage(query) }
        let plan = try query.countPlan()
        let connection = try await connect()
        return try await connection.answer(
            toLong: GraphConnection.Question(
                address: "\(connection.base)/\(plan.target)", accept: plan.accept, isAdvanced: true,
                permissions: plan.permissions), budget: connection.makeBudget()
        ).number()
    }
}
