/// The SCIM attribute for a property of Graph.
///
/// See RFC 7643 sections 4.1 and 4.3.
struct SCIMAttribute: Sendable, Equatable {
    static let user = "urn:ietf:params:scim:schemas:core:2.0:User"
    static let enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"

    /// The path in a filter, such as `name.givenName`.
    var path: String
    /// The name in `attributes`, such as `name`: some services do not return a part of a complex attribute.
    var name: String
    /// The type of the value; `nil` for a string.
    var kind: FilterValue.Kind?
    /// The required type of a list element.
    var type: String?

    /// Returns the attribute of a property, or `nil` if SCIM does not have one.
    static func known(_ property: String) -> SCIMAttribute? {
        if let attribute = table[property] { return attribute }
        // A SCIM name, or a name in a schema of the organization.
        if singular.contains(property) || isExtension(property) { return SCIMAttribute(path: property, name: property) }
        return nil
    }

    /// Returns whether this is the attribute of an extension, after the URN of its schema.
    private static func isExtension(_ text: String) -> Bool {
        text.hasPrefix("urn:") && text.utf8.count <= 256
            && text.utf8.allSatisfy { $0.isAlphanumeric(or: ":.-_$") }
    }

    /// The names for a filter, for error messages.
    static var names: String { table.keys.sorted().joined(separator: ", ") }

    /// The default properties without an attribute, which a query omits.
    static let absent: Set<String> = ["officeLocation"]

    private static let singular: Set<String> = [
        "userName", "title", "active", "nickName", "profileUrl", "locale", "timezone", "externalId", "emails", "name",
        "phoneNumbers", "addresses", "groups", "roles", "entitlements", "ims", "photos", "meta",
    ]

    private static let table: [String: SCIMAttribute] = {
        func plain(_ name: String) -> SCIMAttribute { SCIMAttribute(path: name, name: name) }
        func within(_ name: String, _ member: String) -> SCIMAttribute {
            SCIMAttribute(path: "\(name).\(member)", name: name)
        }
        func extended(_ name: String) -> SCIMAttribute { plain("\(enterprise):\(name)") }
        return [
            "id": plain("id"), "userPrincipalName": plain("userName"), "displayName": plain("displayName"),
            "givenName": within("name", "givenName"), "surname": within("name", "familyName"),
            "mail": within("emails", "value"), "otherMails": within("emails", "value"),
            "jobTitle": plain("title"), "department": extended("department"),
            "companyName": extended("organization"), "employeeId": extended("employeeNumber"),
            "employeeOrgData/costCenter": extended("costCenter"), "employeeOrgData/division": extended("division"),
            "manager/id": SCIMAttribute(path: "\(enterprise):manager.value", name: "\(enterprise):manager"),
            "businessPhones": within("phoneNumbers", "value"),
            "mobilePhone": SCIMAttribute(path: "phoneNumbers", name: "phoneNumbers", type: "mobile"),
            "streetAddress": within("addresses", "streetAddress"), "city": within("addresses", "locality"),
            "state": within("addresses", "region"), "postalCode": within("addresses", "postalCode"),
            "country": within("addresses", "country"), "preferredLanguage": plain("preferredLanguage"),
            "userType": plain("userType"),
            "accountEnabled": SCIMAttribute(path: "active", name: "active", kind: .bool),
            "active": SCIMAttribute(path: "active", name: "active", kind: .bool),
            "createdDateTime": SCIMAttribute(path: "meta.created", name: "meta", kind: .date),
        ]
    }()

    /// Returns the value of `attributes` for these properties, without duplicates.
    ///
    /// - Throws: ``DirectoryError`` of the kind `invalidQuery` for a property without an attribute.
    static func selection(_ select: [String]) throws(DirectoryError) -> String {
        var names = ["id"]
        for property in select {
            let first = String(property.prefix { $0 != "." && $0 != "/" })
            let name: String
            if absent.contains(property) {
                continue
            } else if let attribute = known(property) {
                name = attribute.name
            } else if first == "manager" {
                name = "\(enterprise):manager"
            } else if first == "employeeOrgData" {
                for part in ["costCenter", "division"] where !names.contains("\(enterprise):\(part)") {
                    names.append("\(enterprise):\(part)")
                }
                continue
            } else {
                throw .invalidQuery(
                    "SCIM has no attribute for \"\(property.visible(limit: 100))\"; it has "
                        + "\(Self.names), and attributes with a schema's URN before them")
            }
            if !names.contains(name) { names.append(name) }
        }
        // Many services return only the parts of a name.
        if names.contains("displayName"), !names.contains("name") { names.append("name") }
        return names.joined(separator: ",")
    }
}
