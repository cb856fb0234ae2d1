import Foundation
import HTTPExchange
import LoopbackHTTP
import OAuth2AccountStore
import StrictJSON
import Synchronization
import Testing

@testable import DirectorySearch
@testable import CommandLineKit
@testable import lodge

/// `sync`, `search --offline`, and the offline copy in `status`, `sign-out` and `accounts remove`.
@MainActor @Suite struct OfflineTests {
    /// A directory with two pages of users and then no changes.
    private final class Service: Sendable {
        private let listener = Mutex<LoopbackListener?>(nil)
        let port: UInt16
        let isDown = Mutex(false)
        let refusesSecondPage = Mutex(false)
        let targets = Mutex<[String]>([])

        static let people = [
            #"{"id":"1","displayName":"Ada Lovelace","givenName":"Ada","surname":"Lovelace","mail":"ada@contoso.example","#
                + #""userPrincipalName":"ada@contoso.example","jobTitle":"Engineer","department":"Research"}"#,
            #"{"id":"2","displayName":"Adam \"<x>\"\tSmith","givenName":"Adam","surname":"Smith","mail":null,"#
                + #""userPrincipalName":"adam@contoso.example"}"#,
            #"{"id":"3","displayName":"Adele\nEvil","givenName":"Adele","surname":"Evil","mail":"a@b>\n<c@d"}"#,
        ]

        init() throws {
            let answer = Mutex<(@Sendable (LoopbackRequest) -> LoopbackResponse)?>(nil)
            let listening = try LoopbackListener { request in
                answer.withLock { $0 }?(request) ?? LoopbackResponse(status: 503)
            }
            port = listening.port
            listener.withLock { $0 = listening }
            answer.withLock { $0 = { [weak self] in self?.answer($0) ?? LoopbackResponse(status: 503) } }
        }

        deinit { listener.withLock { $0?.close() } }

        var base: String { "http://127.0.0.1:\(port)/" }

        private func answer(_ request: LoopbackRequest) -> LoopbackResponse {
            targets.withLock { $0.append(request.target) }
            if isDown.withLock({ $0 }) { return LoopbackResponse(status: 503) }
            if refusesSecondPage.withLock({ $0 }), request.target.contains("token=page") {
                return LoopbackResponse(status: 400)
            }
            let delta = "\(base)v1.0/users/delta?"
            let (people, link): (ArraySlice<String>, String) =
                switch request.target {
                case let target where target.contains("token=page"):
                    (Self.people[1...], #""@odata.deltaLink":"\#(delta)$deltatoken=now""#)
                case let target where target.contains("token=now"):
                    ([], #""@odata.deltaLink":"\#(delta)$deltatoken=now""#)
                case let target where target.contains("/users/delta"):
                    (Self.people[..<1], #""@odata.nextLink":"\#(delta)$skiptoken=page""#)
                default: (Self.people[..<1], #""@odata.context":"x""#)
                }
            let body = #"{"value":[\#(people.joined(separator: ","))],\#(link)}"#
            return LoopbackResponse(status: 200, fields: ["Content-Type": "application/json"], body: Data(body.utf8))
        }
    }

    private let service: Service

    init() throws { service = try Service() }

    private func signedIn() async throws -> Terminal {
        let terminal = try await Terminal()
        try terminal.write(
            settings: terminal.nested.replacingOccurrences(of: "\(terminal.provider.graphBase)", with: service.base))
        #expect(await terminal.run("sign-in").status == 0)
        return terminal
    }

    private func copies(_ terminal: Terminal) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: terminal.store.path).filter { $0.hasPrefix("people-") }
    }

    @Test func `search and show use the offline copy, even if the directory is unavailable`() async throws {
        let terminal = try await signedIn()
        let none = await terminal.run("search", "ada", "--offline")
        #expect(
            none.status == 1 && none.errors.contains("hint: to download the directory, run: lodge sync"),
            "\(none.errors)")
        #expect(await terminal.run("sync").status == 0)
        service.isDown.withLock { $0 = true }
        let found = await terminal.run("search", "Ada", "--offline", "--output", "jsonl", "--fields", "id,displayName")
        #expect(found.status == 0, "\(found.errors)")
        #expect(found.lines.map { $0.contains(#""id":"1""#) || $0.contains(#""id":"2""#) } == [true, true])
        let both = await terminal.run("search", "--given-name", "Ada", "--surname", "Love", "--offline")
        #expect(both.lines.count == 2 && both.output.contains("Ada Lovelace"))
        #expect(await terminal.run("search", "zzz", "--offline").status == 3)
        let shown = await terminal.run("show", "ada@contoso.example", "--offline")
        #expect(shown.status == 0 && shown.output.contains("Engineer"), "\(shown.errors)")
        let named = await terminal.run("show", "ada lovelace", "--offline")
        #expect(named.status == 0 && named.output == shown.output, "\(named.errors)")
        #expect(await terminal.run("show", "nobody@contoso.example", "--offline").status == 3)
        let photo = await terminal.run("show", "ada@contoso.example", "--offline", "--manager")
        #expect(photo.status == 2 && photo.errors.contains("--offline and --manager"))
        let number = await terminal.run("search", "ada", "--count", "--limit", "0", "--offline")
        #expect(number.status == 0 && number.output == "2\n", "\(number.errors)")
        let words = await terminal.run("search", "--search", "love ada", "--offline", "--fields", "id", "-o", "jsonl")
        #expect(words.status == 0 && words.lines.count == 1, "\(words.errors)")
        let empty = await terminal.run("search", "zzz", "--offline")
        #expect(
            empty.errors == """
                No user in the offline copy has a name or address that starts with "zzz".
                hint: to search the directory, run: lodge search zzz

                """)
        for options in [["--order", "displayName"], ["--filter", "true"], ["--fields", "manager.displayName"]] {
            let refused = await terminal.run(words: ["search", "ada", "--offline"] + options)
            #expect(refused.status == 2 && refused.errors.contains("the offline copy cannot run this search"))
            #expect(refused.errors.contains("hint: to search the directory, omit --offline"), "\(refused.errors)")
        }
    }

