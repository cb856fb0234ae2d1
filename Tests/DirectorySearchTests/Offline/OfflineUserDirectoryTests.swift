import StrictJSON
import Testing

@testable import DirectorySearch

/// Tests the offline copy as a `UserDirectory`.
@Suite struct OfflineUserDirectoryTests {
    let store = TestStore()
    let service = DeltaService()

    private func filled() async throws -> any UserDirectory {
        service.person("1", "Ada", "Lovelace", ["department": "Research", "accountEnabled": true])
        service.person("2", "Adam", "Smith", ["department": "Sales", "accountEnabled": false])
        service.person("3", "Grace", "Adams", ["accountEnabled": true])
        service.person("4", "Émile", "Zola", ["department": "Sales"])
        try await store.sync(service, UserQuery.defaultProperties + ["accountEnabled"]).run()
        return store.offline
    }

    private func found(_ filter: UserFilter) async throws -> [String] {
        try await filled().users(matching: filter).collected().compactMap(\.id)
    }

    @Test func `a query returns pages up to its limit`() async throws {
        let directory = try await filled()
        var query = UserQuery.everyone(pageSize: 3)
        #expect(try await directory.pages(matching: query).collected().map(\.users.count) == [3, 1])
        query.limit = 2
        #expect(try await directory.users(matching: query).collected().count == 2)
        query.limit = 0
        #expect(try await directory.users(matching: query).collected().isEmpty)
    }

    @Test func `the copy supports each comparison of its properties`() async throws {
        #expect(try await found(.property(.mail, endsWith: "SMITH@contoso.example")) == ["2"])
        #expect(try await found(.property(.department, isNot: "sales")) == ["1", "3"])
        #expect(try await found(!.givenName(startsWith: "ada")) == ["3", "4"])
        #expect(try await found(.property(.department, equals: .null)) == ["3"])
        #expect(try await found(.property(.department, isNot: .null)) == ["1", "2", "4"])
        #expect(try await found(.property(.accountEnabled, equals: true)) == ["1", "3"])
        #expect(try await found(.property(.surname, isOneOf: ["Zola", "adams"])) == ["3", "4"])
        #expect(try await found(.givenName(startsWith: "ada") && .department(startsWith: "s")) == ["2"])
    }

    @Test func `a query for missing data is not in the copy`() async throws {
        let directory = try await filled()
        var queries = [UserQuery(search: .raw("\"mail:ada\"")), .everyone(), .everyone(), .everyone()]
        queries[1].orderBy = [.ascending(.displayName)]
        queries[2].isAmongDeleted = true
        queries[3].select = ["id", "manager.displayName"]
        for query in queries {
            let error = try await failure { try await directory.users(matching: query).collected() }
            guard case .notInCopy? = error?.kind else {
                Issue.record("\(query) gave \(String(describing: error))")
                continue
            }
        }
        let unknown = try await failure { try await directory.me() }
        guard case .notInCopy? = unknown?.kind else {
            Issue.record("the copy returned a signed-in user")
            return
        }
    }

    @Test(arguments: [
        ("ada l", ["1"]), ("LOVE ad", ["1"]), ("ad", ["1", "2", "3"]), ("emile", ["4"]), ("da", []), ("ada zola", []),
    ])
    func `a search finds words of the display name in any order`(_ words: String, _ expected: [String]) async throws {
        let users = try await filled().users(matching: UserQuery(search: .displayName(words))).collected()
        #expect(users.compactMap(\.id).sorted() == expected)
        #expect(try await filled().count(of: UserQuery(search: .displayName(words))) == expected.count)
    }

    @Test func `the number of users needs no page size`() async throws {
        let directory = try await filled()
        #expect(try await directory.count(of: UserQuery(.givenName(startsWith: "ada"), pageSize: 0, limit: 0)) == 2)
        #expect(try await directory.count(of: .everyone(pageSize: 0, limit: 0)) == 4)
    }

    @Test func `lookUp returns users in input order`() async throws {
        let directory = try await filled()
        let answers = try await directory.lookUp(["4", "nobody", "ada.lovelace@contoso.example"]).collected()
        #expect(answers.map { try? $0.result.get().id } == ["4", nil, "1"])
        let detail = try await directory.detail(of: "2")
        #expect(detail.user.surname == "Smith" && detail.manager == .notRequested)
    }
}
