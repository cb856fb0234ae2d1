import Foundation
import HTTPExchange
import LocalProvider
import StrictJSON
import Testing

@testable import DirectorySearch

/// A recorded response, and the equivalent request to the local provider.
private struct ShapeCase: Sendable, CustomTestStringConvertible {
    var name: String
    var target: String
    var method = HTTPMethod.get
    var isAdvanced = false
    var fields: HTTPFields = [:]
    var body: String?
    var fault: String?
    var isAuthorized = true
    var writes = false
    /// The accepted differences and their reasons.
    var except: [String: String] = [:]

    var testDescription: String { name }

    /// Creates a GET case. `{ada}` is Ada's identifier, `{aoife}` has a manager, `{gone}` is deleted,
    /// and `{photoless}`, `{pictured}` and `{mailless}` are users with or without a photo or mailbox.
    static func get(
        _ name: String, _ target: String, advanced: Bool = false, fields: HTTPFields = [:], fault: String? = nil,
        except: [String: String] = [:]
    ) -> ShapeCase {
        ShapeCase(
            name: name, target: "/v1.0/" + target, isAdvanced: advanced, fields: fields, fault: fault, except: except)
    }
}

private let olderContext = [
    "@odata.context": "the documented samples disagree; one contains the selected names"
]

private let cases: [ShapeCase] = [
    .get("users-list-default", "users?$top=50"),
    .get("users-count-segment", "users/$count", advanced: true),
    .get(
        "users-startswith-displayname-orderby-count-top1",
        "users?$filter=startswith(displayName,'a')&$orderby=displayName&$count=true&$top=1", advanced: true,
        except: ["value.mailNickname": "the sample shows a property that requires $select"]),
    .get(
        "users-endswith-mail-orderby-count",
        "users?$filter=endswith(mail,'@contoso.example')&$orderby=userPrincipalName&$count=true", advanced: true),
    .get(
        "users-search-displayname", "users?$search=%22displayName:ad%22&$orderby=displayName&$count=true",
        advanced: true),
    .get(
        "users-search-displayname-or",
        "users?$search=%22displayName:wa%22%20OR%20%22displayName:ad%22&$orderby=displayName&$count=true",
        advanced: true),
    .get(
        "users-search-displayname-or-2023",
        "users?$search=%22displayName:wa%22%20OR%20%22displayName:ad%22&$orderby=displayName&$count=true",
        advanced: true),
    .get(
        "users-filter-assigned-license",
        "users?$select=id,mail,assignedLicenses&$filter=assignedLicenses/any(u:u/skuId%20eq%20c7df2760-2c81-4ef7-b578-5b5392b571df)"
    ),
    .get(
        "users-list-by-identity",
        "users?$select=displayName,id&$filter=identities/any(c:c/issuerAssignedId%20eq%20'ada@contoso.example'%20and%20"
            + "c/issuer%20eq%20'contoso.example')"),
    .get("users-count-silently-ignored", "users?$count=true"),
    .get("user-get-default", "users/{ada}"), .get("me-default", "me"),
    .get("user-get-select-identities", "users/{ada}?$select=displayName,givenName,postalCode,identities"),
    .get("users-list-2-select-signinactivity", "users?$select=displayName,userPrincipalName,signInActivity"),
    .get(
        "users-endswith-guest-upn",
        "users?$select=id,displayName,mail,identities&$filter=endsWith(userPrincipalName,'%23EXT%23@contoso.example')&$count=true",
        advanced: true),
    .get("users-delta-first-page", "users/delta"),
    .get("users-delta-select", "users/delta?$select=displayName,jobTitle,mobilePhone", except: olderContext),
    .get(
        "users-delta-return-minimal", "users/delta?$select=displayName,jobTitle,mobilePhone",
        fields: ["Prefer": "return=minimal"], except: olderContext),
    .get(
        "users-delta-walk-1-nextlink-with-removed", "users/delta?$select=displayName,givenName,surname",
        except: ["value.@removed": "the local provider's first page contains no deleted user"]),
    .get("users-delta-walk-2-nextlink", "{page2}", except: olderContext),
    .get("users-delta-walk-3-deltalink", "{page3}", except: olderContext),
    .get("users-delta-walk-4-no-changes", "{unchanged}", except: olderContext),
    .get("users-delta-walk-5-changes-and-removed", "{changes}", except: olderContext),
    .get("user-manager", "users/{aoife}/manager"),
    .get(
        "me-expand-manager-levels-max",
        "users/{deep}?$expand=manager($levels=max;$select=id,displayName)&$select=id,displayName&$count=true",
        advanced: true),
    .get("me-direct-reports", "me/directReports"), .get("user-memberof", "users/{ada}/memberOf"),
    .get("user-memberof-count", "users/{ada}/memberOf/$count", advanced: true),
    .get(
        "user-memberof-group-cast-search",
        "users/{ada}/memberOf/microsoft.graph.group?$count=true&$orderby=displayName&$search=%22displayName:all%22"
            + "&$select=displayName,id", advanced: true),
    .get(
        "user-memberof-group-cast-startswith",
        "users/{ada}/memberOf/microsoft.graph.group?$count=true&$orderby=displayName&$filter=startswith(displayName,%20'a')",
        advanced: true),
    .get("user-transitive-memberof", "users/{ada}/transitiveMemberOf"),
    .get("me-photo-metadata", "me/photo"),
    .get(
        "me-photo-metadata-no-photo-1x1", "users/{pointed}/photo",
        except: ["@odata.context": "the request uses an identifier, because the signed-in user has a photo"]),
    .get("error-400-count-without-consistencylevel", "users/$count"),
    .get("error-400-search-without-consistencylevel", "users?$search=%22displayName:Browser%22"),
    .get("error-400-endswith-without-advanced-params-2021", "users?$filter=endsWith(mail,'@outlook.com')"),
    .get(
        "error-400-endswith-without-advanced-params-2023",
        "users?$filter=endsWith(userPrincipalName,'%23EXT%23@contoso.com')"),
    .get("error-400-expand-not-supported", "me?$expand=photo"),
    .get("error-501-select-skills-on-collection", "users/?$select=skills"),
    .get("error-429-retry-after-10", "users", fault: "directory-429=10"),
    .get("error-429-retry-after-fractional-2021", "users", fault: "directory-429=2.128"),
    .get("error-403-non-premium-tenant", "users?$select=displayName,signInActivity", fault: "directory-403-premium"),
    .get("error-500-nested-innererror", "users", fault: "directory-500-nested"),
    .get("error-404-photo-nonexistent-mailbox", "users/{mailless}/photo/$value"),
    .get(
        "live-users-startswith-displayname-percent-encoded",
        "users?$filter=startswith%28displayName%2C%27%24ystem%27%29"),
    .get("live-user-get-upn-with-dollar-and-hash", "users('$system@contoso.example')"),
    .get("live-user-get-by-upn", "users/ada@contoso.example"),
    .get("live-users-upn-eq-one-result", "users?$filter=userPrincipalName%20eq%20%27ada%40contoso.example%27"),
    .get(
        "live-users-or-filter-empty",
        "users?$filter=userPrincipalName%20eq%20%27nobody%27%20or%20mail%20eq%20%27nobody%27%20or%20displayName%20eq%20%27nobody%27"
    ),
    .get("live-error-404-resource-not-found", "users/a3f6c606-38ec-42d7-8c0e-d4ecaf0d9d61"),
    ShapeCase(
        name: "live-error-403-authorization-requestdenied", target: "/v1.0/directory/deletedItems/{gone}",
        method: .delete),
    .get("stub-users-page1-nextlink", "users?$top=2"),
    .get("stub-users-startswith-surname", "users?$filter=startsWith(surname,%20'L')"),
    .get(
        "stub-users-startswith-surname-and-givenname",
        "users?$filter=startsWith(surname,%20'L')%20and%20startsWith(givenName,%20'A')"),
    .get(
        "stub-users-guest-startswith-surname",
        "users?$filter=startsWith(surname,%20'H')%20and%20userType%20eq%20'Guest'"),
    .get("stub-users-apostrophe-no-result", "users?$filter=startsWith(displayName,%20'O''Brienne')"),
    .get("stub-user-get-external", "users/amal.haddad_partner.example%23EXT%23@contoso.example"),
    .get("stub-deleted-users", "directory/deletedItems/microsoft.graph.user"),
    .get("stub-error-404-user-not-found", "users/68be84bf-a585-4776-80b3-30aa5207aa22"),
    .get("mock-me-dev-proxy", "me"),
    ShapeCase(name: "syn-401-invalid-token", target: "/v1.0/users", isAuthorized: false),
    .get("syn-401-claims-challenge", "users", fault: "directory-401-claims"),
    .get("syn-429-no-retry-after", "users", fault: "directory-429"),
    .get("syn-429-http-date", "users", fault: "directory-429=date"),
    .get("syn-429-malformed-list", "users", fault: "directory-429=30,120"),
    .get("syn-429-throttle-headers", "users", fault: "directory-429-quota"),
    .get("syn-503-retry-after", "users", fault: "directory-503=3"),
    .get("syn-504-html", "users", fault: "directory-html"), .get("syn-400-top-1000", "users?$top=1000"),
    .get("syn-400-expired-page-token", "users?$skiptoken=expired"),
    .get("syn-410-delta-resync", "users/delta?$deltatoken=old"),
    .get("syn-page-empty-with-nextlink", "users?$top=5", fault: "directory-empty-page"),
    .get("syn-page-nextlink-foreign-host", "users", fault: "directory-nextlink-foreign"),
    .get("syn-page-nextlink-same-url-loop", "users", fault: "directory-nextlink-loop"),
    .get("syn-users-unicode-and-control", "users"),
    ShapeCase(
        name: "syn-batch-one-throttled", target: "/v1.0/$batch", method: .post,
        body:
            #"{"requests":[{"id":"2","method":"GET","url":"/me"},{"id":"1","method":"GET","url":"/users/{ada}"},"#
            + #"{"id":"3","method":"GET","url":"/me","dependsOn":["2"]}]}"#, fault: "directory-batch-429=4"),
    ShapeCase(
        name: "live-deleteditems-purge-204", target: "/v1.0/directory/deletedItems/{purged}", method: .delete,
        writes: true),
    ShapeCase(
        name: "deleteditems-restore", target: "/v1.0/directory/deletedItems/{restored}/restore", method: .post,
        writes: true,
        except: restored),
]

private let restored = Dictionary(
    uniqueKeysWithValues: [
        "groupTypes", "mailEnabled", "mailNickname", "securityEnabled", "visibility", "mail",
    ].map { ($0, "the sample is a group, and the local provider deletes only users") })

/// Responses that are not compared with the local provider, and the reasons.
private let leftOut: [String: String] = {
    var reasons: [String: String] = [:]
    func leave(_ reason: String, _ names: String...) { for name in names { reasons[name] = reason } }
    leave(
        "it has no schema extensions", "users-select-schema-extension", "user-get-select-schema-extension",
        "me-expand-extensions")
    leave(
        "it has no groups endpoint, only the groups of users", "error-400-filter-property-not-indexed-2021",
        "error-400-filter-property-not-indexed-2023", "live-group-members-mixed-odata-types",
        "deleteditems-groups-orderby-count")
    leave("it has no contacts", "contacts-list", "contacts-startswith-displayname", "contacts-search-displayname")
    leave("it does not rank people by relevance", "me-people", "me-people-search")
    leave("it has no files", "error-shape-requestid-camelcase")
    leave("it has no list of licenses", "me-license-details")
    leave(
        "its Swift API, not requests, creates, changes and deletes users", "users-create-201",
        "live-users-create-201", "live-user-update-204", "live-user-delete-204", "me-revoke-signin-sessions")
    leave(
        "it does not support this request, which the project never sends", "directoryobjects-getbyids",
        "live-getbyids-empty", "live-user-getmembergroups")
    leave(
        "its items use other services; another case compares a user batch", "batch-response-2023", "batch-response-2025"
    )
    leave(
        "like the service, it returns a body for a missing photo",
        "mock-me-photo-404-empty-body-dev-proxy")
    leave("the sample has a stray quote in a URL", "users-list-2021-guest-mail-with-stray-quote")
    return reasons
}()

/// The structure of a JSON value.
private enum Shape {
    static func kind(_ value: JSONValue) -> String {
        guard let text = value.string else { return value.kind }
        if UUID(uuidString: text) != nil { return "identifier" }
        return ServerDate.graph(text) == nil ? "text" : "date"
    }

    /// Merges the elements of a list into one value that has all their members.
    static func merged(_ values: [JSONValue]) -> JSONValue {
        guard !values.isEmpty, values.allSatisfy({ $0.object != nil }) else {
            return values.first { $0 != .null } ?? .null
        }
        var members: [String: [JSONValue]] = [:]
        for value in values {
            for member in value.object?.members ?? [] { members[member.name, default: []].append(member.value) }
        }
        return .object(
            JSONObject(
                members.map { name, values in
                    let lists = values.compactMap(\.array)
                    if !lists.isEmpty { return .init(name: name, value: .array(lists.flatMap { $0 })) }
                    return .init(name: name, value: merged(values.filter { $0 != .null }))
                }))
    }

    /// Returns the members that the local response lacks or that have a different type.
    static func differences(_ fixture: JSONValue, _ local: JSONValue, _ path: String = "") -> [String] {
        if fixture == .null || local == .null { return [] }
        switch (fixture, local) {
        case (.object(let left), .object(let right)):
            return left.members.flatMap { member -> [String] in
                let location = path.isEmpty ? member.name : "\(path).\(member.name)"
                guard let other = right[member.name] else { return ["\(location) is missing"] }
                return differences(member.value, other, location)
            }
        case (.array(let left), .array(let right)):
            if left.isEmpty || right.isEmpty {
                return left.isEmpty == right.isEmpty || left.isEmpty ? [] : ["\(path) is empty"]
            }
            return differences(merged(left), merged(right), path)
        case (.string(let left), .string(let right)) where path.hasSuffix("@odata.context"):
            return context(left) == context(right) ? [] : ["\(path) is \(context(right)), not \(context(left))"]
        case (.string, .string) where kind(fixture) == "text": return []
        default: return kind(fixture) == kind(local) ? [] : ["\(path) is \(kind(local)), not \(kind(fixture))"]
        }
    }

    private static func context(_ text: String) -> String {
        String(text.split(separator: "$metadata", maxSplits: 1).last ?? "")
            .replacing(/'[^']*'/, with: "'…'")
    }
}

@Suite(.enabled(if: !Fixture.all.isEmpty, "the fixtures do not exist"), .serialized)
struct LocalShapeTests {
    /// Local providers with tokens that can read and write, and the values of the names in braces.
    private struct Stage: Sendable {
        var reader: Local
        var writer: Local
        var names: [String: String] = [:]

        init() async throws {
            reader = try await Local(
                people: 500, scope: "User.Read User.Read.All GroupMember.Read.All AuditLog.Read.All")
            writer = try await Local(scope: "User.ReadWrite.All")
            let people = reader.provider.users
            for (name, index) in ["ada": 0, "aoife": 1, "mailless": 8, "pointed": 15, "deep": 70, "gone": 60] {
                names[name] = people[index].id
            }
            for (name, index) in ["purged": 40, "restored": 41] {
                names[name] = writer.provider.users[index].id
                writer.provider.deleteUser(writer.provider.users[index].id)
            }
            let select = "/v1.0/users/delta?$select=displayName,givenName,surname"
            names["page2"] = try await link("@odata.nextLink", select)
            names["page3"] = try await link("@odata.nextLink", "/v1.0/" + (names["page2"] ?? ""))
            names["changes"] = try await link("@odata.deltaLink", select + "&$deltatoken=latest")
            reader.provider.deleteUser(people[60].id)
            reader.provider.updateUser(people[61].id) { $0.displayName = "Someone Else" }
            names["unchanged"] = try await link("@odata.deltaLink", select + "&$deltatoken=latest")
        }

        private func link(_ name: String, _ target: String) async throws -> String {
            let answer = try JSONValue(parsing: try await reader.send(.get, target).body)
            let link = try #require(answer.object?[name]?.string)
            return String(try #require(link.split(separator: "/v1.0/").last))
        }
    }

    private static let stage = Task { try await Stage() }

    @Test func `every recorded response is compared or listed with a reason`() {
        let names = Set(Fixture.all.map(\.name))
        let known = Set(cases.map(\.name)).union(leftOut.keys)
        #expect(names.subtracting(known).sorted() == [])
        #expect(Set(cases.map(\.name)).subtracting(names).sorted() == [])
        #expect(Set(cases.map(\.name)).intersection(leftOut.keys).isEmpty)
    }

    @Test(arguments: cases) fileprivate func `a local response has the recorded structure`(shape: ShapeCase)
        async throws
    {
        let fixture = try #require(Fixture.all.first { $0.name == shape.name })
        let stage = try await Self.stage.value
        let local = shape.writes ? stage.writer : stage.reader
        var (target, body) = (shape.target, shape.body)
        for (name, text) in stage.names {
            target = target.replacing("{\(name)}", with: text)
            body = body?.replacing("{\(name)}", with: text)
        }
        var fields = shape.fields
        if shape.isAdvanced { fields["ConsistencyLevel"] = "eventual" }
        var faults = InjectedErrors()
        if let fault = shape.fault { try faults.add(parsing: "\(fault):1") }
        local.provider.setInjectedErrors(faults)
        let answer = try await local.send(
            shape.method, target, fields, body: body, isAuthorized: shape.isAuthorized)
        var differences: [String] = []
        if answer.status != fixture.response.status {
            differences.append("the status is \(answer.status), not \(fixture.response.status)")
        }
        differences += Self.fieldDifferences(fixture, answer)
        if let recorded = try? JSONValue(parsing: fixture.response.body) {
            let given = try JSONValue(parsing: answer.body)
            differences += Shape.differences(recorded, given)
            if recorded.object?["value"] != nil {
                for name in ["@odata.count", "@odata.deltaLink"]
                where recorded.object?[name] == nil && given.object?[name] != nil {
                    differences.append("\(name) is unexpected")
                }
            }
            if let code = recorded[path: "error", "code"]?.string {
                let other = given[path: "error", "code"]?.string
                if code != other { differences.append("the code is \(other ?? "missing"), not \(code)") }
            }
        } else if let text = String(bytes: fixture.response.body, encoding: .utf8), Int(text) != nil {
            if Int(String(decoding: answer.body, as: UTF8.self)) == nil { differences.append("it is not a number") }
        }
        let unexpected = differences.filter { difference in
            !shape.except.keys.contains { difference.hasPrefix($0 + " ") }
        }
        #expect(unexpected.isEmpty, "\(target)")
    }

    /// Returns the differences in the header fields that a client reads.
    private static func fieldDifferences(_ fixture: Fixture, _ answer: HTTPResponse) -> [String] {
        func type(_ response: HTTPResponse) -> String? { response.fields["Content-Type"] }
        var differences: [String] = []
        let media = { (type: String?) in type.map { String($0.prefix { $0 != ";" }) } }
        if fixture.name.hasPrefix("live-") {
            if type(answer) != type(fixture.response) {
                differences.append("Content-Type is \(type(answer) ?? ""), not \(type(fixture.response) ?? "")")
            }
        } else if media(type(answer)) != media(type(fixture.response)) {
            differences.append("Content-Type is \(type(answer) ?? ""), not \(type(fixture.response) ?? "")")
        }
        // The local provider does not reproduce framing, the server's identity or HTTPS-only policy.
        let passedOver = [
            "content-type", "content-length", "transfer-encoding", "vary", "strict-transport-security",
            "x-ms-ags-diagnostic",
        ]
        for field in fixture.response.fields where !passedOver.contains(field.name.lowercased()) {
            if answer.fields[field.name] == nil { differences.append("the field \(field.name) is missing") }
        }
        if let challenge = fixture.response.fields["WWW-Authenticate"] {
            for name in ["realm=", "authorization_uri=", "client_id=", "error=", "claims="]
            where challenge.contains(name) && answer.fields["WWW-Authenticate"]?.contains(name) != true {
                differences.append("WWW-Authenticate has no \(name)")
            }
        }
        return differences
    }
}
