import Foundation
import HTTPExchange
import StrictJSON
import TestSupport
import Testing

@testable import DirectorySearch

/// The request side of Graph's OpenAPI document.
private struct Contract {
    let document: JSONObject

    static let file = SharedFolder.url("graph/openapi.json")

    init() throws {
        let file = try #require(Self.file)
        document = try #require(try JSONValue(parsing: Data(contentsOf: file)).object)
    }

    private func resolved(_ value: JSONValue) -> JSONObject? {
        guard let object = value.object else { return nil }
        guard let reference = object["$ref"]?.string else { return object }
        return reference.dropFirst(2).split(separator: "/")
            .reduce(JSONValue.object(document)) { $0.object?[String($1)] ?? .null }.object
    }

    private func operation(_ method: String, _ path: String) -> JSONObject? {
        let wanted = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        let paths = document["paths"]?.object?.members ?? []
        let fitting = paths.filter { entry in
            let parts = entry.name.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
            return parts.count == wanted.count
                && zip(parts, wanted).allSatisfy { $0 == $1 || ($0.hasPrefix("{") && !$1.isEmpty) }
        }
        let best = fitting.min { $0.name.filter { $0 == "{" }.count < $1.name.filter { $0 == "{" }.count }
        return best?.value.object?[method.lowercased()]?.object
    }

    /// Returns the parts of the request that violate the contract.
    func faults(method: String, target: String, fields: [String: String]) -> [String] {
        let halves = target.split(separator: "?", maxSplits: 1).map(String.init)
        // A key in parentheses is the same resource as a segment.
        let path = halves[0].replacing("/users('", with: "/users/x")
        guard let operation = operation(method, path) else { return ["no \(method) \(halves[0])"] }
        let parameters = (operation["parameters"]?.array ?? []).compactMap(resolved)
        var faults: [String] = []
        var seen: Set<String> = []
        for option in (halves.count > 1 ? halves[1] : "").split(separator: "&") {
            let name = String(option.prefix { $0 != "=" })
            let value = String(option.dropFirst(name.count + 1)).removingPercentEncoding ?? ""
            if !seen.insert(name).inserted { faults.append("\(name) twice") }
            guard let parameter = parameters.first(where: { $0["name"]?.string == name }),
                let schema = parameter["schema"].flatMap(resolved)
            else {
                faults.append("\(name) is not an option of \(halves[0])")
                continue
            }
            faults += check(value, schema).map { "\(name): \($0)" }
        }
        let known = ["accept", "authorization", "content-type", "retry-attempt"]
        for (name, value) in fields where !known.contains(name.lowercased()) {
            let parameter = parameters.first {
                $0["in"]?.string == "header" && $0["name"]?.string?.lowercased() == name.lowercased()
            }
            guard let schema = parameter?["schema"].flatMap(resolved) else {
                faults.append("\(name) is not a header field of \(halves[0])")
                continue
            }
            faults += check(value, schema).map { "\(name): \($0)" }
        }
        for parameter in parameters where parameter["required"] == true && parameter["in"]?.string != "path" {
            let name = parameter["name"]?.string ?? ""
            if !seen.contains(name), fields[name] == nil { faults.append("\(name) is missing") }
        }
        if seen.contains("$search") || seen.contains("$count"), fields["ConsistencyLevel"] != "eventual" {
            faults.append("an advanced query without ConsistencyLevel")
        }
        return faults
    }

