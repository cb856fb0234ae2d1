import Foundation
import HTTPExchange
import LocalProvider
import Testing

@testable import DirectorySearch

private func text(_ text: String) -> HTTPResponse {
    HTTPResponse(status: 200, fields: ["Content-Type": "text/plain"], body: Data(text.utf8))
}

@Suite struct CountTests {
    @Test func `count(of:) requests only the number`() async throws {
        let transport = ScriptedTransport([
            text("893"), text("\u{FEFF}0\r\n"), .json(#"{"value":[],"@odata.count":7}"#),
        ])
        let directory = GraphDirectory(client: try client(transport))
        #expect(try await directory.count(of: .everyone()) == 893)
        var query = UserQuery(.surname(startsWith: "O'B&"), select: ["skills"], limit: 3)
        query.orderBy = [.descending(.displayName)]
        query.search = .displayName("x")
        #expect(try await directory.count(of: query) == 0)
        var deleted = UserQuery(.surname(startsWith: "a"))
        deleted.isAmongDeleted = true
        #expect(try await directory.count(of: deleted) == 7)
        #expect(transport.addresses[0] == "\(graph)/users/$count")
        #expect(
            transport.addresses[1]
                == "\(graph)/users/$count?$search=%22displayName%3Ax%22&$filter=startswith%28surname%2C%27O%27%27B%26%27%29"
        )
        #expect(transport.addresses[2].hasSuffix("&$select=id&$top=1&$count=true"))
        #expect(transport.requests.allSatisfy { $0.fields["ConsistencyLevel"] == "eventual" })
        #expect(transport.requests.map { $0.fields["Accept"] } == ["text/plain", "text/plain", "application/json"])
    }

    @Test(arguments: ["", "-1", "1.5", "many", "99999999999999999999", "1 000", "{}", "\u{663}"])
    func `a body that is not a number is an unreadable count`(body: String) async throws {
        let directory = GraphDirectory(client: try client(ScriptedTransport([text(body)])))
        let error = try await failure { try await directory.count(of: .everyone()) }
        guard case .unreadable? = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func `count(of:) rejects an empty name without a request`() async throws {
        let transport = ScriptedTransport([])
        let directory = GraphDirectory(client: try client(transport))
        #expect(try await failure { try await directory.count(of: .surname(startsWith: " ")) }?.kind == .emptySearch)
        #expect(transport.requests.isEmpty)
    }

    @Test func `a count plan describes its request`() throws {
        let plan = try UserQuery(.property(.city, startsWith: "Z")).countPlan()
        let lines = plan.description(base: graph).split(separator: "\n")
        #expect(lines[0] == "GET \(graph)/users/$count?$filter=startswith%28city%2C%27Z%27%29")
        #expect(lines.contains("Accept: text/plain") && lines.contains("ConsistencyLevel: eventual"))
    }

    @Test func `count(of:) uses a batch if the URL is too long`() async throws {
        let transport = ScriptedTransport([.json(#"{"responses":[{"id":"0","status":200,"body":"12"}]}"#)])
        let directory = GraphDirectory(client: try client(transport))
        let filter = UserFilter.any(of: (0..<300).map { .property(.city, equals: .text("city \($0)")) })
        #expect(try await directory.count(of: filter) == 12)
        #expect(try batchTargets(transport.requests[0])[0].target.hasPrefix("/users/$count?$filter="))
    }
}

@Suite struct ManagerChainTests {
    private let chain =
        #"{"id":"1","manager":{"id":"2","displayName":"B","manager":{"id":"3","manager":{"id":"4","mail":"d@x"}}}}"#

    @Test func `managers(of:) returns the chain from one request, nearest first`() async throws {
        let transport = ScriptedTransport([.json(chain), .json(#"{"id":"1"}"#)])
        let directory = GraphDirectory(client: try client(transport))
        let managers = try await directory.managers(of: "1")
        #expect(managers.map(\.id) == ["2", "3", "4"])
        #expect(managers.allSatisfy { $0.manager == nil } && managers[2].mail == "d@x")
        #expect(try await directory.managers(of: "1").isEmpty)
        #expect(
            transport.addresses[0]
                == "\(graph)/users/1?$select=id&$expand=manager%28%24levels%3Dmax%3B%24select%3Did%2CdisplayName%2Cmail%29&$count=true"
        )
        #expect(transport.requests[0].fields["ConsistencyLevel"] == "eventual")
    }

    @Test func `a list expands manager chains as an advanced query`() async throws {
        let transport = ScriptedTransport([.json(#"{"value":[\#(chain)]}"#)])
        let directory = GraphDirectory(client: try client(transport))
        var query = UserQuery(.property(.mail, endsWith: "@x"), select: ["id", "manager.mail"])
        query.expand = .managers(.upTo(3))
        let user = try #require(try await directory.users(matching: query).collected().first)
        #expect(user.managers.map(\.id) == ["2", "3", "4"] && user.manager?.manager?.manager?.mail == "d@x")
        #expect(
            transport.addresses[0].contains(
                "$expand=manager%28%24levels%3D3%3B%24select%3Did%2CdisplayName%2Cmail%29&$count=true"))
        #expect(try query.plan().advancedReasons.last == "a chain of managers needs one")
    }

    @Test func `a query with unsupported levels is invalid`() {
        for expansion in [
            UserExpansion("directReports", levels: .max), .managers(.upTo(0)), .managers(.upTo(1001)),
            .managers(select: ["a;$levels=max"]), .managers(select: ["a/b"]),
        ] {
            var query = UserQuery(.property(.city, startsWith: "a"))
            query.expand = expansion
            #expect(throws: DirectoryError.self) { try query.plan() }
        }
        // Without levels, $expand still cannot be combined with an advanced query.
        var query = UserQuery(.property(.mail, endsWith: "@x"))
        query.expand = UserExpansion("manager")
        #expect(throws: DirectoryError.self) { try query.plan() }
    }
}

@Suite struct DeltaQueryTests {
    @Test func `a delta request contains the selected properties`() throws {
        var query = DeltaQuery(select: ["displayName", "mail"])
        #expect(try query.plan().target == "users/delta?$select=displayName%2Cmail")
        query.identifiers = ["a'b", "c"]
        query.startsNow = true
        query.isMinimal = true
        let plan = try query.plan()
        #expect(
            plan.target
                == "users/delta?$select=displayName%2Cmail&$filter=id%20eq%20%27a%27%27b%27%20or%20id%20eq%20%27c%27"
                + "&$deltatoken=latest")
        #expect(plan.description(base: graph).contains("\nPrefer: return=minimal\n"))
    }

    @Test(arguments: [[], [""], ["a b"], ["skills"], ["manager.displayName"], ["a,b"], ["a&$top=1"]])
    func `a delta query with unsupported properties is invalid`(select: [String]) {
        #expect(throws: DirectoryError.self) { try DeltaQuery(select: select).plan() }
    }
}
