import LodgePlatform
import StrictJSON

// Accounts that were deleted in the last 30 days.
extension GraphResources {
    func deletedItems(
        _ segments: [String], _ request: GraphRequest, _ caller: DirectoryPrincipal
    ) throws(GraphFailure) -> GraphResponse {
        guard segments.count >= 2, segments[1].lowercased() == "deleteditems" else {
            throw .segment(segments.count > 1 ? segments[1] : segments[0])
        }
        guard segments.count > 2 else {
            throw .badRequest("A type is needed, such as /directory/deletedItems/microsoft.graph.user.")
        }
        guard !caller.readsBasicOnly else { throw .denied }
        if segments[2].lowercased() == "microsoft.graph.user" { return try deletedUsers(segments, request, caller) }
        guard let index = contents.restorable(id: segments[2], now: now) else { throw .notFound(segments[2]) }
        let context = request.context("directoryObjects/$entity") + Self.userType
        switch (request.method, segments.dropFirst(3).map { $0.lowercased() }) {
        case ("GET", []):
            let query = try GraphQuery(request, .one)
            let select = query.isSelected ? query.select : query.select + [.deletedDateTime]
            return .json(context + json(deleted(index), select, caller))
        case ("DELETE", []):
            guard caller.writes else { throw .denied }
            return .purge(index)
        case ("POST", ["restore"]):
            guard caller.writes else { throw .denied }
            return .restoration(index, context + json(contents[index], UserProperty.defaults, caller))
        case (_, []), (_, ["restore"]): throw .wrongMethod
        default: throw .segment(segments[3])
        }
    }

    private func deletedUsers(
        _ segments: [String], _ request: GraphRequest, _ caller: DirectoryPrincipal
    ) throws(GraphFailure) -> GraphResponse {
        guard request.method == "GET" else { throw .wrongMethod }
        let users = contents.restorable(now: now).map { deleted($0) }
        switch segments.dropFirst(3).map({ $0.lowercased() }) {
        case []: return try list(users, request, caller, context: "users", isMixed: false)
        case ["$count"]: return try count(users, request)
        default: throw .segment(segments[3])
        }
    }

    /// Returns the user in the form of a deleted item: the identifier without dashes precedes the user principal name.
    private func deleted(_ index: Int) -> StoredUser {
        var user = contents[index]
        user.userPrincipalName = user.id.filter { $0 != "-" } + user.userPrincipalName
        let date = Date(timeIntervalSince1970: Double(contents.removals[index]?.date ?? 0))
        user.deletedDateTime = date.rfc3339
        return user
    }
}
