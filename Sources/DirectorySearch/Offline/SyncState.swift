import StrictJSON

/// How far a copy is. Saved in the same transaction as the people, so that whoever is killed goes on where they were saved last.
struct SyncState: Sendable, Equatable {
    enum Phase: String, Sendable {
        /// Everybody is being listed, for the first time or anew.
        case listing
        /// Everybody is listed; who was not in the list is being removed.
        case finishing = "settling"
        /// Changes are being read and there are more.
        case changing
        /// The copy agrees with the service, as of ``SyncState/completed``.
        case current
    }

    /// Whose copy it is.
    var account: String
    /// The service's address; a link of one service means nothing to another.
    var base: String
    /// The properties that are kept.
    var properties: [String]
    /// Which list people come from; a new one begins when the service no longer knows the old one.
    var generation: Int64 = 1
    /// The address to ask next, byte for byte as the service gave it; nil for the first question of a list.
    var link: String?
    var phase = Phase.listing
    /// How many people are kept.
    var people: Int64 = 0
    /// When the copy last agreed with the service, in seconds since 1970.
    var completed: Int64?

    /// Begins a new list. Who is kept stays until the new list is at its end.
    mutating func startList(of properties: [String], base: String) {
        self.properties = properties
        self.base = base
        generation += 1
        link = nil
        phase = .listing
    }

    /// Whether two states are the same place in the same list.
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
            "people": .number(JSONNumber(people)),
        ]
        if let link { object.append("link", .string(link)) }
        if let completed { object.append("completed", .number(JSONNumber(completed))) }
        return JSONValue.object(object).text()
    }

    init?(_ text: String) {
        guard let object = (try? JSONValue(parsing: text))?.object, let account = object["account"]?.string,
            let base = object["base"]?.string, let properties = object["properties"]?.array?.compactMap(\.string),
            let generation = object["generation"]?.number?.int64, let people = object["people"]?.number?.int64,
            let phase = object["phase"]?.string.flatMap(Phase.init)
        else { return nil }
        self.account = account
        self.base = base
        self.properties = properties
        self.generation = generation
        self.people = people
        self.phase = phase
        link = object["link"]?.string
        completed = object["completed"]?.number?.int64
    }
}
