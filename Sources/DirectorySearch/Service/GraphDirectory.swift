import StrictJSON

/// The people of a Microsoft Graph tenant.
///
/// ```swift
/// for try await user in directory.users(matching: .givenName(startsWith: "Ada")) {
///     print(user.displayName ?? "", user.mail ?? "")
/// }
/// ```
public struct GraphDirectory: Sendable {
    /// Gives the connection, at the beginning of each operation.
    let connect: @Sendable () async throws -> GraphConnection

    /// The directory behind this connection.
    public init(connection: GraphConnection) { connect = { connection } }

    /// The directory behind a connection that is looked up when it is first needed, at the beginning of each operation:
    /// for an account whose settings are read then. What it throws is given to the caller as it is.
    public init(connecting connect: @escaping @Sendable () async throws -> GraphConnection) {
        self.connect = connect
    }

    /// The people of a query. Nothing is sent before the first is asked for.
    public func users(matching query: UserQuery) -> Users { Users(pages: pages(matching: query)) }

    /// The people to whom a filter applies. Nothing is sent before the first is asked for.
    public func users(matching filter: UserFilter) -> Users { users(matching: UserQuery(filter)) }

    /// The people of a query, page by page.
    public func pages(matching query: UserQuery) -> UserPages { UserPages(connect: connect, query: query) }

    /// The people to whom a filter applies, page by page.
    public func pages(matching filter: UserFilter) -> UserPages { pages(matching: UserQuery(filter)) }

    /// The signed-in person. Needs the permission `User.Read`.
    ///
    /// - Throws: ``DirectoryError``; what the transport and the authorization throw; `CancellationError`.
    public func me(select: [String] = UserQuery.defaultProperties) async throws -> User {
        let option = try UserQuery.selectOption(select)
        let connection = try await connect()
        return try await user(
            at: "me?\(option)", permissions: ["User.Read"], connection: connection, budget: connection.makeBudget())
    }

    /// One person, by identifier or sign-in name, or, where neither exists and the text has an `@`, by mail address.
    ///
    /// - Throws: ``DirectoryError``, of the kind `notFound` when there is no such person, `emptySearch` for an empty text,
    ///   `ambiguous` when several have the mail address; what the transport and the authorization throw;
    ///   `CancellationError`.
    public func user(
        _ identifierOrName: String, select: [String] = UserQuery.defaultProperties
    ) async throws -> User {
        let option = try UserQuery.selectOption(select)
        let path = try Self.path(ofUser: identifierOrName)
        let connection = try await connect()
        let budget = connection.makeBudget()
        let permissions = UserQuery.permissions(toRead: select)
        do {
            return try await user(
                at: "\(path)?\(option)", permissions: permissions, connection: connection, budget: budget)
        } catch let error as DirectoryError where error.kind == .notFound {
            guard let user = try await user(withMail: identifierOrName, select, connection, budget) else { throw error }
            return user
        }
    }

    /// The one person with this mail address; nil when there is none, or the text cannot be such an address.
    private func user(
        withMail mail: String, _ select: [String], _ connection: GraphConnection, _ budget: RetryBudget
    ) async throws -> User? {
        // Graph takes at most 120 characters in a default `eq`.
        guard mail.contains("@"), mail.utf8.count <= 120 else { return nil }
        let query = UserQuery(.property(.mail, equals: mail), select: select, limit: 2)
        var pages = UserPages.Iterator(connect: { connection }, query: query, budget: budget)
        var found: [User] = []
        while found.count < 2, let page = try await pages.next() { found += page.users }
        guard found.count < 2 else { throw DirectoryError(.ambiguous) }
        return found.first
    }

    private func user(
        at target: String, permissions: [String], connection: GraphConnection, budget: RetryBudget
    ) async throws -> User {
        let question = GraphConnection.Question(
            address: "\(connection.base)/\(target)", permissions: permissions)
        let answer = try await connection.answer(to: question, budget: budget)
        // A list or a failure with status 200 is no person.
        if case .array? = answer.object["value"] { throw answer.unreadable("it is a list, not one person") }
        if case .object? = answer.object["error"] { throw answer.unreadable("it is an error with status 200") }
        return User(json: answer.object)
    }

    /// The path of one person, below the base.
    ///
    /// A sign-in name that begins with `$`, and a word that is an operation of its own, stand as a key in parentheses; a
    /// segment would be taken for something else.
    static func path(ofUser identifierOrName: String) throws(DirectoryError) -> String {
        guard !identifierOrName.isBlank else { throw DirectoryError(.emptySearch) }
        guard identifierOrName != ".", identifierOrName != ".." else {
            throw DirectoryError(.invalidQuery("\"\(identifierOrName)\" is nobody's identifier"))
        }
        let name = identifierOrName.lowercased()
        if name.hasPrefix("$") || name == "delta" || name.hasPrefix("microsoft.graph.") {
            return "users" + ODataEscaping.pathKey(identifierOrName)
        }
        return "users/" + ODataEscaping.pathSegment(identifierOrName)
    }
}
