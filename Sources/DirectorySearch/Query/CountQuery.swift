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
