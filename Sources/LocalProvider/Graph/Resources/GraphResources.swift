import StrictJSON

/// The directory as Graph's resources, in one state of it.
struct GraphResources: Sendable {
    let contents: DirectoryContents
    /// Gives null for what User.ReadBasic.All does not let see.
    var withholdsNonBasicProperties = false
    /// Seconds since 1970.
    var now = 0
    /// Page tokens of another generation have expired.
    var generation = 0

    init(_ contents: DirectoryContents) { self.contents = contents }

    /// Answers a request whose token is good.
    func answer(_ request: GraphRequest, caller: GraphPrincipal) -> GraphResponse {
        do throws(GraphFailure) {
            return try route(request, caller)
        } catch {
            return .failure(error)
        }
    }

    private func route(_ request: GraphRequest, _ caller: GraphPrincipal) throws(GraphFailure) -> GraphResponse {
        var segments: [String] = []
        for part in request.path.split(separator: "/") {
            guard let segment = PercentCoding.decode(part) else {
                throw .malformed("The path is not percent-encoded UTF-8.")
            }
            segments.append(segment)
        }
        guard let first = segments.first else { throw .segment("") }
        if first.lowercased() == "directory" { return try deletedItems(segments, request, caller) }
        guard request.method == "GET" else { throw .wrongMethod }
        switch first.lowercased() {
        case "me":
            guard caller.readsSelf else { throw .denied }
            guard let person = caller.person else {
                throw .malformed("/me request is only valid with delegated authentication flow.")
            }
            guard contents.isPresent(person) else { throw .notFound(contents[person].id) }
            return try user(person, Array(segments.dropFirst()), request, caller)
        case "users":
            guard caller.readsEverybody else { throw .denied }
            return try users(segments, request, caller)
        default:
            guard let key = Self.keyInParentheses(first) else { throw .segment(first) }
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
        guard let index = contents.index(of: key) else { throw .notFound(key) }
        return index
    }

    private func users(
        _ segments: [String], _ request: GraphRequest, _ caller: GraphPrincipal
    ) throws(GraphFailure) -> GraphResponse {
        guard segments.count > 1 else { return try everybody(request, caller) }
        let key = segments[1]
        switch key.lowercased() {
        case "$count":
            guard request.isEventual else { throw .badRequest("$count is not currently supported.") }
            let query = try GraphQuery(request, .count)
            return .text(String(UserSelection(contents, filter: query.filter, search: query.search).count()))
        case "delta", "delta()", "microsoft.graph.delta", "microsoft.graph.delta()":
            return try delta(request, caller)
        default:
            guard !key.hasPrefix("$") else { throw .segment(key) }
            return try user(try index(of: key), Array(segments.dropFirst(2)), request, caller)
        }
    }

    /// A user or what hangs on one.
    private func user(
        _ index: Int, _ rest: [String], _ request: GraphRequest, _ caller: GraphPrincipal
    ) throws(GraphFailure) -> GraphResponse {
        guard let relation = rest.first?.lowercased() else {
            return .json(try one(index, request, caller, context: "users/$entity", isMixed: false))
        }
        switch (relation, rest.count) {
        case ("manager", 1):
            guard caller.readsEverybody else { throw .denied }
            guard let manager = contents.manager(of: index) else { throw .notFound("manager") }
            return .json(try one(manager, request, caller, context: "directoryObjects/$entity", isMixed: true))
        case ("directreports", 1...3):
            guard caller.readsEverybody else { throw .denied }
            var rest = rest.dropFirst()
            let isCast = rest.first?.lowercased() == "microsoft.graph.user"
            if isCast { rest = rest.dropFirst() }
            let people = contents.reports(to: index).map { contents[$0] }
            if rest.first?.lowercased() == "$count" { return try count(people, request) }
            if let name = rest.first { throw .segment(name) }
            return try list(
                people, request, caller, context: isCast ? "users" : "directoryObjects", isMixed: !isCast)
        case ("memberof", _), ("transitivememberof", _):
            return try groups(
                of: index, isTransitive: relation != "memberof", Array(rest.dropFirst()), request, caller)
        case ("photo", _), ("photos", _):
            guard request.query == nil || request.query == "" || relation == "photo" else {
                throw .badRequest("Query options are not supported for photos.")
            }
            return try photo(of: index, rest, request)
        default: throw .segment(rest[0])
        }
    }
}
