import CommandLineKit
import TerminalBrowser
import DirectorySearch
import StrictJSON

/// A user as a row, with the fields that the command line asks for.
protocol UserRow: OutputRecord {
    var fields: [String]? { get }
}

/// A user, as the table and the detail view show them.
struct UserRecord: UserRow {
    let user: User
    /// The fields of a row; nil for those of the table.
    var fields: [String]?

    static let columns = [
        TableColumn("NAME"), TableColumn("MAIL", cutLast: true), TableColumn("TITLE"), TableColumn("PHONE"),
    ]

    /// The columns of these fields: names for programs, headings otherwise.
    static func columns(_ fields: [String]?, _ format: OutputFormat) -> [TableColumn] {
        guard let fields else { return columns }
        return fields.map { field in
            TableColumn(
                format.namesMembers ? field : field.uppercased(),
                cutLast: ["id", "mail", "userPrincipalName"].contains(field))
        }
    }

    var cells: [String] {
        if let fields { return fields.map { UserFields.text(of: $0, in: user) } }
        return [
            user.listName, user.mail ?? "", user.jobTitle ?? "",
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

/// A user and the related objects.
struct UserDetailRecord: UserRow {
    let userDetail: UserDetail
    var fields: [String]?

    private var record: UserRecord { UserRecord(user: userDetail.user, fields: fields) }

    var cells: [String] { record.cells }
    var vCard: VCard? { record.vCard }

    var detail: Detail {
        var detail = record.detail
        detail.add("Manager", Self.texts(userDetail.manager) { [Self.name($0.displayName, $0.mail, $0.id)] })
        detail.add("Reports", Self.texts(userDetail.reports) { $0.map { Self.name($0.displayName, $0.mail, $0.id) } })
        detail.add(
            "Groups",
            Self.texts(userDetail.groups) { objects in objects.map { Self.name($0.displayName ?? $0.kind, nil, $0.id) }
            })
        detail.add(
            "Photo",
            Self.texts(userDetail.photo) { photo in
                [photo.width.flatMap { width in photo.height.map { "\(width)x\($0)" } } ?? "yes"]
            })
        return detail
    }

    private static func name(_ name: String?, _ mail: String?, _ id: String?) -> String {
        let name = name ?? id ?? "?"
        return mail.map { "\(name) <\($0)>" } ?? name
    }

    private static func texts<Value>(_ part: UserDetail.Part<Value>, _ texts: (Value) -> [String]) -> [String] {
        switch part {
        case .notRequested: []
        case .value(let value): texts(value)
        case .none: ["(none)"]
        case .notPermitted(let error): ["(\(error.summary))"]
        case .failed(let error): ["(\(error.summary))"]
        }
    }

    /// The user with the parts as Graph expands them: `null` or an empty list if there is none, no member if it is not known.
    var json: JSONValue {
        var object = userDetail.user.jsonWithoutAnnotations
        if let value = Self.json(userDetail.manager, none: .null, { .object($0.jsonWithoutAnnotations) }) {
            object["manager"] = value
        }
        for (name, part) in [("directReports", userDetail.reports), ("memberOf", userDetail.groups)] {
            if let value = Self.json(part, none: [], { .array($0.map { .object($0.json) }) }) { object[name] = value }
        }
        if let value = Self.json(userDetail.photo, none: .null, { .object($0.json) }) { object["photo"] = value }
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
