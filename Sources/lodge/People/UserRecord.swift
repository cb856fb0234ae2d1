import CommandLineKit
import TerminalBrowser
import DirectorySearch
import StrictJSON

/// A person, as the master table and the detail view show them.
struct UserRecord: OutputRecord {
    let user: User
    /// The fields of a row; nil for those of the table.
    var fields: [String]?

    static let columns = [
        TableColumn("NAME"), TableColumn("MAIL", keptWhole: true), TableColumn("TITLE"), TableColumn("PHONE"),
    ]

    /// The columns of these fields.
    ///
    /// - Parameter format: where a program reads the columns they have the fields' names, elsewhere headings.
    static func columns(_ fields: [String]?, _ format: OutputFormat) -> [TableColumn] {
        guard let fields else { return columns }
        return fields.map { field in
            TableColumn(
                format.namesMembers ? field : field.uppercased(),
                keptWhole: ["id", "mail", "userPrincipalName"].contains(field))
        }
    }

    var cells: [String] {
        if let fields { return fields.map { UserFields.text(of: $0, in: user) } }
        return [
            user.displayName ?? "", user.mail ?? "", user.jobTitle ?? "",
            user.businessPhones.first ?? user.mobilePhone ?? "",
        ]
    }

    var detail: Detail {
        var detail = Detail()
        for entry in UserFields.entries(of: user) { detail.add(entry.label, entry.values) }
        return detail
    }

    /// Graph's own members, without the notes of its protocol.
    var json: JSONValue { .object(user.jsonWithoutAnnotations) }

    func writeLine(to output: inout [UInt8]) { user.writeJSON(to: &output) }

    var vCard: VCard? { VCard(user) }
}

/// A person and what is around them.
struct PersonDetailRecord: OutputRecord {
    let person: UserDetail
    var fields: [String]?

    private var record: UserRecord { UserRecord(user: person.user, fields: fields) }

    var cells: [String] { record.cells }
    var vCard: VCard? { record.vCard }

    var detail: Detail {
        var detail = record.detail
        detail.add("Manager", Self.texts(person.manager) { [Self.name($0.displayName, $0.mail, $0.id)] })
        detail.add("Reports", Self.texts(person.reports) { $0.map { Self.name($0.displayName, $0.mail, $0.id) } })
        detail.add(
            "Groups",
            Self.texts(person.groups) { objects in
                objects.map { Self.name($0.displayName ?? $0.kind, nil, $0.id) }
            })
        detail.add(
            "Photo",
            Self.texts(person.photo) { photo in
                [photo.width.flatMap { width in photo.height.map { "\(width)x\($0)" } } ?? "yes"]
            })
        return detail
    }

    private static func name(_ name: String?, _ mail: String?, _ id: String?) -> String {
        let name = name ?? id ?? "?"
        return mail.map { "\(name) <\($0)>" } ?? name
    }

    /// What is said of a part: what it is, that there is none, or why it is not known.
    private static func texts<Value>(_ part: UserDetail.Part<Value>, _ texts: (Value) -> [String]) -> [String] {
        switch part {
        case .notRequested: []
        case .value(let value): texts(value)
        case .none: ["(none)"]
        case .notPermitted(let error): ["(\(error.summary))"]
        case .failed(let error): ["(\(error.summary))"]
        }
    }

    /// The person with the parts as members, as Graph expands them: `null` or an empty list where there is none, no member where it
    /// is not known.
    var json: JSONValue {
        var object = person.user.jsonWithoutAnnotations
        if let value = Self.json(person.manager, none: .null, { .object($0.jsonWithoutAnnotations) }) {
            object["manager"] = value
        }
        for (name, part) in [("directReports", person.reports), ("memberOf", person.groups)] {
            if let value = Self.json(part, none: [], { .array($0.map { .object($0.json) }) }) { object[name] = value }
        }
        if let value = Self.json(person.photo, none: .null, { .object($0.json) }) { object["photo"] = value }
        return .object(object)
    }

    private static func json<Value>(
        _ part: UserDetail.Part<Value>, none: JSONValue, _ json: (Value) -> JSONValue
    ) -> JSONValue? {
        switch part {
        case .value(let value): json(value)
        case .none: none
        default: nil
        }
    }
}
