/// What a property of Graph's is called in SCIM.
///
/// RFC 7643 sections 4.1 and 4.3
struct SCIMAttribute: Sendable, Equatable {
    /// What kind of value it holds.
    enum Kind: Sendable {
        case text, truth, date
    }

    static let user = "urn:ietf:params:scim:schemas:core:2.0:User"
    static let enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"

    /// What a filter compares, such as `name.givenName`.
    var path: String
    /// What an answer is asked for, such as `name`: services differ in how they cut a complex attribute.
    var name: String
    var kind = Kind.text
    /// For an element of a list, the type that it must be of.
    var type: String?

    /// The attribute of a property; nil when SCIM has none.
    static func known(_ property: String) -> SCIMAttribute? {
        if let attribute = table[property] { return attribute }
        // A name of SCIM's own, and one of a schema of the organization's.
        if singular.contains(property) || isExtension(property) { return SCIMAttribute(path: property, name: property) }
        return nil
    }

    /// Whether this is an attribute of an extension's schema, with the schema's URN before it.
    private static func isExtension(_ text: String) -> Bool {
        text.hasPrefix("urn:") && text.utf8.count <= 256
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: ":"), UInt8(ascii: "."), UInt8(ascii: "-"),
                    UInt8(ascii: "_"), UInt8(ascii: "$"):
                    true
                default: false
                }
            }
    }

    /// What a filter may name, for the words of a refusal.
    static var names: String { table.keys.sorted().joined(separator: ", ") }

    /// What is never asked for and not missed: a default property that SCIM has no attribute for.
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
            "accountEnabled": SCIMAttribute(path: "active", name: "active", kind: .truth),
            "active": SCIMAttribute(path: "active", name: "active", kind: .truth),
            "createdDateTime": SCIMAttribute(path: "meta.created", name: "meta", kind: .date),
        ]
    }()

    /// The value of `attributes` for these properties: each attribute once.
    ///
    /// - Throws: ``DirectoryError`` of the kind `invalidQuery` for a property that SCIM has no attribute for.
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
        // Many services have names in parts only.
        if names.contains("displayName"), !names.contains("name") { names.append("name") }
        return names.joined(separator: ",")
    }
}
