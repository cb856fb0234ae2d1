import JOSE
import SealedStorage
import LodgePlatform

extension PostgreSQLStorage {
    /// Adds a record after all others, and sets small values.
    public func insert(
        _ record: SealedRecord, setting values: [String: [UInt8]]
    ) async throws -> (position: Int64, sequence: Int64) {
        let row = try await change(
            """
            WITH next AS (
                UPDATE \(schema.name).state SET sequence = sequence + 1, position = position + 1
                RETURNING sequence, position
            ), counted AS (
                INSERT INTO \(schema.name).accounts (id, type, position, revision, identity, record)
                SELECT $3, $4, next.position, $5, $6, $7 FROM next
                RETURNING id, type, position, (SELECT sequence FROM next) AS sequence
            )
            """, .added,
            [
                .text(record.id), .text(record.type), .integer(record.revision), record.identityValue,
                .blob(record.sealed),
            ], setting: values)
        guard case .integer(let sequence)? = row?.first, case .integer(let position)? = row?.dropFirst().first else {
            throw StorageError(
                .other, location: location, reason: "another process removed the record immediately after it was added",
                hint: "add it again if you still need it")
        }
        return (position, sequence)
    }

    /// Replaces a record if its revision is one less than the new one, and then sets small values.
    public func replace(
        _ record: SealedRecord, kind: StorageChange.Kind, setting values: [String: [UInt8]]
    ) async throws -> Int64? {
        try await change(
            """
            WITH changed AS (
                UPDATE \(schema.name).accounts SET record = $3, revision = $4, identity = $5
                WHERE id = $6 AND revision = $4 - 1 RETURNING id, type, position
            ), \(counting)
            """, kind,
            [.blob(record.sealed), .integer(record.revision), record.identityValue, .text(record.id)],
            setting: values
        )?.first?.integer
    }

    /// Removes a record.
    public func remove(_ id: String) async throws -> Int64? {
        try await change(
            """
            WITH changed AS (
                DELETE FROM \(schema.name).accounts WHERE id = $3 RETURNING id, type, position
            ), \(counting)
            """, .removed, [.text(id)]
        )?.first?.integer
    }

    private var counting: String {
        """
        counted AS (
            UPDATE \(schema.name).state SET sequence = state.sequence + 1 FROM changed
            RETURNING state.sequence, changed.id, changed.type, changed.position
        )
        """
    }

    /// The last part of a change, which adds it to the log.
    ///
    /// The transaction locks the row of `state` until its end. The sequences therefore have the order in which changes become
    /// visible, and a rolled-back change leaves no gap.
    private var logging: String {
        """
        , noted AS (
            INSERT INTO \(schema.name).changes (sequence, id, type, kind, request)
            SELECT sequence, id, type, $2, $1 FROM counted RETURNING sequence
        )
        SELECT counted.sequence, counted.position, pg_notify('\(schema.name)', '') FROM counted, noted
        """
    }

    /// Returns the part of a change that sets small values if a record changed.
    ///
    /// The change locks the row of `state` first, so that two changes never wait for each other's values.
    ///
    /// - Parameter count: The number of parameters before the names and values.
    private func setting(_ values: [(name: String, value: [UInt8])], after count: Int) -> String {
        guard !values.isEmpty else { return "" }
        let rows = values.indices.map { "($\(count + 2 * $0 + 1), $\(count + 2 * $0 + 2))" }
        return """
            , valued AS (
                INSERT INTO \(schema.name).facts (name, value)
                SELECT given.name, given.value FROM counted, (VALUES \(rows.joined(separator: ", "))) AS given (name, value)
                ON CONFLICT (name) DO UPDATE SET value = excluded.value
            )
            """
    }

    /// Makes a change once and returns its sequence and position, or `nil` if there is no record to change.
    ///
    /// The first parameter of `statement` is the identifier of the request, and the second one is the kind.
    private func change(
        _ statement: String, _ kind: StorageChange.Kind, _ parameters: [SQLValue],
        setting values: [String: [UInt8]] = [:]
    ) async throws -> [SQLValue]? {
        guard let request = try? SecureRandom.bytes(16) else {
            throw StorageError(.other, location: location, reason: "cannot create random bytes", hint: "try again")
        }
        let parameters = [.blob(request), .text(kind.rawValue)] + parameters
        // In a fixed order, so that the server prepares few statements.
        let values = values.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
        let statement = SQLStatement(
            "\(statement) \(setting(values, after: parameters.count)) \(logging)",
            parameters + values.flatMap { [.text($0.name), .blob($0.value)] })
        let row = try await perform(isChange: true) {
            connection, mayBeDone throws(PostgreSQLError) -> [SQLValue]? in
            if mayBeDone, let done = try logged(request, connection) { return done }
            do throws(PostgreSQLError) {
                if let row = try connection.run(statement).first { return row }
            } catch {
                // A record has this identifier, perhaps from an earlier attempt that the server has only just
                // completed.
                guard mayBeDone, error.state == "23505", let done = try logged(request, connection) else { throw error }
                return done
            }
            return mayBeDone ? try logged(request, connection) : nil
        }
        if let sequence = row?.first?.integer, let prune = schema.statements.pruneChanges(after: sequence) {
            // If it fails, a later change deletes the same rows.
            _ = try? await perform { connection, _ throws(PostgreSQLError) in try connection.run(prune) }
        }
        return row
    }

    /// Returns sequence and position of the change that an earlier attempt of this request made.
    private func logged(_ request: [UInt8], _ connection: PostgreSQLConnection) throws(PostgreSQLError) -> [SQLValue]? {
        try connection.run(
            """
            SELECT changes.sequence, accounts.position FROM \(schema.name).changes
            LEFT JOIN \(schema.name).accounts ON accounts.id = changes.id WHERE request = $1
            """, [.blob(request)]
        ).first
    }
}
