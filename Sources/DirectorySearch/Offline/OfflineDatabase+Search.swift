import OAuth2AccountStore
import StrictJSON

extension OfflineDatabase {
    private static let matching = """
        SELECT people.number, people.person FROM words JOIN people ON people.number = words.rowid WHERE words MATCH ?
        """

    /// People for what somebody typed: those whose display name begins so, then given name, then surname, then those with every word
    /// somewhere. In each of the four by name.
    func people(matching text: String, limit: Int) throws(StorageError) -> [JSONObject] {
        let typed = FullText.words(text)
        guard !typed.isEmpty, limit > 0 else { return [] }
        // Of an address the index knows what stands before the @; the rest is compared.
        let words = typed.map(IndexedText.localPart)
        let addresses = typed.filter { $0.contains("@") }.map { $0.lowercased() }
        var phrases: [String?] = []
        let whole = words.joined(separator: " ")
        if addresses.isEmpty {
            phrases.append(FullText.phrase(whole, in: .displayName, isPrefix: true, isFirst: true))
            phrases.append(FullText.phrase(whole, in: .givenName, isPrefix: true, isFirst: true))
            phrases.append(FullText.phrase(whole, in: .surname, isPrefix: true, isFirst: true))
        }
        var each: [String] = []
        for (word, typed) in zip(words, typed) {
            if let prefix = FullText.phrase(word, isPrefix: !typed.contains("@"), isFirst: false) {
                each.append(prefix)
            }
        }
        phrases.append(each.isEmpty ? nil : each.joined(separator: " AND "))

        var found: [JSONObject] = []
        var numbers: Set<Int64> = []
        for case let phrase? in phrases {
            var group: [(name: String, person: JSONObject)] = []
            var last: Int64 = 0
            search: while true {
                // Who was found already is found again: the page must have room for them.
                let size = limit + numbers.count
                let rows = try connection.run(
                    "\(Self.matching) AND words.rowid > ? ORDER BY words.rowid LIMIT ?",
                    [.text(phrase), .integer(last), .integer(Int64(size))])
                for row in rows {
                    guard case .integer(let number) = row[0] else { continue }
                    last = number
                    guard !numbers.contains(number), let person = Self.person(row[1]),
                        addresses.allSatisfy({ Self.hasAddress(person, $0) })
                    else { continue }
                    numbers.insert(number)
                    group.append((person["displayName"]?.string?.lowercased() ?? "", person))
                    if numbers.count == limit { break search }
                }
                if rows.count < size { break }
            }
            found += group.sorted { $0.name < $1.name }.map(\.person)
            if numbers.count == limit { break }
        }
        return found
    }

    private static func hasAddress(_ person: JSONObject, _ beginning: String) -> Bool {
        ["mail", "userPrincipalName"].contains {
            person[$0]?.string?.lowercased().utf8.starts(with: beginning.utf8) == true
        }
    }

    /// A person's place in the copy, and the person.
    typealias Found = (number: Int64, person: JSONObject)

    /// At most `limit` people after this place, in the order of the copy.
    ///
    /// - Parameter isCancelled: asked from time to time; a search of everybody goes through them all.
    /// - Returns: the people, and whether that was the end.
    func people(
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
                guard let person = Self.person(row[1]), condition?.holds(for: person) != false else { continue }
                if found.count == limit { return (found, false) }
                found.append((number, person))
            }
            if rows.count < size { return (found, true) }
        }
    }

    /// One person, by identifier, sign-in name or mail address, in this order.
    ///
    /// - Throws: ``DirectoryError`` of the kinds `emptySearch`, `notFound` and `ambiguous`.
    func person(named name: String) throws -> JSONObject {
        guard !name.isBlank else { throw DirectoryError(.emptySearch) }
        for id in [name, name.lowercased()] {
            let rows = try connection.run("SELECT person FROM people WHERE id = ?", [.text(id)])
            if let value = rows.first?.first, let person = Self.person(value) { return person }
        }
        guard name.contains("@") else { throw DirectoryError(.notFound) }
        for property in ["userPrincipalName", "mail"] {
            let found = try people(.equals(path: [property], lowercased: name.lowercased()), after: 0, limit: 2).found
            guard found.count < 2 else { throw DirectoryError(.ambiguous) }
            if let person = found.first?.person { return person }
        }
        throw DirectoryError(.notFound)
    }

    private static func person(_ value: SQLValue) -> JSONObject? {
        guard case .text(let text) = value else { return nil }
        return (try? JSONValue(parsing: text))?.object
    }
}
