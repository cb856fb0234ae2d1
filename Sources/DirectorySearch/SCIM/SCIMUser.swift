import StrictJSON

extension User {
    /// Reads a person as SCIM writes one. What no property of this model is for is kept in ``additional``, under SCIM's names;
    /// `schemas` and `meta` are notes of the protocol and are not.
    ///
    /// RFC 7643 sections 4.1 and 4.3
    ///
    /// - Parameter object: a resource of the kind `User`. Anything can be read.
    public init(scim object: JSONObject) {
        var record = WireRecord(object, ignoresCase: true)
        var user = JSONObject()
        user.add("id", record.text("id"))
        var name = record.record("name")
        user.add("displayName", record.text("displayName") ?? name?.peek("formatted"))
        user.add("givenName", name?.text("givenName"))
        user.add("surname", name?.text("familyName"))
        var mails = record.elements("emails") { $0.peek("value") != nil }.filter { $0.peek("value") != "" }
        if let foremost = mails.foremost?.peek("value") {
            user.append("mail", .string(foremost))
            mails.removeAll { $0.peek("value") == foremost }
            user.add("otherMails", "value", of: mails)
        }
        user.add("userPrincipalName", record.text("userName"))
        user.add("jobTitle", record.text("title"))
        var enterprise = record.record(SCIMAttribute.enterprise)
        user.add("department", enterprise?.text("department"))
        user.add("companyName", enterprise?.text("organization"))
        user.add("employeeId", enterprise?.text("employeeNumber"))
        Self.readPhones(&record, into: &user)
        user.add(address: record.elements("addresses").foremost)
        user.add("preferredLanguage", record.text("preferredLanguage"))
        user.add("userType", record.text("userType"))
        if let active = record.truth("active") { user.append("accountEnabled", .bool(active)) }
        var meta = record.record("meta")
        user.add("createdDateTime", meta?.text("created"))
        if var manager = enterprise?.record("manager") {
            var person = JSONObject()
            person.add("id", manager.text("value"))
            person.add("displayName", manager.text("displayName"))
            if !person.members.isEmpty { user.append("manager", .object(person)) }
        }
        var organization = JSONObject()
        organization.add("costCenter", enterprise?.text("costCenter"))
        organization.add("division", enterprise?.text("division"))
        if !organization.members.isEmpty { user.append("employeeOrgData", .object(organization)) }
        record.drop("schemas")
        record.drop("meta")
        user.add(leftover: record)
        if let rest = enterprise?.rest, !rest.isEmpty {
            user.append(SCIMAttribute.enterprise, .object(JSONObject(rest)))
        }
        if let rest = name?.rest.filter({ $0.name.lowercased() != "formatted" }), !rest.isEmpty {
            user.append("name", .object(JSONObject(rest)))
        }
        self.init(json: user)
    }

    private static func readPhones(_ record: inout WireRecord, into user: inout JSONObject) {
        let mobile = record.elements("phoneNumbers") { $0.isOf("mobile") && $0.peek("value") != nil }
        user.add("mobilePhone", mobile.foremost?.peek("value"))
        let phones = record.elements("phoneNumbers") { phone in
            phone.peek("value") != nil && !["fax", "pager", "home"].contains { phone.isOf($0) }
        }
        user.add("businessPhones", "value", of: phones)
    }
}
