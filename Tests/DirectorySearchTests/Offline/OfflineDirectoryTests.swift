import Foundation
import OAuth2AccountStore
import StrictJSON
import Testing

@testable import DirectorySearch

@Suite struct OfflineDirectoryTests {
    let store = TestStore()
    let service = DeltaService()

    private func filled() async throws -> OfflineDirectory {
        service.person("1", "Ada", "Lovelace", ["jobTitle": "Engineer", "department": "Research"])
        service.person("2", "Adam", "Smith", ["department": "Sales"])
        service.person("3", "Grace", "Adams")
        service.person("4", "Émile", "Zola")
        service.person("5", "Conan", "O'Brien")
        service.person("6", "李", "明")
        service.person("7", "Jean-Luc", "de la Cruz")
        service.put("8", ["displayName": "Printing room", "mail": "ada.printer@contoso.example"])
        service.put("9")
        try await store.sync(service).run()
        return store.offline
    }

    private func names(_ users: [User]) -> [String] { users.map { $0.displayName ?? $0.id ?? "" } }

    @Test func `the best match is first even if the limit excludes other users`() async throws {
        let offline = try await filled()
        #expect(
            names(try await offline.users(typed: "ada")) == [
                "Ada Lovelace", "Adam Smith", "Grace Adams", "Printing room",
            ])
        #expect(names(try await offline.users(typed: "ada", limit: 2)) == ["Ada Lovelace", "Adam Smith"])
        #expect(names(try await offline.users(typed: "adams", limit: 1)) == ["Grace Adams"])
    }

    @Test(arguments: [
        ("ADA LOVE", ["Ada Lovelace"]), ("love ada", ["Ada Lovelace"]), ("emile", ["Émile Zola"]),
        ("ÉMILE z", ["Émile Zola"]), ("o'b", ["Conan O'Brien"]), ("brien", []),
        ("李", ["李 明"]), ("明", ["李 明"]), ("jean-l", ["Jean-Luc de la Cruz"]), ("de jean", ["Jean-Luc de la Cruz"]),
        ("jean-luc de la", ["Jean-Luc de la Cruz"]), ("cruz jean", []), ("ada.love", ["Ada Lovelace"]),
        ("ada.lovelace@contoso", ["Ada Lovelace"]), ("ada.lovelace@fabrikam", []), ("contoso", []), ("vel", []),
        ("ada zola", []), ("print", ["Printing room"]),
    ])
    func `each word is the start of a name or address, without case and accents`(
        _ text: String, _ expected: [String]
    ) async throws {
        #expect(names(try await filled().users(typed: text)) == expected)
    }

    @Test func `typed text is never an index command`() async throws {
        let offline = try await filled()
        for text in [
            "\"", "\"\"", "ada\" OR \"zola", "ada*", "* *", "NOT ada", "{givenName} : ada", "(ada", "ada)", "^ada",
            "ada +",
            "ada NEAR zola", "-ada", "", " ", "\u{0}", "ada\u{0}zola", "'", "''", "') --", "😀", "\u{301}", "%", "_",
            String(repeating: "a ", count: 5000), String(repeating: "(", count: 5000),
            String(repeating: "\u{301}", count: 3000),
        ] {
            _ = try await offline.users(typed: text)
            if !text.isBlank {
                _ = try await offline.users(matching: .displayName(startsWith: text), limit: 5)
                _ = try await offline.users(matching: .mail(startsWith: text), limit: 5)
            }
        }
        #expect(try await offline.users(typed: "ada\" OR \"zola").isEmpty)
        #expect(try await offline.users(typed: "(ada) love*").isEmpty)
    }

    @Test func `user(_:) finds a user by identifier, sign-in name and mail address`() async throws {
        let offline = try await filled()
        #expect(try await offline.user("4").surname == "Zola")
        #expect(try await offline.user("Ada.Lovelace@Contoso.example").id == "1")
        #expect(try await offline.user("ada.printer@contoso.example").id == "8")
        #expect(try await failure { try await offline.user("nobody@contoso.example") }?.kind == .notFound)
        #expect(try await failure { try await offline.user("ada.lovelace@contoso.exampl") }?.kind == .notFound)
        #expect(try await failure { try await offline.user(" ") }?.kind == .emptySearch)
        service.put("10", ["mail": "ada.printer@contoso.example"])
        try await store.sync(service).run()
        #expect(try await failure { try await offline.user("ada.printer@contoso.example") }?.kind == .ambiguous)
    }

    @Test func `filters compare the start of values without case and accents`() async throws {
        let offline = try await filled()
        func found(_ filter: UserFilter) async throws -> [String] {
            try await offline.users(matching: filter, limit: 100).compactMap(\.id)
        }
        #expect(try await found(.givenName(startsWith: "aDa")) == ["1", "2"])
        #expect(try await found(.givenName(startsWith: "Emile")) == ["4"])
        #expect(try await found(.property(.givenName, equals: "Emile")).isEmpty)
        #expect(try await found(.givenName(startsWith: "émile")) == ["4"])
        #expect(try await found(.displayName(startsWith: "Lovelace")).isEmpty)
        #expect(try await found(.displayName(startsWith: "Ada L")) == ["1"])
        #expect(try await found(.surname(startsWith: "O'")) == ["5"])
        #expect(try await found(.surname(startsWith: "'")).isEmpty)
        #expect(try await found(.givenName(startsWith: "Jean-")) == ["7"])
        #expect(try await found(.mail(startsWith: "ada.lovelace@con")) == ["1"])
        #expect(try await found(.mail(startsWith: "lovelace")).isEmpty)
        #expect(try await found(.userPrincipalName(startsWith: "ada")) == ["1", "2"])
        #expect(try await found(.userPrincipalName(startsWith: "ada.")) == ["1"])
        #expect(try await found(.property(.givenName, equals: "ada")) == ["1"])
        #expect(try await found(.department(startsWith: "res")) == ["1"])
        #expect(try await found(.all(of: [.givenName(startsWith: "ada"), .department(startsWith: "s")])) == ["2"])
        #expect(try await found(.any(of: [.surname(startsWith: "zo"), .department(startsWith: "s")])) == ["2", "4"])
        #expect(
            try await found(.any(of: [.surname(startsWith: "zo"), .all(of: [.givenName(startsWith: "conan")])]))
                == ["4", "5"])
        #expect(try await found(.property(.id, equals: "3")) == ["3"])
    }

    @Test func `a filter that needs the service is not in the copy`() async throws {
        let offline = try await filled()
        for filter in [
            UserFilter.raw("accountEnabled eq true"), .property(UserProperty(rawValue: "city"), startsWith: "x"),
            .all(of: [.givenName(startsWith: "a"), .raw("true")]),
        ] {
            let error = try await failure { try await offline.users(matching: filter, limit: 1) }
            guard case .notInCopy(let reason)? = error?.kind, !reason.isEmpty else {
                Issue.record("\(filter) gave \(String(describing: error))")
                continue
            }
        }
        #expect(
            try await failure { try await offline.users(matching: .givenName(startsWith: " "), limit: 1) }?.kind
                == .emptySearch)
    }

    @Test func `pages contain each user once`() async throws {
        for number in 0..<1300 { service.person("n\(number)", "Same", "Name\(number)") }
        let offline = try await filled()
        for filter in [nil, UserFilter.givenName(startsWith: "same"), .department(startsWith: "zzz")] {
            var ids: [String] = []
            var location: OfflineDirectory.Position? = OfflineDirectory.Position()
            while let position = location {
                let page = try await offline.page(matching: filter, after: position, limit: 100)
                #expect(page.users.count <= 100)
                ids += page.users.compactMap(\.id)
                location = page.next
            }
            #expect(Set(ids).count == ids.count)
            #expect(ids.count == (filter == nil ? 1309 : filter == .department(startsWith: "zzz") ? 0 : 1300))
        }
    }

    @Test func `user(_:select:) returns the selected properties, with null for missing values`() async throws {
        let offline = try await filled()
        let user = try await offline.user("4", select: ["displayName", "jobTitle", "city"])
        #expect(user.json.members.map(\.name) == ["id", "displayName", "jobTitle"] && user.json["jobTitle"] == .null)
    }

    @Test func `a query without a copy throws "missing"`() async throws {
        #expect(try await offlineFailure { try await store.offline.users(typed: "ada") } == .missing)
        #expect(try await store.index.summary() == nil)
        #expect(!FileManager.default.fileExists(atPath: store.directory.path))
    }

    @Test func `only the owner can read the copy and its additional files`() async throws {
        let offline = try await filled()
        _ = try await offline.users(typed: "ada")
        let names = try FileManager.default.contentsOfDirectory(atPath: store.directory.path)
        #expect(names.contains("people-ada-1.sqlite"))
        for name in names {
            let attributes = try FileManager.default.attributesOfItem(atPath: store.directory.file(name))
            #expect(attributes[.posixPermissions] as? Int == 0o600, "\(name)")
        }
        #expect(
            try FileManager.default.attributesOfItem(atPath: store.directory.path)[.posixPermissions] as? Int == 0o700)
    }

    @Test func `each account has a separate copy`() async throws {
        _ = try await filled()
        let other = Account.ID(rawValue: "other")
        #expect(
            try await offlineFailure {
                try await OfflineDirectory(account: other, in: store.directory).users(typed: "ada")
            } == .missing)
        // The copy of another account is rejected even under the right file name.
        try FileManager.default.copyItem(
            atPath: store.index.path, toPath: OfflineIndex(account: other, in: store.directory).path)
        #expect(
            try await offlineFailure {
                try await OfflineDirectory(account: other, in: store.directory).users(typed: "ada")
            } == .anotherAccount)
    }

    @Test func `forget(account:in:) overwrites and removes the copy, and an open directory notices`() async throws {
        let offline = try await filled()
        #expect(try await offline.users(typed: "ada").count == 4)
        let file = try #require(FileHandle(forReadingAtPath: store.index.path))
        #expect(try await OfflineIndex.forget(account: store.account, in: store.directory))
        #expect(try FileManager.default.contentsOfDirectory(atPath: store.directory.path).isEmpty)
        #expect(try file.readToEnd()?.allSatisfy { $0 == 0 } == true)
        #expect(try await offlineFailure { try await offline.users(typed: "ada") } == .missing)
        #expect(try await !OfflineIndex.forget(account: store.account, in: store.directory))
        try await store.sync(service).run()
        #expect(try await offline.users(typed: "ada").count == 4)
    }

    @Test func `a query reports a damaged copy, and forget(account:in:) repairs it`() async throws {
        let offline = try await filled()
        for damage in [Data(), Data("no database".utf8), Data(repeating: 0, count: 8192)] {
            try damage.write(to: URL(filePath: store.index.path))
            try? FileManager.default.removeItem(atPath: store.index.path + "-wal")
            #expect(try await offlineFailure { try await store.offline.users(typed: "ada") } == .damaged)
            #expect(try await offlineFailure { try await store.sync(service).run() } == .damaged)
        }
        try await OfflineIndex.forget(account: store.account, in: store.directory)
        try await store.sync(service).run()
        #expect(try await offline.users(typed: "ada").count == 4)
    }

    @Test func `all(in:) lists the copies of all accounts`() async throws {
        service.person("1", "Ada", "Lovelace")
        let accounts = ["plain_1-x", "a/b", "../up", "ü", "~41", String(repeating: "x", count: 65)]
        for name in accounts {
            let account = Account.ID(rawValue: name)
            try await DirectorySync(of: try service.directory, account: account, in: store.directory).run()
        }
        try Data().write(to: URL(filePath: store.directory.file("people-~4.sqlite")))
        try Data().write(to: URL(filePath: store.directory.file("accounts.sqlite")))
        let all = await OfflineIndex.all(in: store.directory)
        #expect(Set(all.map(\.account.rawValue)) == Set(accounts))
        #expect(await OfflineIndex.all(in: StoreLocation("/nowhere/at/all")).isEmpty)
    }
}
