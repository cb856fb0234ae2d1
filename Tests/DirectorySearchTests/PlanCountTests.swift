import Foundation
import OAuth2AccountStore
import Testing

@testable import DirectorySearch

/// Counts how often a search plans its query.
@Suite struct PlanCountTests {
    /// Returns the result of a search and the number of its `plan()` calls.
    private func counted<Value>(_ search: () async throws -> Value) async throws -> (result: Value, plans: Int) {
        let plans = Log<Void>()
        let result = try await QueryPlan.$observer.withValue({ plans.append(()) }) { try await search() }
        return (result, plans.all.count)
    }

    private func directory(_ transport: ScriptedTransport) throws -> GraphDirectory {
        GraphDirectory(client: try client(transport))
    }

    @Test func `a search of several pages plans its query once`() async throws {
        let transport = ScriptedTransport([.page(["1"], next: "\(graph)/users?p=2"), .page(["2"])])
        let (users, plans) = try await counted {
            try await directory(transport).users(matching: .givenName(startsWith: "Ada")).collected()
        }
        #expect(users.count == 2 && plans == 1 && transport.requests.count == 2)
    }

    @Test func `a restarted search keeps its plan`() async throws {
        let transport = ScriptedTransport([
            .page(["1"], next: "\(graph)/users?p=2"), .failure(410), .page(["1"], next: "\(graph)/users?p=3"),
            .page(["2"]),
        ])
        let (users, plans) = try await counted {
            try await directory(transport).users(matching: .givenName(startsWith: "Ada")).collected()
        }
        #expect(users.count == 2 && plans == 1 && transport.requests.count == 4)
    }

    @Test(arguments: ["graph", "scim", "google"])
    func `a search reuses the plan of an account type`(kind: String) async throws {
        let settings = try Settings(
            bytes: Array(
                """
                {"types": {"t": {"clientId": "c", "scopes": ["s"], "redirectUri": "http://127.0.0.1/callback",
                "authorizationEndpoint": "https://id.example/a", "tokenEndpoint": "https://id.example/t",
                "directory": "\(kind)",
                "\(kind == "graph" ? "graphAPI" : "directoryBase")": "https://graph.microsoft.com/"}}}
                """.utf8), source: "test")
        let type = try #require(settings["t"])
        let response: HTTPResponse =
            switch kind {
            case "scim": .json(#"{"totalResults":1,"Resources":[{"id":"1"}]}"#)
            case "google": .json(#"{"kind":"admin#directory#users","users":[{"id":"1"}]}"#)
            default: .page(["1"])
            }
        let transport = ScriptedTransport([response])
        let directory: any UserDirectory =
            switch kind {
            case "scim": SCIMDirectory(client: try client(transport))
            case "google": GoogleDirectory(client: try client(transport))
            default: try directory(transport)
            }
        let (plan, plans) = try await counted { try type.plan(UserQuery(.givenName(startsWith: "Ada"))) }
        #expect(plans == (kind == "graph" ? 1 : 0), "the requests of SCIM and Google are not a QueryPlan")
        let (pages, others) = try await counted { try await directory.pages(of: plan).collected() }
        #expect(pages.count == 1 && others == 0)
        let target = try #require(transport.addresses.first?.replacing("/v1.0", with: ""))
        #expect(plan.description(base: "https://graph.microsoft.com").hasPrefix("GET \(target)\n"))
    }

    @Test func `another directory type plans the query itself`() async throws {
        let transport = ScriptedTransport([.json(#"{"totalResults":1,"Resources":[{"id":"1"}]}"#)])
        let plan = try SearchPlan(UserQuery(.givenName(startsWith: "Ada")))
        let users = try await SCIMDirectory(client: client(transport)).pages(of: plan).collected()
        #expect(users.first?.users.first?.id == "1")
        #expect(transport.addresses.first?.contains("/Users?filter=name.givenName") == true)
    }

    @Test func `a part of a batch plans its query once`() async throws {
        let transport = ScriptedTransport([.json(#"{"responses":[{"id":"0","status":200,"body":{"value":[]}}]}"#)])
        let (results, plans) = try await counted {
            try await directory(transport).batch([.page(of: UserQuery(.mail(startsWith: "ada")))])
        }
        #expect(try results.first?.get().users.isEmpty == true)
        #expect(plans == 1)
    }

    @Test func `a search of the offline copy plans its query once`() async throws {
        let (store, service) = (TestStore(), DeltaService())
        service.person("1", "Ada", "Lovelace")
        try await store.sync(service).run()
        let query = UserQuery(.givenName(startsWith: "ada"))
        let (users, plans) = try await counted { try await store.offline.users(matching: query).collected() }
        #expect(users.count == 1 && plans == 1)
        let plan = try SearchPlan(query)
        let (pages, others) = try await counted { try await store.offline.pages(of: plan).collected() }
        #expect(pages.first?.users.count == 1 && others == 0)
    }
}
