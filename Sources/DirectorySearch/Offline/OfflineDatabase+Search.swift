import OAuth2AccountStore
import StrictJSON

extension OfflineDatabase {
    private static let matching = """
        SELECT people.number, people.person FROM words JOIN people ON people.number = words.rowid WHERE words MATCH ?
        """

    /// Returns users for a typed search text, so that a limit does not exclude the best matches.
    ///
    /// Users with a whole word as given name or surname come first, then those whose name starts with a word, then all
    /// others that match.
    func users(
        matching text: SearchText, _ condition: OfflineCondition, limit: Int
    ) throws(StorageError) -> [JSONObject] {
        guard let phrase = condition.fullText else { return [] }
        var found: [JSONObject] = []
        var numbers: Set<Int64> = []
        for phrase in [Self.phrase(text, isPrefix: false), Self.phrase(text, isPrefix: true), phrase].compactMap({ $0 })
        {
            var last: Int64 = 0
            while true {
                // The results of previous phrases match again, so the page needs room for them.
                let size = limit + numbers.count
                let rows = try connection.run(
                    "\(Self.matching) AND words.rowid > ? ORDER BY words.rowid LIMIT ?",
                    [.text(phrase), .integer(last), .integer(Int64(size))])
                for row in rows {
                    guard case .integer(let number) = row[0] else { continue }
                    last = number
                    guard !numbers.contains(number), let user = Self.user(row[1]), condition.holds(for: user) else {
                        continue
                    }
                    numbers.insert(number)
                    found.append(user)
                    if found.count == limit { return found }
                }
                if rows.count < size { break }
            }
        }
        return found
    }

    /// Returns the index query for users with each word in a given name or surname, or `nil` if words are not compared
    /// separately.
    private static func phrase(_ text: SearchText, isPrefix: Bool) -> String? {
        guard text.comparesWords else { return nil }
        let phrases = text.words.compactMap { word in
            FullText.phrase(word, in: [.givenName, .surname], isPrefix: isPrefix, isFirst: true)
        }
        return phrases.count == text.words.count ? phrases.joined(separator: " AND ") : nil
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
