import StrictJSON

/// The schemas of users, with the attributes that this directory returns. See RFC 7643 sections 7 and 8.7.1.
enum SCIMSchemas {
    static let path = "/Schemas"
    private static let schema = "urn:ietf:params:scim:schemas:core:2.0:Schema"

    /// Returns all schemas.
    static func all(base: String) -> [JSONObject] {
        [
            schema(
                SCIMUser.schema, "User", "User Account", base: base,
                [
                    attribute("userName", "The name for signing in.", isRequired: true, uniqueness: "server"),
                    attribute(
                        "name", "The components of the name.",
                        parts: [
                            attribute("formatted", "The full name."), attribute("familyName", "The surname."),
                            attribute("givenName", "The given name."),
                        ]),
                    attribute("displayName", "The name shown."), attribute("title", "The job title."),
                    attribute("userType", "Member or Guest."),
                    attribute("preferredLanguage", "The language, such as en-GB."),
                    attribute("active", "Whether the account may sign in.", type: "boolean"),
                    values("emails", "The mail addresses.", types: ["work"]),
                    values("phoneNumbers", "The telephone numbers.", types: ["work", "mobile"]),
                    attribute(
                        "addresses", "The postal addresses.", isMultiValued: true,
                        parts: [
                            attribute("locality", "The city."), attribute("postalCode", "The postal code."),
                            attribute("country", "The country, two letters."),
                            attribute("type", "The kind of address.", values: ["work"]),
                        ]),
                ]),
            schema(
                SCIMUser.enterpriseSchema, "EnterpriseUser", "Enterprise User", base: base,
                [
                    attribute("employeeNumber", "The employee number."), attribute("organization", "The company."),
                    attribute("department", "The department."),
                ]),
        ]
    }

    private static func schema(
        _ id: String, _ name: String, _ description: String, base: String, _ attributes: [JSONValue]
    ) -> JSONObject {
        [
            "schemas": [.string(schema)], "id": .string(id), "name": .string(name),
            "description": .string(description), "attributes": .array(attributes),
            "meta": ["resourceType": "Schema", "location": .string("\(base)\(path)/\(id)")],
        ]
    }

    private static func values(_ name: String, _ description: String, types: [String]) -> JSONValue {
        attribute(
            name, description, isMultiValued: true,
            parts: [
                attribute("value", "The value."), attribute("type", "The kind of value.", values: types),
                attribute("primary", "Whether this value is preferred.", type: "boolean"),
            ])
    }

    private static func attribute(
        _ name: String, _ description: String, type: String = "string", isMultiValued: Bool = false,
        isRequired: Bool = false, uniqueness: String = "none", values: [String] = [], parts: [JSONValue] = []
    ) -> JSONValue {
        var attribute: JSONObject = [
            "name": .string(name), "type": .string(parts.isEmpty ? type : "complex"),
            "multiValued": .bool(isMultiValued), "description": .string(description), "required": .bool(isRequired),
            // Read-only, because the directory accepts no changes.
            "mutability": "readOnly", "returned": "default",
        ]
        if parts.isEmpty, type == "string" {
            attribute.append("caseExact", false)
            attribute.append("uniqueness", .string(uniqueness))
        }
        if !values.isEmpty { attribute.append("canonicalValues", .array(values.map { .string($0) })) }
        if !parts.isEmpty { attribute.append("subAttributes", .array(parts)) }
        return .object(attribute)
    }
}
