import LodgePlatform

/// The result of copying a damaged store.
package struct SalvageReport: Sendable, Equatable {
    /// The path of the new file. To use it, replace `accounts.sqlite` with it while no program has the store open.
    package let path: String
    /// The number of copied records.
    package let records: Int
    /// The number of copied records that can be decrypted, or `nil` without a key.
    package let opening: Int?
    /// The number of records that the damaged file lists but that cannot be read.
    package let lost: Int
}

/// The functions of a store's key that the storage needs. The storage itself never decrypts a record.
package struct RecordKey: Sendable {
    /// Returns whether the key can decrypt a record.
    package var opens: @Sendable (SealedRecord) -> Bool
    /// Returns whether a saved check value was created with the key.
    package var matches: @Sendable ([UInt8]) -> Bool
    /// The saved value that identifies the key, or `nil` if it cannot be computed.
    package var checkValue: (name: String, value: [UInt8])?

    /// Creates a key from its functions and its check value.
    package init(
        opens: @escaping @Sendable (SealedRecord) -> Bool, matches: @escaping @Sendable ([UInt8]) -> Bool,
        checkValue: (name: String, value: [UInt8])?
    ) {
        self.opens = opens
        self.matches = matches
        self.checkValue = checkValue
    }
}

extension SQLiteStorage {
    /// The name of the new file.
    package static let salvageName = "accounts.salvaged.sqlite"

    /// Returns at most 20 errors that SQLite finds in the file. Reads the complete file.
    ///
    /// - Throws: ``StorageError`` if the file cannot be read.
    package func errors() throws -> [String] {
        let rows = try opened().run("PRAGMA integrity_check(20)")
        return rows.compactMap { $0.first?.text }.filter { $0 != "ok" }
    }

    /// Checks the complete file.
    ///
    /// - Throws: ``StorageError`` if it is damaged or cannot be read.
    package func checkIntegrity() throws {
        guard let error = try errors().first else { return }
        throw StorageError(
            .notAStore, location: location, reason: "the database is damaged: \(error)",
            hint: "restore a copy, or copy the readable accounts: \(StorageRemedy.salvage)")
    }

    /// Copies the readable records of a damaged store atomically to a new file in the same folder.
    ///
    /// Changes no existing file.
    ///
    /// All records are in memory during the copy.
    ///
    /// - Parameter key: The key of the store. It selects a record that can be decrypted among several with the same
    ///   identifier, and a lost ``RecordKey/checkValue`` is written again.
    /// - Throws: ``StorageError`` if the file cannot be read or contains no readable record, or if the new file exists.
    package func salvage(opening key: RecordKey?) throws -> SalvageReport {
        let path = file.folder.file(Self.salvageName)
        // Unlike the usual connection, this one does not check the file when opening it.
        let source = try SQLiteConnection(path: location)
        let hasIdentities = (try? source.run("SELECT identity FROM accounts LIMIT 0")) != nil
        let query = SQLStatements(hasIdentities: hasIdentities).selectRecords + " NOT INDEXED WHERE rowid = ?"
        var found: [String: SealedRecord] = [:]
        var lost = 0
        for row in Self.rows(of: "accounts", source) {
            do throws(StorageError) {
                let record = try source.run(query, [.integer(row)]).first.map(SealedRecord.init)
                guard let record, !record.id.isEmpty, !record.sealed.isEmpty else { continue }
                found[record.id] = Self.better(found[record.id], record, key)
            } catch {
                lost += 1
            }
        }
        guard !found.isEmpty else {
            throw StorageError(
                .notAStore, location: location, reason: "no account can be read of it",
                hint: "restore a copy of the file")
        }
        let records = found.values.sorted { ($0.position, $0.id) < ($1.position, $1.id) }
        let opening = key.map { key in records.count { key.opens($0) } }
        var facts: [(name: String, value: [UInt8])] = []
        for row in Self.rows(of: "facts", source) {
            guard let values = try? source.run("SELECT name, value FROM facts WHERE rowid = ?", [.integer(row)]).first,
                values.count == 2, case .text(let name) = values[0], case .blob(let value) = values[1]
            else { continue }
            facts.append((name, value))
        }
        if let key, let opening, opening > 0, let checkValue = key.checkValue {
            let saved = facts.first { $0.name == checkValue.name }?.value
            if saved.map(key.matches) != true {
                facts.removeAll { $0.name == checkValue.name }
                facts.append(checkValue)
            }
        }
        try write(records, facts, to: path)
        return SalvageReport(path: path, records: records.count, opening: opening, lost: lost)
    }

    /// Returns the row numbers of a table: from its start, from its end, from each index, and all numbers in between.
    ///
    /// A damaged page hides different rows from each of these queries.
    private static func rows(of table: String, _ source: SQLiteConnection) -> [Int64] {
        var queries = ["ASC", "DESC"].map { "SELECT rowid FROM \(table) NOT INDEXED ORDER BY rowid \($0)" }
        let indexes = source.readable("SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = '\(table)'")
        for case .text(let name)? in indexes.rows.map(\.first) where !name.contains("\"") {
            queries.append("SELECT rowid FROM \(table) INDEXED BY \"\(name)\"")
        }
        var rows: Set<Int64> = []
        var isWhole = true
        for query in queries {
            let found = source.readable(query, limit: maximumRows)
            isWhole = isWhole && found.isWhole
            for case .integer(let row)? in found.rows.map(\.first) { rows.insert(row) }
        }
        if !isWhole, let least = rows.min(), let greatest = rows.max() {
            let (end, overflows) = least.addingReportingOverflow(Int64(maximumRows))
            rows.formUnion(least...(overflows ? greatest : min(greatest, end)))
        }
        return rows.sorted()
    }

    /// The limit of row numbers, because a damaged file could list them endlessly.
    private static let maximumRows = 1_000_000

    /// Returns the record that can be decrypted, or otherwise the newer record.
    private static func better(_ one: SealedRecord?, _ other: SealedRecord, _ key: RecordKey?) -> SealedRecord {
        guard let one else { return other }
        if let key, key.opens(one) != key.opens(other) { return key.opens(one) ? one : other }
        return one.revision >= other.revision ? one : other
    }

    private func write(
        _ records: [SealedRecord], _ facts: [(name: String, value: [UInt8])], to path: String
    ) throws(StorageError) {
        let memory = try SQLiteSchema.emptyDatabase()
        try memory.transaction { () throws(StorageError) in
            for (index, record) in records.enumerated() {
                // The old positions may be damaged or duplicate.
                try memory.run(SQLiteSchema.insertion(record, at: Int64(index + 1)))
            }
            for fact in facts {
                try memory.run(
                    "INSERT OR IGNORE INTO facts (name, value) VALUES (?, ?)", [.text(fact.name), .blob(fact.value)])
            }
        }
        switch try SQLiteStoreFile.create(path, from: memory) {
        case nil: return
        case EEXIST:
            throw StorageError(
                .other, location: path, reason: "there is a file of this name, and it is not overwritten",
                hint: "move it, or use it if it is the result of an earlier copy")
        case let code?: throw .system(code, location: path, doing: "making the new file")
        }
    }
}
