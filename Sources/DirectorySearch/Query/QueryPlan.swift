/// The request of a query with the reasons for its form. To print it, use ``description(base:)``.
public struct QueryPlan: Sendable, Equatable {
    /// The URL below the service's base, percent-encoded: `users?$filter=…`.
    public var target: String
    /// The reasons why the request has `ConsistencyLevel: eventual` and `$count=true`; empty if it does not.
    public var advancedReasons: [String]
    /// The cost of one page in resource units of the service's quota.
    package var resourceUnits: Int
    /// The permissions, one of which is required, the least privileged first.
    public var permissions: [String]
    /// The media type of the response.
    package var accept = "application/json"
    /// The value of the field `Prefer` (RFC 7240), or `nil` to omit it.
    package var preference: String?

    /// Whether the request has `ConsistencyLevel: eventual` and `$count=true`.
    public var isAdvanced: Bool { !advancedReasons.isEmpty }

    /// The maximum length of an advanced query's URL in bytes.
    ///
    /// A longer one is sent in a `$batch`, which has no such limit.
    static let maximumURLLength = 2048

    /// An observer called at the start of each planning, so that a test can count them.
    @TaskLocal package static var observer: (@Sendable () -> Void)?

    /// Returns whether the request is sent in a `$batch` because its URL is too long.
    package func goesByBatch(base: String) -> Bool {
        isAdvanced && base.utf8.count + 1 + target.utf8.count > Self.maximumURLLength
    }

    /// Returns the request line, the header fields, the cost and the reasons, one per line, without the access token.
    ///
    /// - Parameter base: The service's URL, such as `https://graph.microsoft.com/v1.0`.
    public func description(base: String) -> String {
        let isBatch = goesByBatch(base: base)
        var lines =
            isBatch
            ? ["POST \(base)/$batch", "Content-Type: application/json", "Accept: application/json"]
            : ["GET \(base)/\(target)", "Accept: \(accept)"]
        lines += ["Authorization: Bearer ***", "client-request-id: a new UUID"]
        if isAdvanced, !isBatch { lines.append("ConsistencyLevel: eventual") }
        if let preference { lines.append("Prefer: \(preference)") }
        if isBatch {
            let item = BatchRequest.item(id: "1", target: target, isAdvanced: isAdvanced)
            lines += ["", BatchRequest.body([item]).text()]
        }
        lines += [
            "", "Cost: \(resourceUnits) resource unit\(resourceUnits == 1 ? "" : "s") a page",
            "Advanced query: " + (isAdvanced ? advancedReasons.joined(separator: "; ") : "not needed"),
        ]
        if isBatch { lines.append("By $batch: the address would have more than \(Self.maximumURLLength) bytes") }
        lines.append("Permission: \(permissions.joined(separator: " or "))")
        return lines.joined(separator: "\n")
    }
}

extension UserQuery {
    /// Returns the request of this query.
    ///
    /// - Throws: ``DirectoryError`` of the kind `emptySearch` if a value is empty, `invalidQuery` with an alternative
    ///   if the service would reject the query.
    public func plan() throws(DirectoryError) -> QueryPlan {
        QueryPlan.observer?()
        let selection = try Selection(select, expanding: expand)
        try selection.checkForLists()
        var reasons = isAdvanced ? ["asked for"] : []
        var options = try searchingOptions(&reasons)
        let isFiltered = options.last?.hasPrefix("$filter=") == true
        options.append(selection.selectOption)
        try addOrder(to: &options, &reasons, isFiltered: isFiltered)
        let top = try top(selection)
        if let top { options.append("$top=\(top)") }
        if countsTotal { reasons.append("the total needs one") }
        if let option = selection.expandOption {
            guard reasons.isEmpty || selection.needsAdvancedQuery else {
                throw .invalidQuery(
                    "\(selection.expansion?.relation ?? "a relation") cannot be combined with an advanced query, which this is "
                        + "(\(reasons.joined(separator: "; "))); search for the users first, then request the relation of each user"
                )
            }
            options.append(option)
            if selection.needsAdvancedQuery { reasons.append("a chain of managers needs one") }
        }
        if !reasons.isEmpty { options.append("$count=true") }
        // The service charges two units for a list, less or more for these options, and at least one.
        let units = 2 - 1 - (top.map { $0 < 20 } == true ? 1 : 0) + (selection.expansion == nil ? 0 : 1)
        return QueryPlan(
            target: (isAmongDeleted ? "directory/deletedItems/microsoft.graph.user?" : "users?")
                + options.joined(separator: "&"), advancedReasons: reasons,
            resourceUnits: max(1, units), permissions: permissions)
    }

    /// Returns the options `$search` and `$filter`.
    func searchingOptions(_ reasons: inout [String]) throws(DirectoryError) -> [String] {
        var filters = filter.map { [$0] } ?? []
        var options: [String] = []
        if let search {
            let written = try search.written()
            filters += written.filters
            if let text = written.text {
                options.append("$search=" + ODataEscaping.queryValue(text))
                reasons.append("a search needs one")
            }
        }
        guard !filters.isEmpty else { return options }
        let written = try (filters.count == 1 ? filters[0] : .all(of: filters)).written()
        options.append("$filter=" + ODataEscaping.queryValue(written.text))
        reasons += written.reasons
        return options
    }

    private func addOrder(
        to options: inout [String], _ reasons: inout [String], isFiltered: Bool
    ) throws(DirectoryError) {
        guard !orderBy.isEmpty else { return }
        for order in orderBy {
            switch PropertySupport.orderBy[order.property.rawValue] {
            case .byDefault?: continue
            case .advanced?: reasons.append("sorting by \(order.property) needs one")
            case .never?, nil:
                throw .invalidQuery(
                    "the service does not sort by \"\(order.property.rawValue.visible(limit: 100))\"; it sorts by "
                        + PropertySupport.orderBy.keys.sorted().joined(separator: ", "))
            }
        }
        if isFiltered { reasons.append("sorting what a filter finds needs one") }
        options.append("$orderby=" + ODataEscaping.queryValue(orderBy.map(\.odata).joined(separator: ",")))
    }

    private func top(_ selection: Selection) throws(DirectoryError) -> Int? {
        if let limit, limit < 0 { throw .invalidQuery("the limit is \(limit); it is 0 or more") }
        // The service reads sign-ins from another database with smaller pages.
        let maximum = selection.properties.contains("signInActivity") ? 120 : 999
        if let pageSize {
            guard (1...999).contains(pageSize) else {
                throw .invalidQuery("the page size is \(pageSize); the service takes 1 to 999")
            }
            // A page has no more users than needed, because both sides process whole pages.
            return max(1, min(pageSize, limit ?? pageSize, maximum))
        }
        if let limit, limit < 100 { return max(1, limit) }
        return nil
    }
}
