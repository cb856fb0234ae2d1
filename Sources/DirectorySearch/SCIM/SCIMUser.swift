import StrictJSON

extension User {
    /// Creates a user from a SCIM resource.
    ///
    /// Attributes without a property here are in ``additional``, with SCIM's names, except `schemas` and `meta`.
    ///
    /// See RFC 7643 sections 4.1 and 4.3.
    ///
    /// - Parameter object: Any object, such as a resource of the kind `User`.
    public init(scim object: JSONObject) {
        var record = WireRecord(object, ignoresCase: true)
        var user = JSONObject()
        user.add("id", record.text("id"))
        var name = record.record("name")
        user.add("displayName", record.text("displayName") ?? name?.peek("formatted"))
        user.add("givenName", name?.text("givenName"))
        user.add("surname", name?.text("familyName"))
        var mails = record.elements("emails") { $0.peek("value") != nil }.filter { $0.peek("value") != "" }
        if let preferred = mails.preferred?.peek("value") {
            user.append("mail", .string(preferred))
            mails.removeAll { $0.peek("value") == preferred }
            user.add("otherMails", "value", of: mails)
        }
        user.add("userPrincipalName", record.text("userName"))
        user.add("jobTitle", record.text("title"))
        var enterprise = record.record(SCIMAttribute.enterprise)
        user.add("department", enterprise?.text("department"))
        user.add("companyName", enterprise?.text("organization"))
        user.add("employeeId", enterprise?.text("employeeNumber"))
        Self.readPhones(&record, into: &user)
        user.add(address: record.elements("addresses").preferred)
        user.add("preferredLanguage", record.text("preferredLanguage"))
        user.add("userType", record.text("userType"))
        if let active = record.bool("active") { user.append("accountEnabled", .bool(active)) }
        var meta = record.record("meta")
        user.add("createdDateTime", meta?.text("created"))
        if var manager = enterprise?.record("manager") {
            var related = JSONObject()
            related.add("id", manager.text("value"))
            related.add("displayName", manager.text("displayName"))
            if !related.members.isEmpty { user.append("manager", .object(related)) }
        }
        var organization = JSONObject()
        organization.add("costCenter", enterprise?.text("costCenter"))
        organization.add("division", enterprise?.text("division"))
        if !organization.members.isEmpty { user.append("employeeOrgData", .object(organization)) }
        record.drop("schemas")
        record.drop("meta")
        user.add(remaining: record)
        if let remaining = enterprise?.remaining, !remaining.isEmpty {
            user.append(SCIMAttribute.enterprise, .object(JSONObject(remaining)))
        }
        if let remaining = name?.remaining.filter({ $0.name.lowercased() != "formatted" }), !remaining.isEmpty {
            user.append("name", .object(JSONObject(remaining)))
        }
        self.init(json: user)
    }

    private static func readPhones(_ record: inout WireRecord, into user: inout JSONObject) {
        let mobile = record.elements("phoneNumbers") { $0.isOf("mobile") && $0.peek("value") != nil }
        user.add("mobilePhone", mobile.preferred?.peek("value"))
        let phones = record.elements("phoneNumbers") { phone in
            phone.peek("value") != nil && !["fax", "pager", "home"].contains { phone.isOf($0) }
        }
        user.add("businessPhones", "value", of: phones)
    }
}