    private func check(_ value: String, _ schema: JSONObject) -> [String] {
        if let choices = schema["anyOf"]?.array?.compactMap(resolved) {
            let fits = choices.contains { check(value, $0).isEmpty }
            return fits ? [] : ["\(value) is not one of the choices"]
        }
        if let allowed = schema["enum"]?.array?.compactMap(\.string), !allowed.contains(value) {
            return ["\(value) is not allowed"]
        }
        if let pattern = schema["pattern"]?.string, value.range(of: pattern, options: .regularExpression) == nil {
            return ["\(value) does not match \(pattern)"]
        }
        switch schema["type"]?.string {
        case "integer":
            guard let number = Int64(value) else { return ["\(value) is not a number"] }
            let least = schema["minimum"]?.number?.int64 ?? .min
            let most = schema["maximum"]?.number?.int64 ?? .max
            return (least...most).contains(number) ? [] : ["\(value) is out of range"]
        case "boolean": return value == "true" || value == "false" ? [] : ["\(value) is not a Boolean"]
        case "array":
            guard let item = schema["items"].flatMap(resolved) else { return [] }
            let items = value.split(separator: ",").map(String.init)
            return Set(items).count == items.count ? items.flatMap { check($0, item) } : ["a duplicate item"]
        case "string" where schema["format"]?.string == "uuid":
            return UUID(uuidString: value) == nil ? ["\(value) is not a UUID"] : []
        default: return []
        }
    }
}

@Suite(.enabled(if: Contract.file != nil, "the contract file does not exist"))
struct ContractTests {
    /// Checks the requests that were sent, and each batch item as a separate request.
    private func check(_ transport: ScriptedTransport, _ contract: Contract) throws {
        for request in transport.requests {
            let target = String(request.url.absoluteString.dropFirst(graph.count))
            var fields: [String: String] = [:]
            for field in request.fields { fields[field.name] = field.value }
            let faults = contract.faults(method: request.method.rawValue, target: target, fields: fields)
            #expect(faults.isEmpty, "\(target)")
            guard let body = request.body else { continue }
            let items = try #require(try JSONValue(parsing: body).object?["requests"]?.array)
            #expect((1...20).contains(items.count))
            for item in items {
                let item = try #require(item.object)
                #expect(Set(item.members.map(\.name)).isSubset(of: ["id", "method", "url", "headers"]))
                var fields: [String: String] = [:]
                for field in item["headers"]?.object?.members ?? [] { fields[field.name] = field.value.string }
                let url = try #require(item["url"]?.string)
                let faults = contract.faults(method: item["method"]?.string ?? "", target: url, fields: fields)
                #expect(faults.isEmpty, "\(url)")
            }
        }
        #expect(!transport.requests.isEmpty)
    }

    private static let queries: [UserQuery] = {
        var queries: [UserQuery] = [.everyone(), .everyone(select: ["id", "extension_0a1b_badge"], pageSize: nil)]
        let filters: [UserFilter] = [
            .givenName(startsWith: "O'Brien & Söhne #1/50%+"), .property(.mail, endsWith: "@x"),
            !.property(.city, equals: .null), .property(.createdDateTime, atLeast: "2026-01-01"),
            .property(.otherMails, startsWith: "a"), .count(of: .assignedLicenses, equals: 0),
            .any(of: (1...90).map { .property(.id, equals: "87d349ed-44d7-43e1-9a83-5f2406dee5\($0)") }),
            .raw("userType eq 'Guest'"), .property(.companyName, isOneOf: ["a", "b"]),
        ]
        for filter in filters {
            queries.append(UserQuery(filter))
            var sorted = UserQuery(filter, pageSize: 999, limit: 2000)
            sorted.orderBy = [.descending(.displayName), .ascending(.createdDateTime)]
            sorted.countsTotal = true
            queries.append(sorted)
            sorted.isAmongDeleted = true
            queries.append(sorted)
        }
        queries.append(UserQuery(search: .any(of: [.displayName("R&D"), .property(.mail, "a\"b")])))
        queries.append(UserQuery(.givenName(startsWith: "A"), select: ["id", "manager.displayName"]))
        var chained = UserQuery(.property(.mail, endsWith: "@x"))
        chained.expand = .managers(select: ["id", "displayName"])
        queries.append(chained)
        return queries
    }()

