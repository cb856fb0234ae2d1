import OAuth2AccountStore
import StrictJSON

/// What a page changed.
struct AppliedChanges: Sendable, Equatable {
    /// People who came or about whom something is new.
    var changed = 0
    /// People who are gone.
    var removed = 0
}

extension OfflineDatabase {
    /// Applies a page and saves where to go on, both or neither.
    ///
    /// - Parameters:
    ///   - state: where the page was asked for.
    ///   - stored: where the copy was then: the same, or, for the first page of a new list, the place in the list that it replaces.
    /// - Returns: the new state; nil, with nothing changed, when another process was here meanwhile.
    func apply(
        _ page: DeltaPage, at state: SyncState, replacing stored: SyncState, now: Int64
    ) throws(StorageError) -> (state: SyncState, changes: AppliedChanges)? {
        try connection.transaction {
            () throws(StorageError) -> (state: SyncState, changes: AppliedChanges)? in
            var state = state
            guard try self.state().hasSamePosition(as: stored) else { return nil }
            var changes = AppliedChanges()
            for change in page.changes {
                switch change {
                case .user(let id, let user): try put(id, user, &state, &changes)
                case .removed(let id):
                    guard try remove(id) else { continue }
                    state.people -= 1
                    changes.removed += 1
                }
            }
            switch (page.next, state.phase) {
            case (.page(let link), .listing): state.link = link
            case (.page(let link), _):
                state.link = link
                state.phase = .changing
            case (.changes(let link), .listing):
                state.link = link
                state.phase = .finishing
            case (.changes(let link), _):
                state.link = link
                state.phase = .current
                state.completed = now
            }
            try save(state)
            return (state, changes)
        }
    }

    private func put(
        _ id: String, _ news: JSONObject, _ state: inout SyncState, _ changes: inout AppliedChanges
    ) throws(StorageError) {
        let row = try connection.run("SELECT number, generation, person FROM people WHERE id = ?", [.text(id)]).first
        guard let row, case .integer(let number) = row[0], case .integer(let generation) = row[1],
            case .text(let old) = row[2]
        else {
            let person = Self.saved(news, of: state.properties, over: nil, id: id)
            try connection.run(
                "INSERT INTO people (id, generation, person) VALUES (?, ?, ?)",
                [.text(id), .integer(state.generation), .text(JSONValue.object(person).text())])
            try addWords(IndexedText(person), connection.lastInsertedRow)
            state.people += 1
            changes.changed += 1
            return
        }
        let before = (try? JSONValue(parsing: old))?.object ?? JSONObject()
        // The first word on somebody in a new list says everything; the next ones only what changed.
        let isNewList = generation != state.generation
        let person = Self.saved(news, of: state.properties, over: isNewList ? nil : before, id: id)
        let new = JSONValue.object(person).text()
        guard new != old || isNewList else { return }
        try connection.run(
            "UPDATE people SET generation = ?, person = ? WHERE number = ?",
            [.integer(state.generation), .text(new), .integer(number)])
        if new != old { changes.changed += 1 }
        let words = (IndexedText(before), IndexedText(person))
        guard words.0 != words.1 else { return }
        try removeWords(words.0, number)
        try addWords(words.1, number)
    }

    /// Somebody as they are kept: the chosen properties alone, what has no value left out.
    private static func saved(
        _ news: JSONObject, of properties: [String], over before: JSONObject?, id: String
    ) -> JSONObject {
        var user: JSONObject = ["id": .string(id)]
        for property in properties where property != "id" {
            let name = String(property.prefix { $0 != "/" })
            guard let value = news[name] ?? before?[name], !value.isNull, user[name] == nil else { continue }
            user.append(name, value)
        }
        return user
    }

    private func remove(_ id: String) throws(StorageError) -> Bool {
        let rows = try connection.run("DELETE FROM people WHERE id = ? RETURNING number, person", [.text(id)])
        guard let row = rows.first else { return false }
        try forgetWords(of: row)
        return true
    }

    private func forgetWords(of row: [SQLValue]) throws(StorageError) {
        guard case .integer(let number) = row[0], case .text(let person) = row[1] else { return }
        try removeWords(IndexedText((try? JSONValue(parsing: person))?.object ?? JSONObject()), number)
    }

    private func addWords(_ text: IndexedText, _ number: Int64) throws(StorageError) {
        guard !text.isEmpty else { return }
        try connection.run(
            "INSERT INTO words (rowid, displayName, givenName, surname, address) VALUES (?, ?, ?, ?, ?)",
            [.integer(number)] + text.values.map { .text($0) })
    }

    /// The index has no copy of the texts: what is taken out must be said.
    private func removeWords(_ text: IndexedText, _ number: Int64) throws(StorageError) {
        guard !text.isEmpty else { return }
        try connection.run(
            """
            INSERT INTO words (words, rowid, displayName, givenName, surname, address) VALUES ('delete', ?, ?, ?, ?, ?)
            """, [.integer(number)] + text.values.map { .text($0) })
    }

    // MARK: The end of a list

    /// How many people are removed, and how many pages of the index are merged, at a time.
    private static let stepSize: Int64 = 2000

    /// Does a part of the work at the end of a list: removes who was not in it, then merges the runs of the index.
    ///
    /// - Parameter isMerging: false in the first call of a process.
    /// - Returns: the state, and how many were removed; nil when another process was here meanwhile.
    func finish(
        _ state: SyncState, isMerging: Bool, now: Int64
    ) throws(StorageError) -> (state: SyncState, changes: AppliedChanges, isMerging: Bool)? {
        try connection.transaction {
            () throws(StorageError) -> (state: SyncState, changes: AppliedChanges, isMerging: Bool)? in
            var state = state
            guard try self.state().hasSamePosition(as: state) else { return nil }
            var changes = AppliedChanges()
            if !isMerging, state.generation > 1 {
                let gone = try connection.run(
                    "SELECT number, person FROM people WHERE generation < ? LIMIT ?",
                    [.integer(state.generation), .integer(Self.stepSize)])
                for row in gone {
                    guard case .integer(let number) = row[0] else { continue }
                    try connection.run("DELETE FROM people WHERE number = ?", [.integer(number)])
                    try forgetWords(of: row)
                }
                changes.removed = gone.count
                state.people -= Int64(gone.count)
                if !gone.isEmpty {
                    try save(state)
                    return (state, changes, false)
                }
            }
            // Negative the first time: everything becomes one run. FTS5, section 6.8
            let before = try totalChanges()
            try connection.run(
                "INSERT INTO words (words, rank) VALUES ('merge', ?)",
                [.integer(isMerging ? Self.stepSize : -Self.stepSize)])
            // One change is the command itself.
            guard try totalChanges() - before < 2 else { return (state, changes, true) }
            state.phase = .current
            state.completed = now
            try save(state)
            return (state, changes, true)
        }
    }

    private func totalChanges() throws(StorageError) -> Int64 {
        guard case .integer(let number)? = try connection.run("SELECT total_changes()").first?.first else { return 0 }
        return number
    }
}
