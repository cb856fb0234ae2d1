import StrictJSON

/// Reads one JSON string.
enum JSONText {
    static func string(_ text: String) throws -> String {
        guard let value = try JSONValue(parsing: Array(text.utf8)).string else {
            throw SCIMFailure.filter("No string.")
        }
        return value
    }
}

/// Users as SCIM writes them. RFC 7643 sections 4.1 and 4.3.
enum SCIMUser {
    static let schema = "urn:ietf:params:scim:schemas:core:2.0:User"
    static let enterpriseSchema = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"

    static func json(_ person: StoredUser, base: String) -> JSONObject {
        var object: JSONObject = [
            "schemas": [.string(schema), .string(enterpriseSchema)], "id": .string(person.id),
        ]
        func add(_ name: String, _ value: String?) {
            if let value { object.append(name, .string(value)) }
        }
        add("externalId", person.employeeID)
        add("userName", person.userPrincipalName)
        var name = JSONObject()
        if let text = person.displayName { name.append("formatted", .string(text)) }
        if let text = person.surname { name.append("familyName", .string(text)) }
        if let text = person.givenName { name.append("givenName", .string(text)) }
        if !name.members.isEmpty { object.append("name", .object(name)) }
        add("displayName", person.displayName)
        add("title", person.jobTitle)
        add("userType", person.isGuest ? "Guest" : "Member")
        add("preferredLanguage", person.preferredLanguage)
        object.append("active", .bool(person.accountEnabled))
        if let mail = person.mail {
            object.append("emails", [["value": .string(mail), "type": "work", "primary": true]])
        }
        var phones = person.businessPhones.map { JSONValue.object(["value": .string($0), "type": "work"]) }
        if let mobile = person.mobilePhone { phones.append(["value": .string(mobile), "type": "mobile"]) }
        if !phones.isEmpty { object.append("phoneNumbers", .array(phones)) }
        if let city = person.city {
            var address: JSONObject = ["type": "work", "locality": .string(city)]
            if let code = person.text(.postalCode) { address.append("postalCode", .string(code)) }
            if let country = person.text(.usageLocation) { address.append("country", .string(country)) }
            object.append("addresses", [.object(address)])
        }
        var extra = JSONObject()
        if let text = person.employeeID { extra.append("employeeNumber", .string(text)) }
        if let text = person.companyName { extra.append("organization", .string(text)) }
        if let text = person.department { extra.append("department", .string(text)) }
        if !extra.members.isEmpty { object.append(enterpriseSchema, .object(extra)) }
        object.append(
            "meta",
            [
                "resourceType": "User", "created": .string(person.createdDateTime),
                "lastModified": .string(person.createdDateTime), "location": .string("\(base)/Users/\(person.id)"),
                "version": .string("W/\"\(person.id.prefix(8))\""),
            ])
        return object
    }

    /// What `attributes` and `excludedAttributes` leave. RFC 7644 section 3.9: `schemas` and `id` always come.
    static func selected(_ object: JSONObject, _ attributes: [String]?, excluding excluded: [String]?) -> JSONObject {
        func parts(_ name: String) -> (String, String?) {
            let folded = name.lowercased()
            for schema in [SCIMAttribute.core, SCIMAttribute.enterprise] where folded.hasPrefix(schema) {
                let rest = folded.dropFirst(schema.count).drop { $0 == ":" }
                if schema == SCIMAttribute.enterprise { return (schema, rest.isEmpty ? nil : String(rest)) }
                return parts(String(rest))
            }
            guard let dot = folded.firstIndex(of: ".") else { return (folded, nil) }
            return (String(folded[..<dot]), String(folded[folded.index(after: dot)...]))
        }
        let always: Set<String> = ["schemas", "id"]
        return JSONObject(
            object.members.compactMap { member in
                let name = member.name.lowercased()
                if always.contains(name) { return member }
                if let attributes {
                    let wanted = attributes.map(parts).filter { $0.0 == name }
                    guard !wanted.isEmpty else { return nil }
                    let inner = wanted.compactMap(\.1)
                    guard inner.count == wanted.count else { return member }
                    return .init(name: member.name, value: keeping(member.value) { inner.contains($0) })
                }
                if let excluded {
                    let unwanted = excluded.map(parts).filter { $0.0 == name }
                    if unwanted.contains(where: { $0.1 == nil }) { return nil }
                    let inner = unwanted.compactMap(\.1)
                    return .init(name: member.name, value: keeping(member.value) { !inner.contains($0) })
                }
                return member
            })
    }

    private static func keeping(_ value: JSONValue, _ isWanted: (String) -> Bool) -> JSONValue {
        switch value {
        case .object(let object): .object(JSONObject(object.members.filter { isWanted($0.name.lowercased()) }))
        case .array(let values): .array(values.map { keeping($0, isWanted) })
        default: value
        }
    }
}
