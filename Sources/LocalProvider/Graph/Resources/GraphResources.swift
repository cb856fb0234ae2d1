import LoopbackHTTP
import StrictJSON

/// One state of the directory with Graph's resources.
struct GraphResources: Sendable {
    let contents: DirectoryContents
    /// Whether properties that User.ReadBasic.All does not cover are null.
    var withholdsNonBasicProperties = false
    /// The current time in seconds since 1970.
    var now = 0
    /// The generation of page tokens. Tokens of another generation have expired.
    var generation = 0

    /// Responds to a request with a valid token.
    func response(to request: GraphRequest, _ caller: DirectoryPrincipal) -> GraphResponse {
        do throws(GraphFailure) {
            return try route(request, caller)
        } catch {
            return .failure(error)
        }
    }

    private func route(_ request: GraphRequest, _ caller: DirectoryPrincipal) throws(GraphFailure) -> GraphResponse {
        guard let segments = LoopbackRequest.segments(of: request.path) else {
            throw .malformed("The path is not percent-encoded UTF-8.")
        }
        guard let first = segments.first else { throw .segment("") }
        if first.lowercased() == "directory" { return try deletedItems(segments, request, caller) }
        guard request.method == "GET" else { throw .wrongMethod }
        switch first.lowercased() {
        case "me":
            guard caller.readsSelf else { throw .denied }
            guard let user = caller.user else {
                throw .malformed("/me request is only valid with delegated authentication flow.")
            }
            guard contents.isPresent(user) else { throw .notFound(contents[user].id) }
            return try one(of: user, Array(segments.dropFirst()), request, caller)
        case "users":
            guard caller.readsAllUsers else { throw .denied }
            return try users(segments, request, caller)
        default:
            guard let key = Self.keyInParentheses(first) else { throw .segment(first) }
            guard caller.readsAllUsers else { throw .denied }
            return try one(of: try index(of: key), Array(segments.dropFirst()), request, caller)
        }
    }

    /// Returns the key of `users('…')` without doubled quotes.
    private static func keyInParentheses(_ segment: String) -> String? {
        segment.wholeMatch(of: /users\('((?:[^']|'')+)'\)/.ignoresCase())
            .map { String($0.1).replacingBytes("''", with: "'") }
    }

    private func index(of key: String) throws(GraphFailure) -> Int {
        guard let index = contents.index(of: key) else { throw .notFound(key) }
        return index
    }

    private func users(
        _ segments: [String], _ request: GraphRequest, _ caller: DirectoryPrincipal
    ) throws(GraphFailure) -> GraphResponse {
        guard segments.count > 1 else { return try allUsers(request, caller) }
        let key = segments[1]
        switch key.lowercased() {
        case "$count":
            guard request.isEventual else { throw .badRequest("$count is not currently supported.") }
            let query = try GraphQuery(request, .count)
            return .text(String(UserSelection(contents, filter: query.filter, search: query.search).count()))
        case "delta", "delta()", "microsoft.graph.delta", "microsoft.graph.delta()":
            return try userChanges(request, caller)
        default:
            guard !key.hasPrefix("$") else { throw .segment(key) }
            return try one(of: try index(of: key), Array(segments.dropFirst(2)), request, caller)
        }
    }

    private func one(
        of index: Int, _ rest: [String], _ request: GraphRequest, _ caller: DirectoryPrincipal
    ) throws(GraphFailure) -> GraphResponse {
        guard let relation = rest.first?.lowercased() else {
            return .json(try one(index, request, caller, context: "users/$entity", isMixed: false))
        }
        switch (relation, rest.count) {
        case ("manager", 1):
            guard caller.readsAllUsers else { throw .denied }
            guard let manager = contents.manager(of: index) else { throw .notFound("manager") }
            return .json(try one(manager, request, caller, context: "directoryObjects/$entity", isMixed: true))
        case ("directreports", 1...3):
            guard caller.readsAllUsers else { throw .denied }
            var rest = rest.dropFirst()
            let isCast = rest.first?.lowercased() == "microsoft.graph.user"
            if isCast { rest = rest.dropFirst() }
            let users = contents.reports(to: index).map { contents[$0] }
            if rest.first?.lowercased() == "$count" { return try count(users, request) }
            if let name = rest.first { throw .segment(name) }
            return try list(
                users, request, caller, context: isCast ? "users" : "directoryObjects", isMixed: !isCast)
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
