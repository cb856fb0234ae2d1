import StrictJSON

// Conversion of users to JSON.
extension GraphResources {
    static let userType: JSONObject = ["@odata.type": "#microsoft.graph.user"]

    func one(
        _ index: Int, _ request: GraphRequest, _ caller: DirectoryPrincipal, context: String, isMixed: Bool
    ) throws(GraphFailure) -> JSONObject {
        let query = try GraphQuery(request, .one)
        try check(query, caller)
        return request.context(Self.context(context, query)) + (isMixed ? Self.userType : [:])
            + json(contents[index], query, caller)
    }

    /// Checks the permissions for individual properties.
    func check(_ query: GraphQuery, _ caller: DirectoryPrincipal) throws(GraphFailure) {
        if query.select.contains(.signInActivity), !caller.permissions.contains("AuditLog.Read.All") { throw .denied }
    }

    static func context(_ context: String, _ query: GraphQuery) -> String {
        guard query.isSelected, context.hasPrefix("users") else { return context }
        let names = query.select.map(\.rawValue).joined(separator: ",")
        return "users(\(names))" + context.dropFirst(5)
    }

    func allUsers(_ request: GraphRequest, _ caller: DirectoryPrincipal) throws(GraphFailure) -> GraphResponse {
        let query = try GraphQuery(request, .list, generation: generation)
        try check(query, caller)
        let selection = UserSelection(contents, filter: query.filter, search: query.search)
        let page = selection.page(from: query.position, count: query.top, order: query.order)
        return envelope(
            page.found.map { .object(json(at: $0, query, caller)) }, query, request, context: "users",
            count: query.countsTotal ? selection.count() : nil, next: page.next)
    }

    func list(
        _ users: [StoredUser], _ request: GraphRequest, _ caller: DirectoryPrincipal, context: String, isMixed: Bool
    ) throws(GraphFailure) -> GraphResponse {
        let query = try GraphQuery(request, .list, generation: generation)
        try check(query, caller)
        let found = Self.found(users, query)
        let (page, next) = Self.page(found, query)
        return envelope(
            page.map { .object((isMixed ? Self.userType : [:]) + json($0, query, caller)) }, query, request,
            context: context, count: query.countsTotal ? found.count : nil, next: next)
    }

    func count(_ users: [StoredUser], _ request: GraphRequest) throws(GraphFailure) -> GraphResponse {
        guard request.isEventual else { throw .badRequest("$count is not currently supported.") }
        return .text(String(Self.found(users, try GraphQuery(request, .count)).count))
    }

    /// Returns the matches in order.
    static func found<Item: UserValues>(_ items: [Item], _ query: GraphQuery) -> [Item] {
        let found = items.filter { (query.filter?.matches($0) ?? true) && (query.search?.matches($0) ?? true) }
        return UserSelection.sorted(found, by: query.order) { $0.text($1)?.lowercased() ?? "" }
    }

    static func page<Item>(_ items: [Item], _ query: GraphQuery) -> ([Item], next: UserSelection.Position?) {
        let start = min(max(0, query.position.sample), items.count)
        let end = min(items.count, start + query.top)
        return (Array(items[start..<end]), end < items.count ? .init(sample: end) : nil)
    }

    func envelope(
        _ items: [JSONValue], _ query: GraphQuery, _ request: GraphRequest, context: String, count: Int?,
        next: UserSelection.Position?
    ) -> GraphResponse {
        var object = request.context(Self.context(context, query))
        if let count { object.append("@odata.count", .integer(count)) }
        object.append(
            "@odata.nextLink", text: next.map { GraphQuery.link(request, $0, generation: generation) })
        object.append("value", .array(items))
        return .list(object)
    }

    // MARK: One user

    /// Returns a user in a list. For a generated user, computes only the selected properties.
    private func json(at index: Int, _ query: GraphQuery, _ caller: DirectoryPrincipal) -> JSONObject {
        guard query.expand == nil, contents.pairs[index] != UserTable.irregular else {
            return json(contents[index], query, caller)
        }
        return json(SampleRow(table: contents.sample, index: index), query.select, caller)
    }

    func json(_ user: StoredUser, _ query: GraphQuery, _ caller: DirectoryPrincipal) -> JSONObject {
        var object = json(user, query.select, caller)
        guard let expansion = query.expand, let index = contents.index(of: user.id) else { return object }
        // Graph returns at most 20 and no link to the others.
        switch expansion.relation {
        case "manager":
            guard let chain = managers(above: index, expansion, caller) else { break }
            object.append("manager", .object(chain))
        case "directReports":
            let reports = contents.reports(to: index).prefix(20)
            object.append(
                expansion.relation, .array(reports.map { .object(reference($0, expansion.select, caller)) }))
        default:
            let groups = groups(of: index, isTransitive: expansion.relation != "memberOf").prefix(20)
            object.append(expansion.relation, .array(groups.map { .object($0.json(nil, isMixed: true)) }))
        }
        return object
    }

    /// Returns the manager. With `$levels`, each manager contains the next.
    private func managers(
        above index: Int, _ expansion: GraphQuery.Expansion, _ caller: DirectoryPrincipal
    ) -> JSONObject? {
        var chain: [Int] = []
        var next = contents.manager(of: index)
        while let manager = next, chain.count < expansion.levels ?? 1, !chain.contains(manager) {
            chain.append(manager)
            next = contents.manager(of: manager)
        }
        return chain.reversed().reduce(nil) { inner, manager in
            var object = reference(manager, expansion.select, caller)
            if let inner { object.append("manager", .object(inner)) }
            return object
        }
    }

    private func reference(_ index: Int, _ select: [UserProperty], _ caller: DirectoryPrincipal) -> JSONObject {
        Self.userType + json(contents[index], select, caller)
    }

    func json(_ user: some UserValues, _ select: [UserProperty], _ caller: DirectoryPrincipal) -> JSONObject {
        let hides =
            withholdsNonBasicProperties && caller.readsBasicOnly
            && caller.user.map { contents[$0].id } != user.text(.id)
        // With the sign-ins, the identifier is always returned.
        let isIdentified = select.contains(.signInActivity) && !select.contains(.id)
        return JSONObject(
            (isIdentified ? select + [.id] : select).map { property in
                let isHidden = hides && !UserProperty.basic.contains(property)
                return .init(
                    name: property.rawValue,
                    value: isHidden ? (property.isList ? [] : .null) : user.json(property))
            })
    }
}
