import Foundation
import HTTPExchange
import OAuth2AccountStore
import StrictJSON
import Synchronization
import Testing

@testable import DirectorySearch

@Suite struct DirectorySyncTests {
    let store = TestStore()
    let service = DeltaService()

    private func fill(_ count: Int) {
        for number in 0..<count { service.person("id-\(1000 + number)", "Given\(number)", "Sur\(number)") }
    }

    @Test func `the first sync lists all users and later syncs only load changes`() async throws {
        fill(8)
        let first = try await store.sync(service).run()
        #expect(first.users == 8 && first.changed == 8 && first.pages == 3 && first.phase == .current)
        service.put("id-1002", ["displayName": "Someone Else"])
        service.remove("id-1003")
        let second = try await store.sync(service).run()
        #expect(second.users == 7 && second.changed == 1 && second.removed == 1 && second.pages == 1)
        let everybody = try await store.everybody()
        #expect(everybody.count == 7 && everybody["id-1002"]?.displayName == "Someone Else")
        #expect(everybody["id-1002"]?.givenName == "Given2")
        let summary = try #require(try await store.index.summary())
        #expect(summary.users == 7 && !summary.isListing && summary.completed == testNow && summary.size > 0)
        #expect(summary.properties == UserQuery.defaultProperties)
    }

