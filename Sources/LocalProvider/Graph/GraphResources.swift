import StrictJSON

/// The directory as Graph's resources.
struct GraphResources: Sendable {
    let people: People
    /// Gives null for what User.ReadBasic.All does not let see.
    let withholdsNonBasicProperties: Bool

    /// Answers a request whose token is good.
    func answer(_ request: GraphRequest, caller: GraphCaller) -> GraphAnswer {
        do throws(GraphFailure) {
            return try route(request, caller)
        } catch {
            return .failure(error)
        }
    }

    private func route(_ request: GraphRequest, _ caller: GraphCaller) throws(GraphFailure) -> GraphAnswer {
        guard request.method == "GET" else {
            throw GraphFailure(
                status: 405, code: "Request_BadRequest", message: "Specified HTTP method is not allowed.")
        }
        var segments: [String] = []
        for part in request.path.split(separator: "/") {
            guard let segment = PercentCoding.decode(part) else {
                throw .malformed("The path is not percent-encoded UTF-8.")
            }
            segments.append(segment)
        }
        guard let first = segments.first else { throw .malformed("Resource not found for the segment ''.") }
        switch first.lowercased() {
        case "me":
            guard caller.readsSelf else { throw .denied }
            guard let person = caller.person else {
                throw .malformed("/me request is only valid with delegated authentication flow.")
            }
            return try user(person, Array(segments.dropFirst()), request, caller)
        case "users":
            guard caller.readsEverybody else { throw .denied }
            return try users(segments, request, caller)
        default:
            guard let key = Self.keyInParentheses(first) else {
                throw .malformed("Resource not found for the segment '\(first)'.")
            }
            guard caller.readsEverybody else { throw .denied }
            return try user(try index(of: key), Array(segments.dropFirst()), request, caller)
        }
    }

    /// The key of `users('…')`, its doubled quotes read.
    private static func keyInParentheses(_ segment: String) -> String? {
        guard segment.lowercased().hasPrefix("users('"), segment.hasSuffix("')"), segment.utf8.count > 9 else {
            return nil
        }
        let inner = segment.dropFirst(7).dropLast(2)
        var key = ""
        var isHalf = false
        for character in inner {
            if character == "'" {
                isHalf.toggle()
                if isHalf { continue }
            } else if isHalf {
                return nil
            }
            key.append(character)
        }
        return isHalf ? nil : key
    }

    private func index(of key: String) throws(GraphFailure) -> Int {
        guard let index = people.index(of: key) else { throw .notFound(key) }
        return index
    }

    private func users(
        _ segments: [String], _ request: GraphRequest, _ caller: GraphCaller
    ) throws(GraphFailure) -> GraphAnswer {
        guard segments.count > 1 else {
            return try list(Array(people.all.indices), request, caller, context: "users", isMixed: false)
        }
        let key = segments[1]
        if key.lowercased() == "$count" {
            guard request.isEventual else { throw .badRequest("$count is not currently supported.") }
            let query = try GraphQuery(request, .count)
            return .text(String(people.all.count { query.matches($0) }))
        }
        guard !key.hasPrefix("$") else {
            throw .malformed("Resource not found for the segment '\(key)'.")
        }
        return try user(try index(of: key), Array(segments.dropFirst(2)), request, caller)
    }

    /// A user or what hangs on one.
    private func user(
        _ index: Int, _ rest: [String], _ request: GraphRequest, _ caller: GraphCaller
    ) throws(GraphFailure) -> GraphAnswer {
        guard let relation = rest.first?.lowercased() else {
            return .json(try one(index, request, caller, context: "users/$entity", isMixed: false))
        }
        switch (relation, rest.count) {
        case ("manager", 1):
            guard caller.readsEverybody else { throw .denied }
            guard let manager = people.all[index].manager else {
                throw .notFound("manager")
            }
            return .json(try one(manager, request, caller, context: "directoryObjects/$entity", isMixed: true))
        case ("directreports", 1):
            guard caller.readsEverybody else { throw .denied }
            return try list(
                people.reports(to: index), request, caller, context: "directoryObjects", isMixed: true)
        case ("memberof", 1...2), ("transitivememberof", 1...2):
            return .list(groups(of: index, request))
        case ("photo", _):
            throw GraphFailure(
                status: 404, code: "ImageNotFound", message: "The photo wasn't found.")
        default:
            throw .malformed("Resource not found for the segment '\(rest[0])'.")
        }
    }

    private func one(
        _ index: Int, _ request: GraphRequest, _ caller: GraphCaller, context: String, isMixed: Bool
    ) throws(GraphFailure) -> JSONObject {
        let query = try GraphQuery(request, .one)
        var object: JSONObject = [
            "@odata.context": .string("\(request.base)/$metadata#\(Self.context(context, query))")
        ]
        if isMixed { object.append("@odata.type", "#microsoft.graph.user") }
        for member in json(people.all[index], query, caller).members { object.append(member.name, member.value) }
        return object
    }

