extension UserQuery {
    /// The request for the number of people whom this query finds: `users/$count`. What is selected, the order and the limit make no
    /// difference to it. ``UserDirectory/count(of:)`` asks it.
    ///
    /// - Throws: ``DirectoryError`` of the kind `emptySearch` when a text is empty, `invalidQuery` when the service would refuse
    ///   the query.
    public func countPlan() throws(DirectoryError) -> QueryPlan {
        guard !isAmongDeleted else {
            throw DirectoryError(
                .invalidQuery(
                    "the service has no address for the number of deleted people; ask for a page and its total"))
        }
        var reasons = ["the number needs one"]
        let options = try searchingOptions(&reasons)
        return QueryPlan(
            target: "users/$count" + (options.isEmpty ? "" : "?" + options.joined(separator: "&")),
            advancedReasons: reasons, resourceUnits: 1, permissions: permissions, accept: "text/plain")
    }
}

extension UserQuery {
    /// The smallest page on which the total stands.
    var pageForTotal: UserQuery {
        var query = self
        query.countsTotal = true
        query.pageSize = 1
        query.limit = 1
        query.select = ["id"]
        query.expand = nil
        query.orderBy = []
        return query
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

extension UserDirectory {
    /// How many people a query finds, by the total that stands on the first page of one person.
    ///
    /// - Throws: ``DirectoryError``, of the kind `notSupported` where the directory does not say it.
    public func count(of query: UserQuery) async throws -> Int { try await countOfFirstPage(query) }

    func countOfFirstPage(_ query: UserQuery) async throws -> Int {
        var pages = pages(matching: query.pageForTotal).makeAsyncIterator()
        guard let count = try await pages.next()?.count else {
            throw DirectoryError(.notSupported, message: "the answer does not say how many there are")
        }
        return count
    }
}
