import StrictJSON

/// The SCIM representation of users. See RFC 7643 sections 4.1 and 4.3.
enum SCIMUser {
    static let schema = "urn:ietf:params:scim:schemas:core:2.0:User"
    static let enterpriseSchema = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"

    static func json(_ user: StoredUser, base: String) -> JSONObject {
        var object: JSONObject = [
            "schemas": [.string(schema), .string(enterpriseSchema)], "id": .string(user.id),
        ]
        object.append("externalId", text: user.employeeID)
        object.append("userName", text: user.userPrincipalName)
        var name = JSONObject()
        name.append("formatted", text: user.displayName)
        name.append("familyName", text: user.surname)
        name.append("givenName", text: user.givenName)
        if !name.members.isEmpty { object.append("name", .object(name)) }
        object.append("displayName", text: user.displayName)
        object.append("title", text: user.jobTitle)
        object.append("userType", text: user.isGuest ? "Guest" : "Member")
        object.append("preferredLanguage", text: user.preferredLanguage)
        object.append("active", .bool(user.accountEnabled))
        if let mail = user.mail {
            object.append("emails", [["value": .string(mail), "type": "work", "primary": true]])
        }
        var phones = user.businessPhones.map { JSONValue.object(["value": .string($0), "type": "work"]) }
        if let mobile = user.mobilePhone { phones.append(["value": .string(mobile), "type": "mobile"]) }
        if !phones.isEmpty { object.append("phoneNumbers", .array(phones)) }
        if let city = user.city {
            var address: JSONObject = ["type": "work", "locality": .string(city)]
            address.append("postalCode", text: user.text(.postalCode))
            address.append("country", text: user.text(.usageLocation))
            object.append("addresses", [.object(address)])
        }
        var extra = JSONObject()
        extra.append("employeeNumber", text: user.employeeID)
        extra.append("organization", text: user.companyName)
        extra.append("department", text: user.department)
        if !extra.members.isEmpty { object.append(enterpriseSchema, .object(extra)) }
        object.append(
            "meta",
            [
                "resourceType": "User", "created": .string(user.createdDateTime),
                "lastModified": .string(user.createdDateTime), "location": .string("\(base)/Users/\(user.id)"),
                "version": .string("W/\"\(user.id.prefix(8))\""),
            ])
        return object
    }

    /// Returns the selected attributes, and always `schemas` and `id`. See RFC 7644 section 3.9.
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
                    let selected = attributes.map(parts).filter { $0.0 == name }
                    guard !selected.isEmpty else { return nil }
                    let inner = selected.compactMap(\.1)
                    guard inner.count == selected.count else { return member }
                    return .init(name: member.name, value: keeping(member.value) { inner.contains($0) })
                }
                if let excluded {
                    let removed = excluded.map(parts).filter { $0.0 == name }
                    if removed.contains(where: { $0.1 == nil }) { return nil }
                    let inner = removed.compactMap(\.1)
                    return .init(name: member.name, value: keeping(member.value) { !inner.contains($0) })
                }
                return member
            })
    }

    private static func keeping(_ value: JSONValue, _ isIncluded: (String) -> Bool) -> JSONValue {
        switch value {
        case .object(let object): .object(JSONObject(object.members.filter { isIncluded($0.name.lowercased()) }))
        case .array(let values): .array(values.map { keeping($0, isIncluded) })
        default: value
        }
    }
}
