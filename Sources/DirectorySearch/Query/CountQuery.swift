extension UserQuery {
    /// Returns the request for the number of matching users, `users/$count`, regardless of selection, order and limit.
    ///
    /// ``UserDirectory/count(of:)`` sends it.
    ///
    /// - Throws: ``DirectoryError`` of the kind `emptySearch` if a value is empty, `invalidQuery` if the service would
    ///   reject the query.
    package func countPlan() throws(DirectoryError) -> QueryPlan {
        guard !isAmongDeleted else {
            throw .invalidQuery(
                "the service has no address for the number of deleted people; ask for a page and its total")
        }
        var reasons = ["the number needs one"]
        let options = try searchingOptions(&reasons)
        return QueryPlan(
            target: "users/$count" + (options.isEmpty ? "" : "?" + options.joined(separator: "&")),
            advancedReasons: reasons, resourceUnits: 1, permissions: permissions, accept: "text/plain")
    }
}

extension UserQuery {
    /// The query with the smallest page that contains the total.
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
