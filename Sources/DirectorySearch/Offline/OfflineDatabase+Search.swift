import OAuth2AccountStore
import StrictJSON

extension OfflineDatabase {
    private static let matching = """
        SELECT people.number, people.person FROM words JOIN people ON people.number = words.rowid WHERE words MATCH ?
        """

    /// Returns the users for a typed text: first those whose display name starts with it, then given name, then surname, then those
    /// with every word in any column. Each of the four groups is sorted by name.
    func users(matching text: String, limit: Int) throws(StorageError) -> [JSONObject] {
        let typed = FullText.words(text)
        guard !typed.isEmpty, limit > 0 else { return [] }
        // The index has the part of an address before the @. Compare the whole address afterwards.
        let words = typed.map(IndexedText.localPart)
        let addresses = typed.filter { $0.contains("@") }.map { $0.lowercased() }
        var phrases: [String?] = []
        let whole = words.joined(separator: " ")
        if addresses.isEmpty {
            for column in [FullText.Column.displayName, .givenName, .surname] {
                phrases.append(FullText.phrase(whole, in: column, isPrefix: true, isFirst: true))
            }
        }
        let each = zip(words, typed).compactMap { word, typed in
            FullText.phrase(word, isPrefix: !typed.contains("@"), isFirst: false)
        }
        phrases.append(each.isEmpty ? nil : each.joined(separator: " AND "))

        var found: [JSONObject] = []
        var numbers: Set<Int64> = []
        for case let phrase? in phrases {
            var group: [(name: String, user: JSONObject)] = []
            var last: Int64 = 0
            search: while true {
                // The results of previous phrases match again: the page must have room for them.
                let size = limit + numbers.count
                let rows = try connection.run(
                    "\(Self.matching) AND words.rowid > ? ORDER BY words.rowid LIMIT ?",
                    [.text(phrase), .integer(last), .integer(Int64(size))])
                for row in rows {
                    guard case .integer(let number) = row[0] else { continue }
                    last = number
                    guard !numbers.contains(number), let user = Self.user(row[1]),
                        addresses.allSatisfy({ Self.hasAddress(user, $0) })
                    else { continue }
                    numbers.insert(number)
                    group.append((user["displayName"]?.string?.lowercased() ?? "", user))
                    if numbers.count == limit { break search }
                }
                if rows.count < size { break }
            }
            found += group.sorted { $0.name < $1.name }.map(\.user)
            if numbers.count == limit { break }
        }
        return found
    }

    private static func hasAddress(_ user: JSONObject, _ beginning: String) -> Bool {
        ["mail", "userPrincipalName"].contains {
            user[$0]?.string?.lowercased().utf8.starts(with: beginning.utf8) == true
        }
    }

    /// A user and its number in the copy.
    typealias Found = (number: Int64, user: JSONObject)

    /// Returns at most `limit` users after a position, in the order of the copy, and whether these are the last.
    ///
    /// - Parameter isCancelled: Returns whether to stop: a search without the index reads all users.
    func users(
        _ condition: OfflineCondition?, after number: Int64, limit: Int, isCancelled: () -> Bool = { Task.isCancelled }
    ) throws -> (found: [Found], isEnd: Bool) {
        var found: [Found] = []
        var last = number
        let phrase = condition?.fullText
        let size = min(max(limit, 50), 500)
        while true {
            if isCancelled() { throw CancellationError() }
            let rows =
                if let phrase {
                    try connection.run(
                        "\(Self.matching) AND words.rowid > ? ORDER BY words.rowid LIMIT ?",
                        [.text(phrase), .integer(last), .integer(Int64(size))])
                } else {
                    try connection.run(
                        "SELECT number, person FROM people WHERE number > ? ORDER BY number LIMIT ?",
                        [.integer(last), .integer(Int64(size))])
                }
            for row in rows {
                guard case .integer(let number) = row[0] else { continue }
                last = number
                guard let user = Self.user(row[1]), condition?.holds(for: user) != false else { continue }
                if found.count == limit { return (found, false) }
                found.append((number, user))
            }
            if rows.count < size { return (found, true) }
        }
    }

    /// Returns one user by identifier, sign-in name or mail address, in this order.
    ///
    /// - Throws: ``DirectoryError`` of the kinds `emptySearch`, `notFound` and `ambiguous`.
    func user(named name: String) throws -> JSONObject {
        guard !name.isBlank else { throw DirectoryError(.emptySearch) }
        for id in [name, name.lowercased()] {
            let rows = try connection.run("SELECT person FROM people WHERE id = ?", [.text(id)])
            if let value = rows.first?.first, let user = Self.user(value) { return user }
        }
        guard name.contains("@") else { throw DirectoryError(.notFound) }
        for property in ["userPrincipalName", "mail"] {
            let found = try users(.equals(path: [property], lowercased: name.lowercased()), after: 0, limit: 2).found
            guard found.count < 2 else { throw DirectoryError(.ambiguous) }
            if let user = found.first?.user { return user }
        }
        throw DirectoryError(.notFound)
    }

    private static func user(_ value: SQLValue) -> JSONObject? {
        guard case .text(let text) = value else { return nil }
        return (try? JSONValue(parsing: text))?.object
    }
}