    @Test func `requests select the properties, preserve link URLs and send Prefer`() async throws {
        fill(4)
        try await store.sync(service, ["displayName", "mail"]).run()
        try await store.sync(service).run()
        let requests = service.requests
        #expect(requests[0].url.absoluteString == "\(graph)/users/delta?$select=displayName%2Cmail")
        #expect(requests[1].url.absoluteString == "\(graph)/users/delta?$skiptoken=list-4--id-1002")
        #expect(requests[2].url.absoluteString == "\(graph)/users/delta?$deltatoken=log-4--0")
        #expect(
            requests.map { $0.fields["Prefer"] } == [
                nil, nil, "return=minimal",
            ])
    }

    @Test func `the offline copy contains only the selected properties`() async throws {
        service.person("a", "Ada", "Lovelace", ["jobTitle": "Engineer", "@odata.type": "#microsoft.graph.user"])
        try await store.sync(service, ["givenName", "mail"]).run()
        let user = try #require(try await store.everybody()["a"])
        #expect(Set(user.json.members.map(\.name)) == ["id", "givenName", "mail"])
        let bytes = try Data(contentsOf: URL(filePath: store.index.path))
        #expect(bytes.range(of: Data("Engineer".utf8)) == nil && bytes.range(of: Data("Ada".utf8)) != nil)
    }

    @Test func `an interrupted sync resumes at any step`() async throws {
        fill(10)
        // A new value for each step, as after the process was killed.
        var phases: [DirectorySync.Progress.Phase] = []
        for _ in 0..<100 {
            let phase = try await store.sync(service).step().phase
            phases.append(phase)
            if phase == .current { break }
        }
        #expect(phases.last == .current && phases.filter { $0 == .listing }.count == 3)
        #expect(service.requests.count == 4)
        #expect(try await store.everybody().count == 10)
        for number in 0..<7 { service.put("id-\(1000 + number)", ["jobTitle": .string("T\(number)")]) }
        #expect(try await store.sync(service).step().phase == .changes)
        let rest = try await store.sync(service).run()
        // Two pages of the interrupted sync, and one with the changes since then.
        #expect(rest.changed == 4 && rest.pages == 3)
        #expect(try await store.everybody()["id-1006"]?.jobTitle == "T6")
    }

    @Test func `an expired delta token starts a full sync and removes deleted users`()
        async throws
    {
        fill(7)
        try await store.sync(service).run()
        service.remove("id-1001")
        service.person("id-2000", "New", "Comer")
        service.state.withLock { $0.oldestToken = $0.log.count }
        let sync = try store.sync(service)
        let restarted = try await sync.step()
        #expect(restarted.restarts == 1 && restarted.phase == .listing)
        // Until the new list is complete, the copy keeps all users.
        #expect(try await store.everybody().count == 7)
        #expect(try await store.index.summary()?.isListing == true)
        let done = try await sync.run()
        #expect(done.users == 7 && done.removed == 1 && done.changed == 1)
        let everybody = try await store.everybody()
        #expect(everybody["id-1001"] == nil && everybody["id-2000"] != nil)
        #expect(try await store.offline.users(typed: "given1").isEmpty)
    }

    @Test(arguments: ["syncStateNotFound", "resyncRequired", "Directory_ExpiredPageToken"])
    func `a 400 with the code of an expired token also starts a full sync`(_ code: String) async throws {
        fill(2)
        try await store.sync(service).run()
        service.state.withLock { $0.failures = [.failure(400, code: code)] }
        #expect(try await store.sync(service).run().restarts == 1)
    }

    @Test func `a sync stops if the service rejects every token`() async throws {
        fill(8)
        service.state.withLock { $0.oldestToken = .max }
        let kind = try await failure { try await store.sync(service).run() }?.kind
        #expect(kind == .resyncNeeded)
        #expect(service.requests.count < 20)
    }

    @Test func `a list that expires midway starts again`() async throws {
        fill(8)
        #expect(try await store.sync(service).step().phase == .listing)
        service.put("id-1000", ["jobTitle": "Boss"])
        service.state.withLock { $0.oldestToken = $0.log.count }
        let done = try await store.sync(service).run()
        #expect(done.restarts == 1 && done.users == 8)
        #expect(try await store.everybody()["id-1000"]?.jobTitle == "Boss")
    }

    @Test func `different properties start a full sync, but a different order does not`() async throws {
        service.person("a", "Ada", "Lovelace", ["jobTitle": "Engineer"])
        try await store.sync(service, ["givenName", "jobTitle"]).run()
        try await store.sync(service, ["jobTitle", "givenName"]).run()
        #expect(service.requests.count == 2)
        try await store.sync(service, ["surname"]).run()
        #expect(service.requests.last?.url.absoluteString == "\(graph)/users/delta?$select=surname")
        let user = try #require(try await store.everybody()["a"])
        #expect(user.surname == "Lovelace" && user.json["jobTitle"] == nil)
        #expect(try await store.index.summary()?.properties == ["surname"])
    }

    @Test func `a sync with rejected properties keeps the old copy`() async throws {
        service.person("a", "Ada", "Lovelace")
        try await store.sync(service, ["givenName"]).run()
        service.state.withLock { $0.failures = [.failure(400)] }
        #expect(try await failure { try await store.sync(service, ["givenName", "mial"]).run() } != nil)
        let summary = try #require(try await store.index.summary())
        #expect(summary.properties == ["givenName"] && !summary.isListing && summary.completed == testNow)
        service.put("a", ["givenName": "Augusta"])
        let next = try await store.sync(service).run()
        #expect(next.changed == 1 && next.pages == 1)
        #expect(service.requests.last?.url.absoluteString.contains("$deltatoken=") == true)
    }

    @Test func `a first sync that is denied leaves no copy`() async throws {
        fill(5)
        service.state.withLock { $0.failures = [.failure(403)] }
        #expect(try await failure { try await store.sync(service).run() } != nil)
        #expect(try await store.index.summary() == nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: store.directory.path).isEmpty)
        // After the first page, a failed sync keeps the users.
        let sync = try store.sync(service)
        _ = try await sync.step()
        service.state.withLock { $0.failures = [.failure(403)] }
        #expect(try await failure { try await sync.step() } != nil)
        #expect(try await store.index.summary()?.users == 3)
        #expect(try await store.sync(service).run().users == 5)
    }

    @Test func `changes merge with the stored user, and null clears a property`() async throws {
        service.person("a", "Ada", "Lovelace", ["jobTitle": "Engineer"])
        try await store.sync(service).run()
        let link = #""@odata.deltaLink":"\#(graph)/users/delta?$deltatoken=log-1--0""#
        service.state.withLock {
            $0.failures = [.json(#"{"value":[{"id":"a","surname":"King"},{"id":"a","jobTitle":null}],\#(link)}"#)]
        }
        try await store.sync(service).run()
        let user = try #require(try await store.everybody()["a"])
        #expect(user.givenName == "Ada" && user.surname == "King" && user.jobTitle == nil)
        #expect(user.json["jobTitle"] == .null)
        #expect(try await store.offline.users(typed: "king").count == 1)
        #expect(try await store.offline.users(matching: .surname(startsWith: "love"), limit: 9).isEmpty)
    }

    @Test func `a sync drops a page that another process saved first`() async throws {
        fill(9)
        let other = try store.sync(service)
        let first = try store.sync(service)
        _ = try await first.step()
        // Both request the second page, and the other process saves it first.
        let (store, service) = (store, service)
        let once = Mutex(false)
        let gate = AsyncGate()
        let slow = GraphDirectory(makeClient: {
            var client = try service.client()
            let inner = client.transport
            client.transport = Held(inner: inner) {
                guard
                    !once.withLock({ done in
                        defer { done = true }; return done
                    })
                else { return }
                try await other.run()
                await gate.open()
            }
            return client
        })
        let late = DirectorySync(of: slow, account: store.account, in: store.directory)
        _ = try await late.step()
        await gate.wait()
        let done = try await late.run()
        #expect(done.users == 9)
        #expect(try await store.everybody().count == 9)
    }

    @Test func `a sign-out during a sync leaves no files`() async throws {
        fill(9)
        let (store, service) = (store, service)
        let directory = GraphDirectory(makeClient: {
            var client = try service.client()
            client.transport = Held(inner: client.transport) {
                try await OfflineIndex.forget(account: store.account, in: store.directory)
            }
            return client
        })
        let sync = DirectorySync(of: directory, account: store.account, in: store.directory)
        #expect(try await offlineFailure { try await sync.run() } == .forgotten)
        #expect(try FileManager.default.contentsOfDirectory(atPath: store.directory.path).isEmpty)
    }

    @Test func `invalid delta responses save no changes`() async throws {
        fill(2)
        try await store.sync(service).run()
        let next = #""@odata.nextLink":"\#(graph)/users/delta?$skiptoken=x""#
        let bad = [
            "[]", "{}", #"{"value":{}}"#, #"{"value":[],"@odata.nextLink":7}"#, #"{"value":[]}"#,
            #"{"value":[{"displayName":"x"}],\#(next)}"#, #"{"value":[{"id":""}],\#(next)}"#,
            #"{"value":[7],\#(next)}"#,
            #"{"value":[{"id":"a\u0000b"}],\#(next)}"#, "nothing",
            #"{"value":[{"id":"z"}],"@odata.deltaLink":"https://evil.example/v1.0/users/delta?x"}"#,
            #"{"value":[{"id":"z"}],"@odata.nextLink":"http://graph.microsoft.com/v1.0/users/delta?x"}"#,
        ]
        for text in bad {
            service.state.withLock { $0.failures = [.json(text)] }
            let kind = try await failure { try await store.sync(service).run() }?.kind
            switch kind {
            case .unreadable, .foreignNextLink: break
            default: Issue.record("\(text) gave \(String(describing: kind))")
            }
        }
        #expect(try await store.sync(service).run().users == 2)
    }

    @Test func `a sync stops after repeated pages`() async throws {
        service.state.withLock {
            $0.failures = Array(
                repeating: .json(
                    #"{"value":[],"@odata.nextLink":"\#(graph)/users/delta?$skiptoken=round"}"#), count: 5)
        }
        #expect(try await failure { try await store.sync(service).run() }?.kind == .endlessPages)
    }

    @Test func `a directory with more users than the limit is an error, and the old copy remains`() async throws {
        fill(6)
        try await store.sync(service).run()
        let before = try await store.everybody()
        service.state.withLock { $0.oldestToken = $0.log.count + 1 }
        for number in 0..<40 { service.person("new-\(1000 + number)", "New\(number)", "User") }
        let error = try await failure { try await store.sync(service, maximumUsers: 8).run() }
        #expect(error?.kind == .copyTooLarge(maximumUsers: 8) && error?.remedy == .raiseLimit(users: 8))
        let after = try await store.everybody()
        #expect(before.allSatisfy { after[$0.key]?.displayName == $0.value.displayName })
        #expect(after.count < 40)
        // The higher limit continues where the sync stopped.
        #expect(try await store.sync(service, maximumUsers: 46).run().users == 46)
    }

    @Test func `changes that do not end are an error`() async throws {
        fill(2)
        try await store.sync(service).run()
        let number = Log<Int>()
        service.state.withLock {
            $0.makeFailure = {
                number.append(1)
                let count = number.all.count
                return .json(
                    #"{"value":[{"id":"id-1000","displayName":"\#(count)"}],"@odata.nextLink":"\#(graph)/d?\#(count)"}"#
                )
            }
        }
        let error = try await failure { try await store.sync(service, maximumUsers: 50).run() }
        #expect(error?.kind == .copyTooLarge(maximumUsers: 50))
        #expect(number.all.count == 100)
    }

    @Test func `oversized users are an error at the size limit of the copy`() async throws {
        let number = Log<Int>()
        let large = String(repeating: "x", count: 4 << 20)
        service.state.withLock {
            $0.makeFailure = {
                number.append(1)
                let count = number.all.count
                return .json(
                    #"{"value":[{"id":"\#(count)","displayName":"\#(large)"}],"@odata.nextLink":"\#(graph)/d?\#(count)"}"#
                )
            }
        }
        let error = try await failure { try await store.sync(service, maximumUsers: 100).run() }
        #expect(error?.kind == .copyTooLarge(maximumUsers: 100))
        #expect(number.all.count <= 18)
    }

    @Test func `a sync does not resume from the response to a retried request`() async throws {
        fill(5)
        service.state.withLock { $0.failures = [.failure(503)] }
        let done = try await store.sync(service).run()
        #expect(done.users == 5 && done.pages == 2)
        // Failed, succeeded after a retry, succeeded without one; then the second page.
        #expect(service.requests.map { $0.fields["Retry-Attempt"] } == [nil, "1", nil, nil])
    }

    @Test func `a sync rejects invalid properties before it creates a copy`() async throws {
        for properties in [[], ["given name"], ["a&b"]] {
            let error = try await failure { try await store.sync(service, properties).run() }
            guard case .invalidQuery? = error?.kind else { throw Unexpected() }
        }
        #expect(service.requests.isEmpty)
        #expect(!FileManager.default.fileExists(atPath: store.directory.path))
    }

    @Test func `any sequence of changes, interruptions and full syncs ends with the service's users`() async throws {
        var random = Seeded(state: 7)
        let names = ["Ada", "Ünal", "李", "O'Brien", "Jean-Luc", "Åse", "Zoë", "de la Cruz"]
        for round in 0..<40 {
            for _ in 0..<Int.random(in: 0...6, using: &random) {
                let id = "id-\(Int.random(in: 10...40, using: &random))"
                if Int.random(in: 0..<4, using: &random) == 0 {
                    service.remove(id)
                } else {
                    let given = names.randomElement(using: &random) ?? ""
                    service.person(
                        id, given, names.randomElement(using: &random) ?? "", ["jobTitle": .string("\(round)")])
                }
            }
            if Int.random(in: 0..<5, using: &random) == 0 {
                service.state.withLock { $0.oldestToken = $0.log.count }
            }
            let sync = try store.sync(service)
            for _ in 0..<Int.random(in: 0...4, using: &random) { _ = try await sync.step() }
        }
        try await store.sync(service).run()
        let expected = service.state.withLock { $0.people }
        let everybody = try await store.everybody()
        #expect(Set(everybody.keys) == Set(expected.keys))
        #expect(try await store.index.summary()?.users == expected.count)
        for (id, person) in expected {
            #expect(everybody[id]?.displayName == person["displayName"]?.string)
            #expect(everybody[id]?.jobTitle == person["jobTitle"]?.string)
        }
        // The word index contains each user once and no deleted user.
        for name in names {
            let found = try await store.offline.users(matching: .givenName(startsWith: name), limit: 1000)
            let all = expected.filter { $0.value["givenName"]?.string == name }
            #expect(Set(found.compactMap(\.id)) == Set(all.keys), "\(name)")
        }
    }

    struct Unexpected: Error {}

    struct Seeded: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ (state >> 29)
        }
    }

    /// A transport that runs a closure before each request.
    struct Held: HTTPTransport {
        let inner: any HTTPTransport
        let before: @Sendable () async throws -> Void
        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            try await before()
            return try await inner.send(request)
        }
    }

    actor AsyncGate {
        private var isOpen = false
        private var waiting: [CheckedContinuation<Void, Never>] = []
        func open() {
            isOpen = true
            for one in waiting { one.resume() }
            waiting = []
        }
        func wait() async {
            if isOpen { return }
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    @Test(arguments: [404, 405, 501])
    func `a sync is not supported if the service has no delta query`(status: Int) async throws {
        service.state.withLock { $0.failures = [.failure(status)] }
        let error = try await failure { try await store.sync(service).run() }
        #expect(error?.kind == .notSupported && error?.status == status)
        #expect(try await store.index.summary() == nil)
    }
}