    private static func context(_ context: String, _ query: GraphQuery) -> String {
        guard query.isSelected, context.hasPrefix("users") else { return context }
        let names = query.select.map(\.rawValue).joined(separator: ",")
        return "users(\(names))" + context.dropFirst(5)
    }

    private func list(
        _ candidates: [Int], _ request: GraphRequest, _ caller: GraphCaller, context: String, isMixed: Bool
    ) throws(GraphFailure) -> GraphAnswer {
        let query = try GraphQuery(request, .list)
        var found = query.finds ? candidates.filter { query.matches(people.all[$0]) } : candidates
        query.sort(&found, people.all)
        var object: JSONObject = [
            "@odata.context": .string("\(request.base)/$metadata#\(Self.context(context, query))")
        ]
        if query.countsTotal { object.append("@odata.count", .number(JSONNumber(Int64(found.count)))) }
        let end = min(found.count, query.offset + query.top)
        if end < found.count { object.append("@odata.nextLink", .string(GraphQuery.link(request, offset: end))) }
        let page = query.offset < end ? found[query.offset..<end] : []
        object.append(
            "value",
            .array(
                page.map { index in
                    var item: JSONObject = isMixed ? ["@odata.type": "#microsoft.graph.user"] : [:]
                    for member in json(people.all[index], query, caller).members {
                        item.append(member.name, member.value)
                    }
                    return .object(item)
                }))
        return .list(object)
    }

    private func json(_ person: Person, _ query: GraphQuery, _ caller: GraphCaller) -> JSONObject {
        var object = json(person, query.select, caller)
        for expansion in query.expand {
            if expansion.relation == "manager" {
                guard let manager = person.manager else { continue }
                object.append("manager", .object(reference(manager, expansion.select, caller)))
            } else {
                let reports = people.index(of: person.id).map { people.reports(to: $0) } ?? []
                // Graph gives at most 20 and no link to the rest.
                object.append(
                    "directReports", .array(reports.prefix(20).map { .object(reference($0, expansion.select, caller)) })
                )
            }
        }
        return object
    }

    private func reference(_ index: Int, _ select: [UserProperty], _ caller: GraphCaller) -> JSONObject {
        var object: JSONObject = ["@odata.type": "#microsoft.graph.user"]
        for member in json(people.all[index], select, caller).members { object.append(member.name, member.value) }
        return object
    }

    private func json(_ person: Person, _ select: [UserProperty], _ caller: GraphCaller) -> JSONObject {
        let hides =
            withholdsNonBasicProperties && caller.readsBasicOnly && caller.person.map { people.all[$0].id } != person.id
        return JSONObject(
            select.map { property in
                let isHidden = hides && !UserProperty.basic.contains(property)
                return .init(
                    name: property.rawValue,
                    value: isHidden ? (property == .businessPhones ? [] : .null) : person.json(property))
            })
    }

    /// The groups of a person: everybody's and the department's.
    private func groups(of index: Int, _ request: GraphRequest) -> JSONObject {
        let person = people.all[index]
        func group(_ name: String, _ number: Int) -> JSONValue {
            let digits = String(number)
            let id = "00000000-0000-4000-8000-" + String(repeating: "0", count: max(0, 12 - digits.utf8.count)) + digits
            return [
                "@odata.type": "#microsoft.graph.group", "id": .string(id), "displayName": .string(name),
                "description": .string("Everybody of \(name)"), "mail": nil, "mailEnabled": false,
                "securityEnabled": true,
            ]
        }
        var value: [JSONValue] = [group("All People", 1)]
        if let department = person.department {
            value.append(group(department, 2 + Int(department.utf8.reduce(0) { $0 &* 31 &+ UInt32($1) } % 100_000)))
        }
        return [
            "@odata.context": .string("\(request.base)/$metadata#directoryObjects"), "value": .array(value),
        ]
    }
}

extension GraphQuery {
    /// Whether there is a condition.
    var finds: Bool { filter != nil || search != nil }

    func matches(_ person: Person) -> Bool {
        (filter?.matches(person) ?? true) && (search?.matches(person) ?? true)
    }

    /// Sorts places of the list; without `$orderby` the order stays.
    func sort(_ indices: inout [Int], _ people: [Person]) {
        guard !order.isEmpty else { return }
        let keys = Dictionary(
            uniqueKeysWithValues: indices.map { index in
                (index, order.map { people[index].text($0.property)?.lowercased() ?? "" })
            })
        indices.sort { left, right in
            let (leftKeys, rightKeys) = (keys[left] ?? [], keys[right] ?? [])
            for (position, (_, descending)) in order.enumerated() where leftKeys[position] != rightKeys[position] {
                return (leftKeys[position] < rightKeys[position]) != descending
            }
            return left < right
        }
    }
}
