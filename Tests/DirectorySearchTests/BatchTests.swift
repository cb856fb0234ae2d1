import Foundation
import HTTPExchange
import StrictJSON
import Testing

@testable import DirectorySearch

/// Creates a transport that responds to each batch item with the closure's result for its target.
private func answering(
    _ items: @escaping @Sendable (_ target: String, _ attempt: Int) -> String?
) -> ScriptedTransport {
    let asked = Log<String>()
    return ScriptedTransport { request in
        let answers = ((try? batchTargets(request)) ?? []).reversed().compactMap { id, target in
            asked.append(target)
            return items(target, asked.all.filter { $0 == target }.count).map { #"{"id":"\#(id)",\#($0)}"# }
        }
        return .json(#"{"responses":[\#(answers.joined(separator: ","))]}"#)
    }
}

private let claims = #"{"access_token":{"nbf":{"essential":true,"value":"1700000000"}}}"#
private let challenged =
    ##""status":401,"headers":{"WWW-Authenticate":"Bearer realm=\"\", error=\"insufficient_claims\", claims=\""##
    + Data(claims.utf8).base64EncodedString() + ##"\""},"body":{"error":{"code":"InvalidAuthenticationToken"}}"##

@Suite struct BatchTests {
    @Test func `batch returns parts of one type in order and sends 20 per request`() async throws {
        let transport = answering { target, _ in
            target.contains("/7?")
                ? #""status":404,"body":{"error":{"code":"Request_ResourceNotFound"}}"#
                : #""status":200,"body":{"id":"\#(target.split { $0 == "/" || $0 == "?" }[1])"}"#
        }
        let directory = GraphDirectory(client: try client(transport))
        let names = (0..<45).map { "\($0)" }
        let found = try await directory.batch(names.map { .user($0, select: ["id"]) })
        #expect(transport.requests.count == 3)
        for (name, result) in zip(names, found) {
            switch result {
            case .success(let user): #expect(user.id == name)
            case .failure(let error): #expect(name == "7" && error.kind == .notFound)
            }
        }
        #expect(try await directory.batch([BatchPart<User>]()).isEmpty)
        #expect(transport.requests.count == 3)
    }

    @Test func `batch sends parts of different types in one request`() async throws {
        let transport = answering { target, _ in
            if target.hasPrefix("/users/$count") { return #""status":200,"body":"893""# }
            if target.hasSuffix("/photo/$value") {
                return #""status":200,"headers":{"Content-Type":"image/jpeg"},"body":"/9g=""#
            }
            if target.contains("mailboxSettings") { return #""status":200,"body":{"timeZone":"UTC"}"# }
            if target.contains("/manager") { return #""status":403,"body":{"error":{"code":"x"}}"# }
            return target.hasPrefix("/users?")
                ? #""status":200,"body":{"value":[{"id":"1"},{"id":"2"}],"@odata.nextLink":"n"}"#
                : #""status":200,"body":{"id":"1"}"#
        }
        let directory = GraphDirectory(client: try client(transport))
        let zone = BatchPart(get: ["users", "a/ü?", "mailboxSettings"], options: ["$select": "timeZone"]) { answer in
            try JSONValue(parsing: answer.body).object?["timeZone"]?.string
        }
        let everybody = UserQuery.everyone(select: ["id"])
        let (person, manager, number, page, photo, time, nobody) = try await directory.batch(
            .user("1"), .manager(of: "1"), .count(of: UserQuery(.department(startsWith: "Sales"))),
            .page(of: everybody),
            .photo(of: "1"), zone, .user(""))
        #expect(try person.get().id == "1")
        #expect(throws: DirectoryError.self) { try manager.get() }
        #expect(try number.get() == 893)
        #expect(try page.get().users.count == 2 && page.get().hasMore)
        #expect(try photo.get() == UserPhoto(bytes: Data([0xFF, 0xD8]), mediaType: "image/jpeg"))
        #expect(try time.get() == "UTC")
        #expect(throws: DirectoryError(.emptySearch)) { try nobody.get() }
        #expect(transport.requests.count == 1)
        let targets = try batchTargets(transport.requests[0])
        #expect(targets.count == 6, "an invalid part is not sent")
        #expect(targets[5].target == "/users/a%2F%C3%BC%3F/mailboxSettings?$select=timeZone")
    }

    @Test func `the client passes an item's claims challenge to the authorization and retries the item`() async throws {
        let demands = Log<TokenRequirement>()
        let transport = answering { target, attempt in
            target.contains("/2?") && attempt == 1 ? challenged : #""status":200,"body":{"id":"x"}"#
        }
        let client = try client(transport) { demand in
            demands.append(demand)
            if case .claims = demand { return "new" }
            return "old"
        }
        let found = try await GraphDirectory(client: client).batch([.user("1"), .user("2")])
        #expect(found.allSatisfy { (try? $0.get()) != nil })
        #expect(demands.all == [.current, .claims(claims, rejected: "old")])
        #expect(transport.tokens == ["Bearer old", "Bearer new"])
        #expect(try batchTargets(transport.requests[1]).map(\.id) == ["1"])
    }

    @Test func `an item whose claims require a sign-in fails with those claims`() async throws {
        let transport = answering { target, _ in
            target.contains("/2?") ? challenged : #""status":200,"body":{"id":"x"}"#
        }
        let client = try client(transport) { demand in
            if case .claims(let claims, _) = demand { throw DirectoryError(.signInNeeded(claims: claims)) }
            return "old"
        }
        let directory = GraphDirectory(client: client)
        let found = try await directory.batch([.user("1"), .user("2"), .user("3")])
        #expect((try? found[0].get()) != nil && (try? found[2].get()) != nil)
        #expect(throws: DirectoryError.self) { try found[1].get() }
        if case .failure(let error) = found[1] { #expect(error.kind == .signInNeeded(claims: claims)) }
        #expect(transport.requests.count == 1)
        // A lookup of many names stops here: every other name would fail the same way.
        let error = try await failure { try await directory.lookUp(["1", "2", "3"]).collected() }
        #expect(error?.kind == .signInNeeded(claims: claims))
    }

    @Test func `a batch retries throttled items within one budget, except those with a long Retry-After`() async throws
    {
        let waits = Log<Duration>()
        let transport = answering { target, attempt in
            if target.contains("/1?"), attempt == 1 { return #""status":503,"headers":{"Retry-After":"4"}"# }
            if target.contains("/2?") { return #""status":429,"headers":{"Retry-After":"3600"}"# }
            if target.contains("/3?") { return #""status":504"# }
            return #""status":200,"body":{"id":"x"}"#
        }
        var client = try client(transport, waits: waits)
        // The test clock does not advance, so an adaptive rate limiter would add waits.
        client.rateLimiter = RateLimiter(unitsPerTenSeconds: 1000)
        let directory = GraphDirectory(client: client)
        let found = try await directory.batch((0..<4).map { .user("\($0)") })
        #expect((try? found[0].get()) != nil && (try? found[1].get()) != nil)
        guard case .failure(let late) = found[2], case .failure(let gateway) = found[3] else {
            Issue.record("\(found)")
            return
        }
        #expect(late.kind == .throttled && late.retryAfter == .seconds(3600))
        #expect(gateway.kind == .unavailable && gateway.status == 504)
        #expect(
            try transport.requests.map { try batchTargets($0).map(\.id) } == [
                ["0", "1", "2", "3"], ["1", "3"], ["3"], ["3"],
            ])
        #expect(waits.all == [.seconds(4), .seconds(6), .seconds(12)])
    }

    @Test func `a missing response item fails only its part`() async throws {
        let transport = answering { target, _ in
            target.contains("/1?") ? nil : #""status":200,"body":{"id":"x"}"#
        }
        let directory = GraphDirectory(client: try client(transport))
        let found = try await directory.batch([.user("0"), .user("1"), .user("2")])
        #expect(found.map { (try? $0.get()) != nil } == [true, false, true])
        guard case .failure(let error) = found[1], case .unreadable = error.kind else {
            Issue.record("\(found[1])")
            return
        }
    }

    @Test func `a response that the part's closure cannot read is unreadable`() async throws {
        struct Strange: Error {}
        let transport = answering { _, _ in #""status":200,"body":{"a":1}"# }
        let directory = GraphDirectory(client: try client(transport))
        let found = try await directory.batch([
            BatchPart<Int>(get: ["a"]) { _ in throw Strange() },
            BatchPart<Int>(get: ["a"]) { _ in throw DirectoryError(.ambiguous) },
            BatchPart<Int>(get: []) { _ in 1 }, BatchPart<Int>(get: ["..", "beta"]) { _ in 1 },
        ])
        let kinds = found.map { result in
            if case .failure(let error) = result { error.kind } else { DirectoryError.Kind.notFound }
        }
        guard case .unreadable = kinds[0], case .invalidQuery = kinds[2], case .invalidQuery = kinds[3] else {
            Issue.record("\(kinds)")
            return
        }
        #expect(kinds[1] == .ambiguous)
        #expect(try await directory.batch([BatchPart(get: ["a"])])[0].get() == ["a": 1])
    }

    @Test func `a cancelled batch ends with CancellationError`() async throws {
        let transport = answering { _, _ in #""status":429,"headers":{"Retry-After":"1"}"# }
        var client = try client(transport)
        client.sleep = { try await Task.sleep(for: $0 * 10_000) }
        client.retry.maximumDelay = .seconds(1_000_000)
        let directory = GraphDirectory(client: client)
        let task = Task { try await directory.batch([.user("1")]) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test(arguments: [404, 405, 501])
    func `a service without $batch receives single requests`(status: Int) async throws {
        let transport = ScriptedTransport { request in
            let target = request.url.absoluteString
            if target.hasSuffix("/$batch") { return .failure(status) }
            if target.contains("/users?") { return .page(target.contains("mail%40x") ? ["m"] : []) }
            if target.contains("/users/a?") { return .json(#"{"id":"a"}"#) }
            return .failure(target.contains("/users/denied?") ? 403 : 404)
        }
        let directory = GraphDirectory(client: try client(transport))
        let found = try await directory.lookUp(["a", "nobody", "mail@x", "denied"], select: ["id"]).collected()
        #expect(found.map(\.name) == ["a", "nobody", "mail@x", "denied"])
        func kind(_ index: Int) -> DirectoryError.Kind? {
            if case .failure(let error) = found[index].result { error.kind } else { nil }
        }
        #expect(try found[0].result.get().id == "a" && found[2].result.get().id == "m")
        #expect(kind(1) == .notFound)
        guard case .notPermitted? = kind(3) else {
            Issue.record("\(found[3])")
            return
        }
        // Two batches, four users and one mail address.
        #expect(transport.requests.count == 7)
        let detail = try await directory.detail(of: "a", select: ["id"], parts: [.manager])
        #expect(detail.user.id == "a" && detail.manager == .none)
    }

    @Test func `a rejected token ends the single requests to a service without $batch`() async throws {
        let transport = ScriptedTransport { request in
            .failure(request.url.absoluteString.hasSuffix("/$batch") ? 404 : 401)
        }
        let directory = GraphDirectory(client: try client(transport))
        let error = try await failure { try await directory.lookUp(["1", "2", "3"]).collected() }
        #expect(error?.kind == .signInNeeded(claims: nil))
        // The batch, and one user.
        #expect(transport.requests.count == 2)
    }
}
