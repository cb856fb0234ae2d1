import LodgePlatform

/// A value of a row or a parameter in SQL.
package enum SQLValue: Equatable, Sendable {
    case integer(Int64)
    case text(String)
    case blob([UInt8])
    case null

    /// The string, or another type of value as a string.
    package var text: String {
        switch self {
        case .integer(let number): String(number)
        case .text(let text): text
        case .blob(let bytes): String(decoding: bytes, as: UTF8.self)
        case .null: ""
        }
    }

    /// The number, or 0 for another type of value.
    package var integer: Int64 {
        if case .integer(let number) = self { number } else { 0 }
    }

    /// The bytes, or the UTF-8 bytes of a string.
    package var bytes: [UInt8] {
        switch self {
        case .blob(let bytes): bytes
        case .text(let text): Array(text.utf8)
        case .integer, .null: []
        }
    }
}

/// An SQL statement with its parameters.
package struct SQLStatement: Sendable {
    package let text: String
    package let parameters: [SQLValue]

    package init(_ text: String, _ parameters: [SQLValue] = []) {
        self.text = text
        self.parameters = parameters
    }
}

/// The statements shared by all SQL storages.
///
/// The parameters are `$1`, `$2`, … in the order of their first use, because SQLite counts them and PostgreSQL reads
/// the number.
package struct SQLStatements: Sendable {
    /// The number of changes in the log. A process that missed more learns only that there were changes.
    package static let maximumChanges: Int64 = 10_000

    /// The start of each query of records; ``SealedRecord/init(row:)`` reads its rows.
    package let selectRecords: String
    private let prefix: String

    /// Creates the statements for tables in a schema, with or without the column of identities.
    package init(schema: String? = nil, hasIdentities: Bool = true) {
        prefix = schema.map { "\($0)." } ?? ""
        selectRecords =
            "SELECT id, type, revision, position, record, \(hasIdentities ? "identity" : "NULL") FROM \(prefix)accounts"
    }

    package func records(ofType type: String?, after position: Int64, limit: Int) -> SQLStatement {
        let page = [.integer(position), SQLValue.integer(Int64(max(limit, 0)))]
        guard let type else {
            return SQLStatement("\(selectRecords) WHERE position > $1 ORDER BY position LIMIT $2", page)
        }
        return SQLStatement(
            "\(selectRecords) WHERE type = $1 AND position > $2 ORDER BY position LIMIT $3", [.text(type)] + page)
    }

    package func records(ofType type: String, identity: [UInt8]) -> SQLStatement {
        SQLStatement(
            "\(selectRecords) WHERE type = $1 AND identity = $2 ORDER BY position", [.text(type), .blob(identity)])
    }

    package func lastRecord(ofType type: String) -> SQLStatement {
        SQLStatement("\(selectRecords) WHERE type = $1 ORDER BY position DESC LIMIT 1", [.text(type)])
    }

    package func record(_ id: String) -> SQLStatement {
        SQLStatement("\(selectRecords) WHERE id = $1", [.text(id)])
    }

    package func count(ofType type: String?) -> SQLStatement {
        let all = "SELECT count(*) FROM \(prefix)accounts"
        return type.map { SQLStatement("\(all) WHERE type = $1", [.text($0)]) } ?? SQLStatement(all)
    }

    package func value(_ name: String) -> SQLStatement {
        SQLStatement("SELECT value FROM \(prefix)facts WHERE name = $1", [.text(name)])
    }

    /// Sets a small value, or removes it if it is `nil`.
    package func setValue(_ value: [UInt8]?, for name: String) -> SQLStatement {
        guard let value else { return SQLStatement("DELETE FROM \(prefix)facts WHERE name = $1", [.text(name)]) }
        return SQLStatement(
            """
            INSERT INTO \(prefix)facts (name, value) VALUES ($1, $2)
            ON CONFLICT (name) DO UPDATE SET value = excluded.value
            """, [.text(name), .blob(value)])
    }

    /// Returns the statement that deletes the oldest changes, or `nil` except after every 256th change.
    package func pruneChanges(after sequence: Int64) -> SQLStatement? {
        guard sequence % 256 == 0 else { return nil }
        return SQLStatement(
            "DELETE FROM \(prefix)changes WHERE sequence <= $1", [.integer(sequence - Self.maximumChanges)])
    }
}

extension SealedRecord {
    /// Creates a record from a row of ``SQLStatements/selectRecords``.
    ///
    /// Damage may have changed the type of a value. Such a record cannot be decrypted, and the store reports it.
    package init(row: [SQLValue]) {
        func value(_ index: Int) -> SQLValue { index < row.count ? row[index] : .null }
        self.init(
            id: value(0).text, type: value(1).text, revision: value(2).integer, position: value(3).integer,
            sealed: value(4).bytes)
        if case .blob(let bytes) = value(5) { identity = bytes }
    }

    /// The identity as a parameter.
    package var identityValue: SQLValue { identity.map { .blob($0) } ?? .null }
}

extension StorageChange {
    /// Creates a change from sequence, identifier, type and kind.
    ///
    /// Returns `nil` for a row that is damaged or from a later version.
    package init?(row: some Collection<SQLValue>) {
        let row = Array(row)
        guard row.count == 4, case .integer(let sequence) = row[0], case .text(let id) = row[1],
            case .text(let type) = row[2], case .text(let name) = row[3], let kind = Kind(rawValue: name)
        else { return nil }
        self.init(sequence: sequence, id: id, type: type, kind: kind)
    }
}
