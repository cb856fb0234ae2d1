import StrictJSON

extension User {
    /// The name of the user in a list.
    ///
    /// It is the display name, otherwise given name and surname, sign-in name, mail address or identifier.
    ///
    /// A SCIM user has only the sign-in name if the service requires no other name.
    package var listName: String {
        if let displayName, !displayName.isBlank { return displayName }
        let parts = [givenName, surname].compactMap { $0 }.filter { !$0.isBlank }
        return [parts.joined(separator: " "), userPrincipalName, mail, id].lazy.compactMap { $0 }
            .first { !$0.isBlank } ?? ""
    }
}

/// The labeled fields of a user for the detail view.
package enum UserFields {
    /// A label with its values.
    package struct Entry: Hashable, Sendable {
        /// The label: `Mail`.
        package var label: String
        /// The values, at least one.
        package var values: [String]
    }

    /// The labels of properties, in the order of the detail view.
    private static let labels = [
        ("displayName", "Name"), ("givenName", "Given name"), ("surname", "Surname"), ("mail", "Mail"),
        ("userPrincipalName", "UPN"), ("jobTitle", "Title"), ("department", "Department"),
        ("officeLocation", "Office"), ("businessPhones", "Phone"), ("mobilePhone", "Mobile"),
        ("preferredLanguage", "Language"),
    ]
    private static let labeled = Set(labels.map(\.0) + ["id"])

    /// Returns the entries of a user: the properties with a label, then all others by their own name, then the
    /// identifier.
    package static func entries(of user: User) -> [Entry] {
        // Read it once: a user of a service is JSON text, which each access parses.
        let json = user.json
        var entries: [Entry] = []
        func add(_ label: String, _ values: [String]) {
            if !values.isEmpty { entries.append(Entry(label: label, values: values)) }
        }
        func add(_ label: String, _ value: String?) { if let value, !value.isEmpty { add(label, [value]) } }
        for (name, label) in labels {
            if name == "businessPhones" { add(label, user.businessPhones) } else { add(label, json[name]?.string) }
        }
        for member in json.members where !member.name.contains("@") && !labeled.contains(member.name) {
            if member.name == "manager", user.managers.count > 1 {
                add("Managers", user.managers.map { $0.displayName ?? $0.id ?? "?" })
            } else if case .object(let object) = member.value, let name = object["displayName"]?.string {
                add(member.name, name)
            } else {
                add(member.name, text(member.value))
            }
        }
        add("Id", user.id)
        return entries
    }

    /// Returns a field as a string for a table cell.
    ///
    /// - Parameter field: the name of a property; periods separate the steps to a nested one.
    package static func text(of field: String, in user: User) -> String {
        var steps = field.split(separator: ".").map { String($0) }
        guard !steps.isEmpty else { return "" }
        return text(member(steps.removeFirst(), of: user.json), steps)
    }

    /// Returns an object with exactly these fields in order; `null` for a field without a value.
    ///
    /// - Parameter fields: The names of properties; periods separate the steps to a nested one.
    package static func object(of fields: [String], in user: User) -> JSONObject {
        var result = JSONObject()
        for field in fields {
            let steps = field.split(separator: ".").map { String($0) }
            guard let first = steps.first else { continue }
            let value = user[first] ?? member(first, of: user.json)
            result[first] = projected(value, steps.dropFirst(), result[first])
        }
        return result
    }

    /// Returns a value with only the member at the end of the path, merged with the members of earlier fields.
    private static func projected(_ value: JSONValue, _ steps: ArraySlice<String>, _ earlier: JSONValue?) -> JSONValue {
        guard let step = steps.first else { return value }
        switch value {
        case .object(let object):
            var result = earlier?.object ?? JSONObject()
            result[step] = projected(member(step, of: object), steps.dropFirst(), result[step])
            return .object(result)
        case .array(let elements):
            let before = earlier?.array ?? []
            return .array(
                elements.enumerated().map { index, element in
                    projected(element, steps, index < before.count ? before[index] : nil)
                })
        default: return .null
        }
    }

    private static func text(_ value: JSONValue, _ steps: [String] = []) -> String {
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

    /// Returns the member with the given name. The service ignores the case of names and returns its own spelling.
    private static func member(_ name: String, of object: JSONObject) -> JSONValue {
        if let value = object[name] { return value }
        let folded = name.lowercased()
        return object.members.first { $0.name.lowercased() == folded }?.value ?? .null
    }
}