    @Test(arguments: queries) func `every query satisfies the OpenAPI contract`(query: UserQuery) async throws {
        let transport = ScriptedTransport { request in
            request.body == nil
                ? .page(["1"]) : .json(#"{"responses":[{"id":"0","status":200,"body":{"value":[]}}]}"#)
        }
        let directory = GraphDirectory(client: try client(transport))
        _ = try await directory.users(matching: query).collected()
        try check(transport, try Contract())
    }

    @Test(arguments: queries) func `every count satisfies the OpenAPI contract`(query: UserQuery) async throws {
        let transport = ScriptedTransport { request in
            let page = #"{"value":[],"@odata.count":5}"#
            if let items = try? batchTargets(request), let item = items.first {
                let isCount = item.target.hasPrefix("/users/$count")
                return .json(#"{"responses":[{"id":"0","status":200,"body":\#(isCount ? #""5""# : page)}]}"#)
            }
            if request.url.path().contains("deletedItems") { return .json(page) }
            return HTTPResponse(status: 200, fields: ["Content-Type": "text/plain"], body: Data("5".utf8))
        }
        #expect(try await GraphDirectory(client: try client(transport)).count(of: query) == 5)
        try check(transport, try Contract())
    }

    @Test func `every delta request satisfies the OpenAPI contract`() async throws {
        var query = DeltaQuery()
        let contract = try Contract()
        for (identifiers, startsNow, isMinimal) in [
            ([], false, false), (["1"], false, true), (["1", "2"], true, true),
        ] {
            query.identifiers = identifiers
            query.startsNow = startsNow
            query.isMinimal = isMinimal
            let plan = try query.plan()
            let fields = plan.preference.map { ["Prefer": $0] } ?? [:]
            #expect(contract.faults(method: "GET", target: "/" + plan.target, fields: fields).isEmpty)
        }
        let page = #"{"value":[],"@odata.deltaLink":"\#(graph)/users/delta?$deltatoken=d"}"#
        let transport = ScriptedTransport { _ in .json(page) }
        let client = try client(transport)
        let first = try client.deltaURL(selecting: ["id", "mail"])
        for (address, isMinimal) in [(first, false), ("\(graph)/users/delta?$deltatoken=d", true)] {
            _ = try await client.deltaPage(at: address, isMinimal: isMinimal)
        }
        try check(transport, contract)
    }

    @Test(arguments: ["87d349ed", "a#b@x.com", "$ada@x", "o'b/%?@x", "delta"])
    func `every request for one user satisfies the OpenAPI contract`(name: String) async throws {
        let person = ScriptedTransport { _ in .json(#"{"id":"1"}"#) }
        let directory = GraphDirectory(client: try client(person))
        _ = try await directory.user(name)
        _ = try await directory.me()
        _ = try await directory.deletedUser(name)
        _ = try await directory.photo(of: name)
        _ = try await directory.managers(of: name)
        try check(person, try Contract())
        let batches = ScriptedTransport { request in
            let answers = ((try? batchTargets(request)) ?? []).map {
                #"{"id":"\#($0.id)","status":200,"body":{"id":"1","value":[]}}"#
            }
            return .json(#"{"responses":[\#(answers.joined(separator: ","))]}"#)
        }
        let other = GraphDirectory(client: try client(batches))
        _ = try await other.detail(of: name)
        _ = try await other.lookUp([name, "b", "c@d"]).collected()
        _ = try await other.batch(
            .user(name, expand: .managers()), .me(), .manager(of: name), .photo(of: name), .page(of: .everyone()),
            .count(of: .everyone()))
        try check(batches, try Contract())
    }

    @Test func `User has a property for every property of the contract`() throws {
        let schemas = try #require(try Contract().document["components"]?.object?["schemas"]?.object)
        let parts = try #require(schemas["microsoft.graph.user"]?.object?["allOf"]?.array)
        let names = parts.compactMap { $0.object?["properties"]?.object?.members.map(\.name) }.flatMap { $0 }
        #expect(names.count > 80)
        #expect(Set(names).subtracting(User.kinds.keys).isEmpty)
        #expect(Set(User.kinds.keys).subtracting(names) == ["id", "deletedDateTime"])
    }
}
