import Platform
public import OAuth2AccountStore

extension AccountStore {
    /// The directory that an account may look into, of the kind that its type's settings name.
    ///
    /// Tokens are fetched from the store when they are needed, and renewed once when the service refuses one. What is wrong with
    /// the settings is thrown by the first request.
    ///
    /// - Parameters:
    ///   - retry: when a request is sent again.
    ///   - budget: one budget for all waits; nil gives each operation its own.
    public nonisolated func directory(
        of account: Account, retry: RetryPolicy = RetryPolicy(), budget: RetryBudget? = nil
    ) -> any UserDirectory {
        switch settings[account.type]?.directory ?? .graph {
        case .graph: return GraphDirectory(account: account, in: self, retry: retry, budget: budget)
        case .scim:
            let pace = RateLimiter(unitsPerTenSeconds: 500, burst: 50)
            return SCIMDirectory(connecting: GraphConnection.connecting(.scim, account, self, pace, retry, budget))
        case .google:
            // 2,400 questions a minute from one person.
            let pace = RateLimiter(unitsPerTenSeconds: 400, burst: 50)
            return GoogleDirectory(connecting: GraphConnection.connecting(.google, account, self, pace, retry, budget))
        }
    }
}

extension AccountType {
    /// Checks a query against what this type's directory can say. Nothing is sent.
    ///
    /// - Throws: ``DirectoryError`` of the kind `emptySearch` or `invalidQuery`, with what would work instead.
    public func check(_ query: UserQuery) throws(DirectoryError) { _ = try explanation(of: query, base: "") }

    /// The request that a query becomes in this type's directory, to be shown: without a token, and with the notes of that directory.
    ///
    /// - Parameter countOnly: whether only the number of people is wanted, as by ``UserDirectory/count(of:)-(UserQuery)``.
    /// - Returns: nil when the settings name no address of a directory.
    /// - Throws: ``DirectoryError`` of the kind `emptySearch` or `invalidQuery`, with what would work instead.
    public func explanation(of query: UserQuery, countOnly: Bool = false) throws(DirectoryError) -> String? {
        guard var base = graphAPI?.absoluteString else { return nil }
        while base.hasSuffix("/") { base.removeLast() }
        if directory == .graph { base += "/" + graphVersion }
        guard countOnly else { return try explanation(of: query, base: base) }
        if directory == .graph, !query.isAmongDeleted { return try query.countPlan().description(base: base) }
        return try explanation(of: query.pageForTotal, base: base)
    }

    private func explanation(of query: UserQuery, base: String) throws(DirectoryError) -> String {
        switch directory {
        case .graph: try query.plan().description(base: base)
        case .scim: try query.scimRequest().description(base: base)
        case .google: try query.googleRequest().description(base: base)
        }
    }

    /// Who is looked for, in the words of this type's directory; nil when the query asks for everybody.
    ///
    /// - Throws: ``DirectoryError`` of the kind `emptySearch` or `invalidQuery`.
    public func words(of query: UserQuery) throws(DirectoryError) -> String? {
        switch directory {
        case .graph: try query.graphWords()
        case .scim: try query.scimRequest().words
        case .google: try query.googleRequest().words
        }
    }
}
