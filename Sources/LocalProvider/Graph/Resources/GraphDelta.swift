import StrictJSON

// Delta queries: all users, then the changes.
extension GraphResources {
    private static let pageSize = 200
    /// The lifetime of a token in seconds: 7 days.
    private static let lifetime = 7 * 86_400

    /// The state of a chain of delta requests, carried by tokens.
    fileprivate struct Chain {
        /// The last known change, or `nil` while all users are listed.
        var known: Int?
        /// The last change of this round.
        var end: Int
        /// The start of the page.
        var position = 0
        var issued: Int
        var select: [UserProperty]?
        /// The users to include; empty for all.
        var identifiers: [String] = []

        private var names: [String] {
            [(select ?? []).map(\.rawValue).joined(separator: ","), identifiers.joined(separator: ",")]
        }

        func next(at position: Int) -> String {
            "$skiptoken="
                + PageToken(kind: .deltaPage, numbers: [known ?? -1, end, position, issued], names: names)
                .encoded(for: "delta")
        }

        func finish(now: Int) -> String {
            "$deltatoken=" + PageToken(kind: .delta, numbers: [end, now], names: names).encoded(for: "delta")
        }
    }

    func userChanges(_ request: GraphRequest, _ caller: DirectoryPrincipal) throws(GraphFailure) -> GraphResponse {
        guard !caller.readsBasicOnly else { throw .denied }
        let query = try GraphQuery(request, .delta)
        var chain = Chain(end: contents.changes.last, issued: now)
        let skip = request.options?.option("skiptoken")
        if let text = skip ?? query.deltaToken.flatMap({ $0.lowercased() == "latest" ? nil : $0 }) {
            guard let token = PageToken(text, for: "delta"), (token.kind == .deltaPage) == (skip != nil),
                var read = Chain(token)
            else { throw .resync(request.base) }
            guard now - read.issued <= Self.lifetime else { throw .resync(request.base) }
            if skip == nil { read.end = contents.changes.last }
            chain = read
        } else {
            if query.isSelected { chain.select = query.select }
            chain.identifiers = try Self.identifiers(query.filter)
            if query.deltaToken != nil {
                return envelope([], chain.finish(now: now), isLast: true, chain.select, request)
            }
        }
        guard let known = chain.known else { return allUsers(chain, request, caller) }
        guard chain.end >= known, let changes = contents.changes.after(known)?.prefix(chain.end - known) else {
            throw .resync(request.base)
        }
        return changed(Array(changes), chain, request, caller)
    }

    private func allUsers(
        _ chain: Chain, _ request: GraphRequest, _ caller: DirectoryPrincipal
    ) -> GraphResponse {
        if !chain.identifiers.isEmpty {
            let found = chain.identifiers.compactMap { contents.index(of: $0) }
            return envelope(
                found.map { full($0, chain, caller) }, chain.finish(now: now), isLast: true, chain.select, request)
        }
        let page = UserSelection(contents, filter: nil, search: nil)
            .page(from: .init(sample: chain.position), count: Self.pageSize, order: [])
        return envelope(
            page.found.map { full($0, chain, caller) },
            page.next.map { chain.next(at: $0.sample) } ?? chain.finish(now: now), isLast: page.next == nil,
            chain.select, request)
    }

    /// Returns a page of a later round, with each changed user once.
    private func changed(
        _ changes: [ChangeLog.Change], _ chain: Chain, _ request: GraphRequest, _ caller: DirectoryPrincipal
    ) -> GraphResponse {
        let tracked = Set(chain.select ?? UserProperty.defaults)
        var order: [Int] = []
        var properties: [Int: Set<UserProperty>] = [:]
        var arrivals: Set<Int> = []
        for change in changes {
            if properties[change.index] == nil, !arrivals.contains(change.index) { order.append(change.index) }
            if let changed = change.properties {
                properties[change.index, default: []].formUnion(changed)
            } else {
                arrivals.insert(change.index)
            }
        }
        let relevant = order.filter { index in
            (arrivals.contains(index) || !tracked.isDisjoint(with: properties[index] ?? []))
                && (chain.identifiers.isEmpty || chain.identifiers.contains(contents[index].id))
        }
        let start = min(max(0, chain.position), relevant.count)
        let end = min(relevant.count, start + Self.pageSize)
        let items = relevant[start..<end].map { index -> JSONValue in
            if let removal = contents.removals[index] {
                let isGone = removal.isPermanent || !contents.isRestorable(index, now: now)
                return [
                    "id": .string(contents[index].id), "@removed": ["reason": isGone ? "deleted" : "changed"],
                ]
            }
            guard !arrivals.contains(index) else { return full(index, chain, caller) }
            let changed = tracked.intersection(properties[index] ?? [])
            let select = (chain.select ?? UserProperty.defaults).filter {
                !request.prefersMinimal || changed.contains($0)
            }
            return .object(withIdentifier(json(contents[index], select, caller), index))
        }
        return envelope(
            items, end < relevant.count ? chain.next(at: end) : chain.finish(now: now), isLast: end == relevant.count,
            chain.select, request)
    }

    /// Returns a complete user without unset properties.
    private func full(_ index: Int, _ chain: Chain, _ caller: DirectoryPrincipal) -> JSONValue {
        let object = json(contents[index], chain.select ?? UserProperty.defaults, caller)
        return .object(withIdentifier(JSONObject(object.members.filter { !$0.value.isNull }), index))
    }

    private func withIdentifier(_ object: JSONObject, _ index: Int) -> JSONObject {
        var object = object
        if object["id"] == nil { object.append("id", .string(contents[index].id)) }
        return object
    }

    private func envelope(
        _ items: [JSONValue], _ token: String, isLast: Bool, _ select: [UserProperty]?, _ request: GraphRequest
    ) -> GraphResponse {
        let names = select.map { "(" + $0.map(\.rawValue).joined(separator: ",") + ")" } ?? ""
        let link = isLast ? "@odata.deltaLink" : "@odata.nextLink"
        return .list(
            request.context("users\(names)")
                + [link: .string("\(request.base)\(request.path)?\(token)"), "value": .array(items)])
    }

    /// Returns the identifiers of the only supported filter: `id eq …`, joined by `or`.
    private static func identifiers(_ filter: ODataFilter?) throws(GraphFailure) -> [String] {
        switch filter {
        case nil: return []
        case .or(let left, let right): return try identifiers(left) + identifiers(right)
        case .compare(let operand, .eq, .string(let id)) where operand.property == .id: return [id.lowercased()]
        case .compare(let operand, .eq, .bare(let id)) where operand.property == .id: return [id.lowercased()]
        default: throw .unsupported("Only 'id eq' is supported in a filter of the delta function.")
        }
    }
}

extension GraphResources.Chain {
    fileprivate init?(_ token: PageToken) {
        guard token.names.count == 2 else { return nil }
        switch (token.kind, token.numbers.count) {
        case (.deltaPage, 4):
            known = token.numbers[0] < 0 ? nil : token.numbers[0]
            end = token.numbers[1]
            position = token.numbers[2]
            issued = token.numbers[3]
        case (.delta, 2):
            known = token.numbers[0]
            end = 0
            issued = token.numbers[1]
        default: return nil
        }
        select =
            token.names[0].isEmpty
            ? nil : token.names[0].split(separator: ",").compactMap { UserProperty(name: $0) }
        identifiers = token.names[1].split(separator: ",").map { String($0) }
    }
}