    @Test func `a search plans its query once, in the directory and in the offline copy`() async throws {
        let terminal = try await signedIn()
        #expect(await terminal.run("sync").status == 0)
        for words in [["search", "ada"], ["search", "ada", "--offline"], ["search", "ada", "--explain"]] {
            let plans = Mutex(0)
            let found = await QueryPlan.$observer.withValue({ plans.withLock { $0 += 1 } }) {
                await terminal.run(words: words)
            }
            #expect(found.status == 0 && plans.withLock { $0 } == 1, "\(words) \(found.errors)")
        }
    }

    @Test func `an incomplete offline copy is reported, and an empty one is not kept`() async throws {
        let terminal = try await signedIn()
        service.refusesSecondPage.withLock { $0 = true }
        #expect(await terminal.run("sync").status != 0)
        for words in [["search", "ada", "--offline"], ["search", "-o", "mutt", "ada", "--offline"]] {
            let found = await terminal.run(words: words)
            #expect(found.status == 0 && found.output.contains("Ada Lovelace"))
            #expect(
                found.errors.contains("not complete. To complete it, run: lodge sync\n"), "\(words) \(found.errors)")
        }
        service.isDown.withLock { $0 = true }
        let fallback = await terminal.run("search", "-o", "mutt", "ada")
        #expect(fallback.status == 0 && fallback.errors.contains("not complete."), "\(fallback.errors)")
        #expect(await terminal.run("sync", "--forget").status == 0)
        let failed = await terminal.run("sync", "--timeout", "3")
        // On a busy machine the time can end during a request instead of before the next one.
        #expect([6, 7].contains(failed.status), "\(failed.errors)")
        #expect(try copies(terminal).isEmpty)
        let query = await terminal.run("search", "-o", "mutt", "ada")
        #expect(query.status == 6 && query.output.isEmpty, "\(query.errors)")
    }

    @Test func `sync without the permission names it in the error`() async throws {
        let terminal = try await Terminal()
        #expect(await terminal.run("sign-in").status == 0)
        let refused = await terminal.run("sync")
        #expect(
            refused.status == 5 && refused.errors.contains("User.Read.All or Directory.Read.All")
                && refused.errors.contains("run: lodge sign-in local --add-scope User.Read.All\n"), "\(refused.errors)")
        let search = await terminal.run("search", "ada", "--offline")
        #expect(
            search.status == 1 && search.errors.contains("hint: to download the directory, run: lodge sync"),
            "\(search.errors)")
        #expect(await terminal.run("sign-in", "local", "--add-scope", "User.Read.All").status == 0)
        let synced = await terminal.run("sync")
        #expect(
            synced.status == 0 && synced.errors.contains("The offline copy of ada@contoso.example has "),
            "\(synced.errors)")
        let found = await terminal.run("search", "ada", "--offline")
        #expect(found.output == (await terminal.run("search", "ada")).output && found.errors.isEmpty)
    }

    @Test func `sync downloads all users, status shows the copy, and --forget removes it`() async throws {
        let terminal = try await signedIn()
        let first = await terminal.run("sync")
        #expect(first.status == 0 && first.output.isEmpty)
        #expect(first.errors == "The offline copy of ada@contoso.example has 3 users: 3 new or changed, 0 removed.\n")
        let second = await terminal.run("sync", "--output", "json")
        let object = try #require(try JSONValue(parsing: second.output).object)
        #expect(object["people"]?.number?.int64 == 3 && object["changed"]?.number?.int64 == 0)
        let status = await terminal.run("status")
        #expect(status.output.contains("Offline\tada@contoso.example: 3 users in clear text in "))
        let json = try #require(try JSONValue(parsing: await terminal.run("status", "--output", "json").output).object)
        #expect(json["offline"]?.array?.first?.object?["people"]?.number?.int64 == 3)
        #expect(await terminal.run("sync", "--forget").errors == "The offline copy was overwritten and removed.\n")
        #expect(try copies(terminal).isEmpty)
        #expect(await terminal.run("sync", "--forget").errors == "There was no offline copy.\n")
        #expect(await !terminal.run("status").output.contains("Offline"))
    }

    @Test func `sync --properties selects the requested properties`() async throws {
        let terminal = try await signedIn()
        #expect(await terminal.run("sync", "--properties", "displayName, mail", "--limit", "1000").status == 0)
        #expect(service.targets.withLock { $0.first } == "/v1.0/users/delta?$select=displayName%2Cmail")
        for words in [
            ["sync", "--properties", ","], ["sync", "--properties", "a b&c"], ["sync", "--all"],
            ["sync", "--forget", "--properties", "mail"],
        ] {
            #expect(await terminal.run(words: words).status == 2, "\(words)")
        }
    }

    @Test func `mutt output has a message line and then the users with a mail address`() async throws {
        let terminal = try await signedIn()
        #expect(await terminal.run("sync").status == 0)
        let found = await terminal.run("search", "-o", "mutt", "--offline", "ad")
        #expect(found.output == "1 user\nada@contoso.example\tAda Lovelace\tEngineer · Research\n")
        let named = await terminal.run("search", "--offline", "--upn-as-mail", "-o", "mutt", "ad")
        #expect(
            named.lines == [
                "2 users", "ada@contoso.example\tAda Lovelace\tEngineer · Research",
                "adam@contoso.example\tAdam x Smith\t",
            ])
        let nobody = await terminal.run("search", "-o", "mutt", "--offline", "zz")
        #expect(nobody.status == 3 && nobody.lines.count == 1)
    }

    @Test func `aerc output has only the users, and several words are one query`() async throws {
        let terminal = try await signedIn()
        #expect(await terminal.run("sync").status == 0)
        let found = await terminal.run("search", "--offline", "-o", "aerc", "ada", "lo")
        #expect(found.output == "ada@contoso.example\tAda Lovelace\n")
        let nobody = await terminal.run("search", "--offline", "-o", "aerc", "ada", "zz")
        #expect(nobody.status == 3 && nobody.output.isEmpty)
        #expect(await terminal.run("search", "-o", "mutt", " ").status == 2)
    }

    @Test func `search falls back to the offline copy if the directory is unreachable`() async throws {
        let terminal = try await signedIn()
        let online = await terminal.run("search", "-o", "mutt", "ada")
        #expect(online.lines.count == 2 && online.errors.isEmpty)
        service.isDown.withLock { $0 = true }
        #expect(await terminal.run("search", "-o", "mutt", "ada").status == 6)
        service.isDown.withLock { $0 = false }
        #expect(await terminal.run("sync").status == 0)
        service.isDown.withLock { $0 = true }
        let copied = await terminal.run("search", "-o", "mutt", "ada")
        #expect(copied.status == 0 && copied.output == online.output && copied.errors.contains("offline copy"))
    }

    @Test func `an offline search without a copy suggests lodge sync`() async throws {
        let terminal = try await signedIn()
        let missing = await terminal.run("search", "-o", "mutt", "--offline", "ada")
        #expect(missing.status == 1 && missing.errors.contains("hint: to download the directory, run: lodge sync\n"))
    }

    @Test(arguments: [["sign-out", "--local"], ["accounts", "remove", "ada@contoso.example"]])
    func `removing the account removes its offline copy`(_ words: [String]) async throws {
        let terminal = try await signedIn()
        #expect(await terminal.run("sync").status == 0)
        #expect(try !copies(terminal).isEmpty)
        let removed = await terminal.run(words: words)
        #expect(removed.status == 0 && removed.errors.contains("The offline copy of ada@contoso.example"))
        #expect(try copies(terminal).isEmpty)
    }

    @Test func `the offline copy of a removed account is reported and can be removed`() async throws {
        let terminal = try await signedIn()
        #expect(await terminal.run("sync").status == 0)
        let name = try #require(try copies(terminal).first)
        try FileManager.default.moveItem(
            at: terminal.store.appending(path: name), to: terminal.store.appending(path: "people-gone.sqlite"))
        #expect(await terminal.run("status").output.contains("lodge sync --forget --all"))
        #expect(await terminal.run("sync", "--forget", "--all").status == 0)
        #expect(try copies(terminal).isEmpty)
    }
}
