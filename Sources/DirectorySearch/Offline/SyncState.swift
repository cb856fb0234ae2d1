import StrictJSON

/// The state of a copy.
///
/// Each transaction saves it with the users, so that an interrupted sync resumes after the last page.
struct SyncState: Sendable, Equatable {
    enum Phase: String, Sendable {
        /// All users are being loaded.
        case listing
        /// The list is complete, and users who were not in it are being removed.
        case finishing = "settling"
        /// Changes are being loaded, and there are more.
        case changing
        /// The copy is current, at ``SyncState/completed``.
        case current
    }

    var account: String
    /// The service's URL: a link is valid for one service only.
    var base: String
    /// The saved properties.
    var properties: [String]
    /// The number of the list. A new list starts if the service does not know the old one any more.
    var generation: Int64 = 1
    /// The URL of the next request, unchanged from the service, or `nil` at the start of a list.
    var link: String?
    var phase = Phase.listing
    /// The number of users.
    var users: Int64 = 0
    /// The time of the last complete sync, in seconds since 1970.
    var completed: Int64?

    /// Starts a new list. The users of the old list remain until the new one is complete.
    mutating func startList(of properties: [String], base: String) {
        self.properties = properties
        self.base = base
        generation += 1
        link = nil
        phase = .listing
    }

    /// Returns whether two states have the same position in the same list.
    func hasSamePosition(as other: SyncState) -> Bool {
        generation == other.generation && phase == other.phase && link == other.link
    }
}

extension SyncState {
    var text: String {
        var object: JSONObject = [
            "account": .string(account), "base": .string(base),
            "properties": .array(properties.map { .string($0) }),
            "generation": .number(JSONNumber(generation)), "phase": .string(phase.rawValue),
            "people": .number(JSONNumber(users)),
        ]
        if let link { object.append("link", .string(link)) }
        if let completed { object.append("completed", .number(JSONNumber(completed))) }
        return JSONValue.object(object).text()
    }

    init?(_ text: String) {
        guard let object = (try? JSONValue(parsing: text))?.object, let account = object["account"]?.string,
            let base = object["base"]?.string, let properties = object["properties"]?.array?.compactMap(\.string),
            let generation = object["generation"]?.number?.int64, let users = object["people"]?.number?.int64,
            let phase = object["phase"]?.string.flatMap(Phase.init)
        else { return nil }
        self.account = account
        self.base = base
        self.properties = properties
        self.generation = generation
        self.users = users
        self.phase = phase
        link = object["link"]?.string
        completed = object["completed"]?.number?.int64
    }
}
