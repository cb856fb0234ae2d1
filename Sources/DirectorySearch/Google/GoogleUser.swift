import StrictJSON

extension User {
    /// Creates a user from a resource of Google's Directory API.
    ///
    /// Fields without a property here are in ``additional``, with Google's names, except `kind` and `etag`.
    ///
    /// See [users](https://developers.google.com/workspace/admin/directory/reference/rest/v1/users).
    ///
    /// - Parameter object: Any object, such as a resource of the kind `admin#directory#user`.
    public init(google object: JSONObject) {
        var record = WireRecord(object, ignoresCase: false)
        var user = JSONObject()
        user.add("id", record.text("id"))
        var name = record.record("name")
        user.add("displayName", name?.text("fullName"))
        user.add("givenName", name?.text("givenName"))
        user.add("surname", name?.text("familyName"))
        let primary = record.text("primaryEmail")
        var mails = record.elements("emails") { $0.peek("address") != nil }
        if let mail = primary ?? mails.preferred?.peek("address") {
            user.append("mail", .string(mail))
            mails.removeAll { $0.peek("address") == mail }
        }
        user.add("userPrincipalName", primary)
        user.add("otherMails", "address", of: mails)
        Self.readWork(&record, into: &user)
        Self.readPhones(&record, into: &user)
        let languages = record.elements("languages") { $0.peek("languageCode") != nil }
        user.add(
            "preferredLanguage",
            (languages.first { $0.peek("preference") == "preferred" } ?? languages.first)?.peek("languageCode"))
        if let isSuspended = record.bool("suspended") { user.append("accountEnabled", .bool(!isSuspended)) }
        user.add("createdDateTime", record.text("creationTime"))
        if let manager = record.elements("relations", where: { $0.isOf("manager") && $0.peek("value") != nil }).first {
            // Google returns only the address.
            user.append("manager", ["mail": manager.peek("value").map { .string($0) } ?? .null])
        }
        record.drop("kind")
        record.drop("etag")
        user.add(remaining: record)
        if let remaining = name?.remaining, !remaining.isEmpty { user.append("name", .object(JSONObject(remaining))) }
        self.init(json: user)
    }

    private static func readWork(_ record: inout WireRecord, into user: inout JSONObject) {
        if let work = record.elements("organizations").preferred {
            user.add("jobTitle", work.peek("title"))
            user.add("department", work.peek("department"))
            user.add("companyName", work.peek("name"))
            if let center = work.peek("costCenter") {
                user.append("employeeOrgData", ["costCenter": .string(center)])
            }
        }
        if let location = record.elements("locations").preferred {
            let parts = ["buildingId", "floorName", "floorSection", "deskCode"].compactMap { location.peek($0) }
            if !parts.isEmpty { user.append("officeLocation", .string(parts.joined(separator: " "))) }
        }
        user.add(address: record.elements("addresses") { !$0.isOf("home") }.preferred)
        let number = record.elements("externalIds") { $0.isOf("organization") && $0.peek("value") != nil }
        user.add("employeeId", number.first?.peek("value"))
    }

    private static func readPhones(_ record: inout WireRecord, into user: inout JSONObject) {
        let mobile = record.elements("phones") { phone in
            phone.peek("value") != nil && (phone.isOf("mobile") || phone.isOf("work_mobile"))
        }
        user.add("mobilePhone", mobile.preferred?.peek("value"))
        let phones = record.elements("phones") { phone in
            phone.peek("value") != nil
                && !["home", "home_fax", "work_fax", "other_fax", "pager"].contains { phone.isOf($0) }
        }
        user.add("businessPhones", "value", of: phones)
    }
}
