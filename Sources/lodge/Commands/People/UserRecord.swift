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
        if let fields { return fields.map(text) }
        return [
            user.displayName ?? "", user.mail ?? "", user.jobTitle ?? "",
            user.businessPhones.first ?? user.mobilePhone ?? "",
        ]
    }

    /// What a cell says of a field; the steps to a nested one are separated by points.
    private func text(_ field: String) -> String {
        var steps = field.split(separator: ".").map { String($0) }
        guard !steps.isEmpty else { return "" }
        return Self.text(Self.member(steps.removeFirst(), of: user.json), steps)
    }

    private static func text(_ value: JSONValue, _ steps: [String]) -> String {
        switch value {
        case .null: return ""
        case .string(let text): return text
        case .number(let number): return number.literal
        case .bool(let value): return value ? "true" : "false"
        case .array(let elements): return elements.map { text($0, steps) }.joined(separator: "; ")
        case .object(let object):
            guard let step = steps.first else { return value.text() }
            return text(member(step, of: object), Array(steps.dropFirst()))
        }
    }

    /// The service takes its names in upper and lower case, and gives them in its own.
    private static func member(_ name: String, of object: JSONObject) -> JSONValue {
        if let value = object[name] { return value }
        let folded = name.lowercased()
        return object.members.first { $0.name.lowercased() == folded }?.value ?? .null
    }

    var detail: Detail {
        var detail = Detail()
        detail.add("Name", user.displayName)
        detail.add("Given name", user.givenName)
        detail.add("Surname", user.surname)
        detail.add("Mail", user.mail)
        detail.add("UPN", user.userPrincipalName)
        detail.add("Title", user.jobTitle)
        detail.add("Department", user.department)
        detail.add("Office", user.officeLocation)
        detail.add("Phone", user.businessPhones)
        detail.add("Mobile", user.mobilePhone)
        detail.add("Language", user.preferredLanguage)
        let shown: Set<String> = [
            "displayName", "givenName", "surname", "mail", "userPrincipalName", "jobTitle", "department",
            "officeLocation", "businessPhones", "mobilePhone", "preferredLanguage", "id",
        ]
        for member in user.json.members where !member.name.contains("@") && !shown.contains(member.name) {
            if member.name == "manager", user.managers.count > 1 {
                detail.add("Managers", user.managers.map { $0.displayName ?? $0.id ?? "?" })
            } else if case .object(let object) = member.value, let name = object["displayName"]?.string {
                detail.add(member.name, name)
            } else {
                detail.add(member.name, Self.text(member.value, []))
            }
        }
        detail.add("Id", user.id)
        return detail
    }

    /// Graph's own members, without the notes of its protocol.
    var json: JSONValue { .object(user.jsonWithoutAnnotations) }

    func writeLine(to output: inout [UInt8]) { user.writeJSON(to: &output) }

    var vCard: VCard? {
        var card = VCard(name: user.displayName ?? user.userPrincipalName ?? user.id ?? "")
        card.familyName = user.surname
        card.givenName = user.givenName
        card.add("EMAIL;TYPE=work", user.mail)
        for phone in user.businessPhones { card.add("TEL;TYPE=\"work,voice\"", phone) }
        card.add("TEL;TYPE=cell", user.mobilePhone)
        card.add("TITLE", user.jobTitle)
        card.organization = (user.companyName, user.department)
        card.add("LANG", user.preferredLanguage)
        card.add("UID", user.id)
        return card
    }
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
        case .notAsked: []
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
