import StrictJSON

struct DirectoryGroup: Sendable, UserValues {
    var type: String
    var id: String
    var displayName: String
    var isMailEnabled = false

    // Required by filters; a group has few of these values.
    var accountEnabled: Bool { false }
    var isGuest: Bool { false }
    func texts(_ property: UserProperty) -> [String] { [] }
    func text(_ property: UserProperty) -> String? {
        switch property {
        case .id: id
        case .displayName: displayName
        case .mailNickname: nickname
        case .mail: mail
        default: nil
        }
    }

    private var nickname: String { displayName.filter { $0.isASCII && ($0.isLetter || $0.isNumber) } }
    private var mail: String? { isMailEnabled ? "\(nickname.lowercased())@contoso.example" : nil }

    private var members: JSONObject {
        guard type == "group" else {
            return [
                "id": .string(id), "deletedDateTime": nil, "description": .string("The \(displayName)"),
                "displayName": .string(displayName),
            ]
        }
        return [
            "id": .string(id), "deletedDateTime": nil, "createdDateTime": "2019-03-01T08:00:00Z",
            "description": .string("All members of \(displayName)"), "displayName": .string(displayName),
            "groupTypes": isMailEnabled ? ["Unified"] : [], "mail": mail.map { .string($0) } ?? .null,
            "mailEnabled": .bool(isMailEnabled), "mailNickname": .string(nickname),
            "securityEnabled": .bool(!isMailEnabled), "visibility": nil,
        ]
    }

    /// The names of a group's members, by their lowercase names.
    static let names = Dictionary(
        uniqueKeysWithValues: DirectoryGroup(type: "group", id: "", displayName: "").members.members.map {
            ($0.name.lowercased(), $0.name)
        })

    /// Returns the members with these names, or all.
    func json(_ select: [String]?, isMixed: Bool) -> JSONObject {
        var object: JSONObject = isMixed ? ["@odata.type": .string("#microsoft.graph.\(type)")] : [:]
        for member in members.members where select?.contains(member.name) ?? true {
            object.append(member.name, member.value)
        }
        return object
    }
}

extension GraphResources {
    /// Returns the groups of a user: all users, the department, and for the head a role; transitively also the
    /// organization's groups that contain these.
    func groups(of index: Int, isTransitive: Bool) -> [DirectoryGroup] {
        func identifier(_ kind: Int, _ name: String) -> String {
            let number = name.utf8.reduce(UInt64(7)) { ($0 &* 31 &+ UInt64($1)) % 0xFFFF_FFFF }
            return "00000000-000\(kind)-4000-8000-" + SampleUsers.padded(number, to: 12)
        }
        func group(_ name: String, isMailEnabled: Bool = false) -> DirectoryGroup {
            DirectoryGroup(
                type: "group", id: identifier(0, name), displayName: name, isMailEnabled: isMailEnabled)
        }
        let user = contents[index]
        var groups = [group(user.isGuest ? "All Guests" : "All People")]
        if let department = user.department { groups.append(group(department, isMailEnabled: true)) }
        if index == 0 {
            groups.append(
                DirectoryGroup(
                    type: "directoryRole", id: identifier(1, "User Administrator"), displayName: "User Administrator"))
        }
        if let city = user.city, index % 2 == 0 {
            groups.append(DirectoryGroup(type: "administrativeUnit", id: identifier(2, city), displayName: city))
        }
        if isTransitive {
            groups.append(group("Contoso Worldwide"))
            if user.department != nil { groups.append(group("All Departments")) }
        }
        return groups
    }

    /// Responds to `memberOf` and `transitiveMemberOf`, with an optional cast and `$count`.
    func groups(
        of index: Int, isTransitive: Bool, _ rest: [String], _ request: GraphRequest, _ caller: DirectoryPrincipal
    ) throws(GraphFailure) -> GraphResponse {
        if caller.user != index, !caller.readsAllUsers { throw .denied }
        var rest = rest[...]
        var groups = groups(of: index, isTransitive: isTransitive)
        var cast: String?
        if let name = rest.first, name.lowercased().hasPrefix("microsoft.graph.") {
            let type = name.dropFirst("microsoft.graph.".count).lowercased()
            guard ["group", "directoryrole", "administrativeunit"].contains(type) else { throw .segment(name) }
            groups = groups.filter { $0.type.lowercased() == type }
            cast = type
            rest = rest.dropFirst()
        }
        let select = try Self.groupSelection(request)
        if rest.first?.lowercased() == "$count" {
            guard request.isEventual else { throw .badRequest("$count is not currently supported.") }
            return .text(String(Self.found(groups, try GraphQuery(request, .count)).count))
        }
        if let name = rest.first { throw .segment(name) }
        let query = try GraphQuery(request, .groups, generation: generation)
        let conditions = query.filter != nil || query.search != nil || !query.order.isEmpty
        if conditions, cast == nil {
            throw .unsupported("Filter, search and sorting need a cast, such as /memberOf/microsoft.graph.group.")
        }
        if conditions, !request.isEventual {
            throw .unsupported(
                "The query needs the $count=true query parameter and the ConsistencyLevel:eventual header.")
        }
        let found = Self.found(groups, query)
        let (page, next) = Self.page(found, query)
        // Without permission, the service returns only type and identifier.
        let names = withholdsNonBasicProperties && !caller.readsGroups ? ["id"] : select
        let context =
            switch cast {
            case nil: "directoryObjects"
            case "group": "groups" + (select.map { "(\($0.joined(separator: ",")))" } ?? "")
            case "directoryrole": "directoryRoles"
            default: "directory/administrativeUnits"
            }
        return envelope(
            page.map { .object($0.json(names, isMixed: cast == nil)) }, query, request, context: context,
            count: query.countsTotal ? found.count : nil, next: next)
    }

    private static func groupSelection(_ request: GraphRequest) throws(GraphFailure) -> [String]? {
        guard let options = request.options else {
            throw .malformed("The query string is not percent-encoded UTF-8.")
        }
        guard let value = options.option("select") else { return nil }
        var names: [String] = []
        for part in value.split(separator: ",") {
            let name = part.filter { $0 != " " }
            guard let known = DirectoryGroup.names[name.lowercased()] else {
                throw .malformed("Could not find a property named '\(name)' on type 'microsoft.graph.group'.")
            }
            names.append(known)
        }
        return names
    }
}
