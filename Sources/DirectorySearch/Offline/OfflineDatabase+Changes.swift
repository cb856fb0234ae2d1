import OAuth2AccountStore
import StrictJSON

/// The number of changes in a page.
struct AppliedChanges: Sendable, Equatable {
    /// The number of new or changed users.
    var changed = 0
    /// The number of removed users.
    var removed = 0
    /// The number of users that are new in the list.
    var new = 0
}

extension OfflineDatabase {
    /// Applies a page and saves the next position in one transaction.
    ///
    /// - Parameters:
    ///   - state: The position of the page.
    ///   - stored: The position of the copy at the time of the request: the same or, for the first page of a new list,
    ///     in the old list.
    /// - Returns: The new state, or `nil` without a change if another process saved a page first.
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
                    state.users -= 1
                    changes.removed += 1
                }
            }
            let isListing = state.phase == .listing
            switch page.next {
            case .page(let link):
                state.link = link
                if !isListing { state.phase = .changing }
            case .changes(let link):
                state.link = link
                state.phase = isListing ? .finishing : .current
                if !isListing { state.completed = now }
            }
            try save(state)
            return (state, changes)
        }
    }

    private func put(
        _ id: String, _ update: JSONObject, _ state: inout SyncState, _ changes: inout AppliedChanges
    ) throws(StorageError) {
        let row = try connection.run("SELECT number, generation, person FROM people WHERE id = ?", [.text(id)]).first
        guard let row, case .integer(let number) = row[0], case .integer(let generation) = row[1],
            case .text(let old) = row[2]
        else {
            let user = Self.saved(update, of: state.properties, over: nil, id: id)
            try connection.run(
                "INSERT INTO people (id, generation, person) VALUES (?, ?, ?)",
                [.text(id), .integer(state.generation), .text(JSONValue.object(user).text())])
            try addWords(IndexedText(user), connection.lastInsertedRow)
            state.users += 1
            changes.changed += 1
            changes.new += 1
            return
        }
        let before = (try? JSONValue(parsing: old))?.object ?? JSONObject()
        // In a new list, the first entry of a user has all properties, later ones only the changes.
        let isNewList = generation != state.generation
        if isNewList { changes.new += 1 }
        let user = Self.saved(update, of: state.properties, over: isNewList ? nil : before, id: id)
        let new = JSONValue.object(user).text()
        guard new != old || isNewList else { return }
        try connection.run(
            "UPDATE people SET generation = ?, person = ? WHERE number = ?",
            [.integer(state.generation), .text(new), .integer(number)])
        if new != old { changes.changed += 1 }
        let words = (IndexedText(before), IndexedText(user))
        guard words.0 != words.1 else { return }
        try removeWords(words.0, number)
        try addWords(words.1, number)
    }

    /// Returns a user in the saved form: the selected properties with a value.
    private static func saved(
        _ update: JSONObject, of properties: [String], over before: JSONObject?, id: String
    ) -> JSONObject {
        var user: JSONObject = ["id": .string(id)]
        for property in properties where property != "id" {
            let name = String(property.prefix { $0 != "/" })
            guard let value = update[name] ?? before?[name], !value.isNull, user[name] == nil else { continue }
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
        guard case .integer(let number) = row[0], case .text(let user) = row[1] else { return }
        try removeWords(IndexedText((try? JSONValue(parsing: user))?.object ?? JSONObject()), number)
    }

    private func addWords(_ text: IndexedText, _ number: Int64) throws(StorageError) {
        guard !text.isEmpty else { return }
        try connection.run(
            "INSERT INTO words (rowid, displayName, givenName, surname, address) VALUES (?, ?, ?, ?, ?)",
            [.integer(number)] + text.values.map { .text($0) })
    }

    /// Removes the words of a user. The index stores no copy of the strings, so the command contains them.
    private func removeWords(_ text: IndexedText, _ number: Int64) throws(StorageError) {
        guard !text.isEmpty else { return }
        try connection.run(
            """
            INSERT INTO words (words, rowid, displayName, givenName, surname, address) VALUES ('delete', ?, ?, ?, ?, ?)
            """, [.integer(number)] + text.values.map { .text($0) })
    }

    // MARK: The end of a list

    /// The maximum number of users to remove, or of index pages to merge, in one step.
    private static let stepSize: Int64 = 2000

    /// Performs one step at the end of a list: removes users who were not in it, then merges the index.
    ///
    /// - Parameter isMerging: Whether a previous step of this process started to merge.
    /// - Returns: The state and the changes, or `nil` if another process saved a change first.
    func finish(
        _ state: SyncState, isMerging: Bool, now: Int64
    ) throws(StorageError) -> (state: SyncState, changes: AppliedChanges, isMerging: Bool)? {
        try connection.transaction {
            () throws(StorageError) -> (state: SyncState, changes: AppliedChanges, isMerging: Bool)? in
            var state = state
            guard try self.state().hasSamePosition(as: state) else { return nil }
            var changes = AppliedChanges()
            if !isMerging, state.generation > 1 {
                let outdated = try connection.run(
                    "SELECT number, person FROM people WHERE generation < ? LIMIT ?",
                    [.integer(state.generation), .integer(Self.stepSize)])
                for row in outdated {
                    guard case .integer(let number) = row[0] else { continue }
                    try connection.run("DELETE FROM people WHERE number = ?", [.integer(number)])
                    try forgetWords(of: row)
                }
                changes.removed = outdated.count
                state.users -= Int64(outdated.count)
                if !outdated.isEmpty {
                    try save(state)
                    return (state, changes, false)
                }
            }
            // The first command is negative, to merge everything into one segment. See FTS5, section 6.8.
            let before = try totalChanges()
            try connection.run(
                "INSERT INTO words (words, rank) VALUES ('merge', ?)",
                [.integer(isMerging ? Self.stepSize : -Self.stepSize)])
            // The command itself counts as one change.
            guard try totalChanges() - before < 2 else { return (state, changes, true) }
            state.phase = .current
            state.completed = now
            try save(state)
            return (state, changes, true)
        }
    }

    /// Returns the size of the file in bytes.
    func size() throws(StorageError) -> Int64 {
        let rows = try connection.run("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
        guard case .integer(let size)? = rows.first?.first else { return 0 }
        return size
    }

    private func totalChanges() throws(StorageError) -> Int64 {
        guard case .integer(let number)? = try connection.run("SELECT total_changes()").first?.first else { return 0 }
        return number
    }
}
