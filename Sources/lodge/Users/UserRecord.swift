import CommandLineKit
import TerminalBrowser
import DirectorySearch
import StrictJSON

/// A row with the fields of a user requested on the command line.
protocol UserRow: OutputRecord {
    var fields: [String]? { get }
    /// The columns after the fields.
    var partColumns: [TableColumn] { get }
}

extension UserRow {
    var partColumns: [TableColumn] { [] }
}

/// A user, as the table and the detail view show them.
struct UserRecord: UserRow {
    let user: User
    /// The fields of a row, or `nil` for the default columns.
    var fields: [String]?

    static let columns = [
        TableColumn("NAME"), TableColumn("MAIL", .keep), TableColumn("TITLE"),
        TableColumn("PHONE", .keep),
    ]

    /// The fields that must not be truncated.
    private static let completeFields: Set<String> = [
        "id", "mail", "userPrincipalName", "otherMails", "proxyAddresses", "imAddresses", "businessPhones",
        "mobilePhone",
        "faxNumber", "manager.mail", "manager.userPrincipalName", "manager.id", "employeeId",
    ]

    /// Returns the columns of these fields: property names for programs, headings otherwise.
    static func columns(_ fields: [String]?, _ format: OutputFormat) -> [TableColumn] {
        guard let fields else { return columns }
        return fields.map { field in
            TableColumn(
                format.namesMembers ? field : field.uppercased(),
                completeFields.contains(field) ? .keep : .cut)
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

    /// Graph's members without protocol annotations, or exactly the requested fields.
    var json: JSONValue { .object(fields.map { UserFields.object(of: $0, in: user) } ?? user.jsonWithoutAnnotations) }

    func writeLine(to output: inout [UInt8]) {
        if fields == nil { user.writeJSON(to: &output) } else { json.write(to: &output) }
    }

    var vCard: VCard? { VCard(user) }
}

/// A user and the related objects.
struct UserDetailRecord: UserRow {
    let userDetail: UserDetail
    var fields: [String]?
    /// Whether the management chain is included.
    var hasManagers = false

    private var record: UserRecord { UserRecord(user: userDetail.user, fields: fields) }

    /// The requested parts with their texts.
    private var parts: [(name: String, texts: [String])] {
        var parts: [(String, [String])] = []
        func add<Value>(_ name: String, _ part: UserDetail.Part<Value>, _ texts: (Value) -> [String]) {
            if case .notRequested = part { return }
            parts.append((name, part.value.map(texts) ?? []))
        }
        if hasManagers {
            parts.append(("managers", userDetail.user.managers.map { Self.name($0.displayName, $0.mail, $0.id) }))
        }
        add("manager", userDetail.manager) { [Self.name($0.displayName, $0.mail, $0.id)] }
        add("directReports", userDetail.reports) { $0.map { Self.name($0.displayName, $0.mail, $0.id) } }
        add("memberOf", userDetail.groups) { $0.map { Self.name($0.displayName ?? $0.kind, nil, $0.id) } }
        add("photo", userDetail.photo) { [Self.size($0)] }
        return parts
    }

    var partColumns: [TableColumn] { parts.map { TableColumn($0.name) } }

    var cells: [String] { record.cells + parts.map { $0.texts.joined(separator: "; ") } }
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
            Self.texts(userDetail.photo) { [Self.size($0)] })
        return detail
    }

    private static func size(_ photo: ProfilePhoto) -> String {
        photo.width.flatMap { width in photo.height.map { "\(width)x\($0)" } } ?? "yes"
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

    /// The user with the parts as Graph expands them.
    ///
    /// A part is `null` or an empty list if the user has no such part, and omitted if unknown.
    var json: JSONValue {
        var object = record.json.object ?? JSONObject()
        if hasManagers { object["manager"] = userDetail.user["manager"] ?? .null }
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
