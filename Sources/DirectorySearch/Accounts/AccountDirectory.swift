import LodgePlatform
import HTTPExchange
import OAuth2AccountStore

extension Account {
    /// Returns the directory of the account, of the kind in the settings of its type.
    ///
    /// The store provides the tokens, and refreshes a token once if the service rejects it. The first request throws
    /// the errors of the settings.
    ///
    /// - Parameters:
    ///   - retry: The conditions for retries of a request.
    ///   - budget: The shared time budget for all retry delays. If `nil`, each operation has its own.
    public func directory(
        in store: AccountStore, retry: HTTPRetryPolicy = .directory, budget: RetryBudget? = nil
    ) -> any UserDirectory {
        let kind = store.settings[type]?.directory ?? .graph
        let rateLimiter =
            switch kind {
            case .graph: RateLimiter()
            case .scim: RateLimiter(unitsPerTenSeconds: 500, burst: 50)
            // Google accepts 2,400 requests a minute from one user.
            case .google: RateLimiter(unitsPerTenSeconds: 400, burst: 50)
            }
        let client = AccountClient(
            kind: kind, account: self, store: store, rateLimiter: rateLimiter, retry: retry, budget: budget)
        return switch kind {
        case .graph: GraphDirectory(makeClient: client.make)
        case .scim: SCIMDirectory(makeClient: client.make)
        case .google: GoogleDirectory(makeClient: client.make)
        }
    }
}

extension AccountType {
    /// Plans a query for this type's directory without sending a request. ``UserDirectory/pages(of:)`` sends it.
    ///
    /// - Throws: ``DirectoryError`` of the kind `emptySearch` or `invalidQuery`, with an alternative.
    package func plan(_ query: UserQuery) throws(DirectoryError) -> SearchPlan {
        switch directory {
        case .graph: try SearchPlan(query)
        case .scim: SearchPlan(query, .cursor(try query.scimRequest()))
        case .google: SearchPlan(query, .cursor(try query.googleRequest()))
        }
    }

    /// Returns the request of a query in this type's directory as a string.
    ///
    /// It includes the notes of the directory and no token.
    ///
    /// - Parameter countOnly: Whether the request is for the number of users, as in
    ///   ``UserDirectory/count(of:)-(UserQuery)``.
    /// - Returns: `nil` if the settings contain no URL of a directory.
    /// - Throws: ``DirectoryError`` of the kind `emptySearch` or `invalidQuery`, with an alternative.
    package func explanation(of query: UserQuery, countOnly: Bool = false) throws(DirectoryError) -> String? {
        guard var base = graphAPI?.absoluteString else { return nil }
        while base.hasSuffix("/") { base.removeLast() }
        if directory == .graph { base += "/" + graphVersion }
        if countOnly, directory == .graph, !query.isAmongDeleted {
            return try query.countPlan().description(base: base)
        }
        return try plan(countOnly ? query.pageForTotal : query).description(base: base)
    }

    /// Returns the filter of a query in the language of this type's directory, or `nil` if the query finds all users.
    ///
    /// - Throws: ``DirectoryError`` of the kind `emptySearch` or `invalidQuery`.
    package func filterText(of query: UserQuery) throws(DirectoryError) -> String? {
        switch directory {
        case .graph: try query.graphFilterText()
        case .scim: try query.scimRequest().filter
        case .google: try query.googleRequest().filter
        }
    }
}
