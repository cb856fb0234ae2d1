import Foundation
import HTTPExchange
import LoopbackHTTP
import StrictJSON
import Synchronization
import Testing

@testable import CommandLineKit
@testable import lodge

/// `request --paginate` and `request --retry`.
@MainActor @Suite struct RequestPagesTests {
    private let server: ScriptedProvider
    private let terminal: Terminal

    init() async throws {
        server = try ScriptedProvider()
        terminal = try await Terminal()
    }

    private func request(_ words: String...) async -> Terminal.Transcript {
        await terminal.run(words: ["request", "--no-account"] + words)
    }

    @Test func `--paginate follows the link in the content and writes one JSON text per page`() async throws {
        server.answer("/users", #"{"value":[1],"@odata.nextLink":"ISSUER/users2?$skiptoken=a%20b"}"#)
        server.answer("/users2", #"{"value":[2],"@odata.nextLink":"ISSUER/users3"}"#)
        server.answer("/users3", #"{"value":[3]}"#)
        let done = await request("GET", server.issuer + "/users", "--paginate")
        #expect(done.status == 0 && done.lines.count == 3, "\(done)")
        for (line, number) in zip(done.lines, 1...) {
            #expect(try JSONValue(parsing: line).object?["value"]?.array?.first?.number?.int64 == Int64(number))
        }
        #expect(server.requests("/users2").first?.target == "/users2?$skiptoken=a%20b")
        #expect(await request("GET", server.issuer + "/users").lines.count == 1)
    }

    @Test func `--paginate follows the Link header`() async throws {
        let issuer = server.issuer
        server.answer("/repos") { _ in
            LoopbackResponse(
                status: 200, fields: ["Link": "<\(issuer)/last>; rel=\"last\", <\(issuer)/repos2>; rel=\"next\""],
                body: Data("[1]".utf8))
        }
        server.answer("/repos2", "[2]")
        let done = await request("GET", issuer + "/repos", "--paginate")
        #expect(done.status == 0 && done.output == "[1]\n[2]\n", "\(done)")
    }

    @Test func `RequestPages reads the Link header by its relations`() {
        #expect(RequestPages.next(in: "</a>; rel=next") == "/a")
        #expect(RequestPages.next(in: #"</a,b>; title="x"; rel="prev next""#) == "/a,b")
        #expect(RequestPages.next(in: #"</a>; rel="last", </b>; rel="first""#) == nil)
        #expect(RequestPages.next(in: #"</a>; rel="nextone""#) == nil)
        #expect(RequestPages.next(in: "rel=next") == nil && RequestPages.next(in: "<") == nil)
    }

    @Test func `--paginate stops with an error at a link to another server or to a previous page`() async throws {
        server.answer("/a", #"{"@odata.nextLink":"https://evil.example/b"}"#)
        let foreign = await request("GET", server.issuer + "/a", "--paginate")
        #expect(foreign.status == 1 && foreign.errors.contains("evil.example, which must not receive the token"))
        server.answer("/c", #"{"@odata.nextLink":"ISSUER/c"}"#)
        let circle = await request("GET", server.issuer + "/c", "--paginate")
        #expect(circle.status == 1 && circle.errors.contains("form a loop"))
        #expect(server.requests("/c").count == 1)
    }

    @Test func `an error in the middle sets the status after the pages before it`() async throws {
        server.answer("/a", #"{"value":[1],"@odata.nextLink":"ISSUER/b"}"#)
        server.answer("/b", 404, #"{"error":"gone"}"#)
        let done = await request("GET", server.issuer + "/a", "--paginate")
        #expect(done.status == 3 && done.output.hasPrefix(#"{"value":[1]"#) && done.output.contains("gone"))
    }

    @Test func `--paginate requires GET and standard output`() async throws {
        #expect(await request("POST", server.issuer + "/a", "--paginate").status == 2)
        let file = terminal.folder.appending(path: "x").path
        #expect(await request("GET", server.issuer + "/a", "--paginate", "--output", file).status == 2)
    }

    /// Responds with an error some times, then with 200.
    private func fail(_ path: String, _ status: Int, times: Int, after: String? = nil) {
        let count = Mutex(0)
        server.answer(path) { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            guard number <= times else { return LoopbackResponse(status: 200, body: Data("done".utf8)) }
            return LoopbackResponse(status: status, fields: after.map { ["Retry-After": $0] } ?? [:])
        }
    }

    @Test(arguments: [429, 502, 503, 504]) func `--retry sends the request again after its Retry-After`(
        status: Int
    ) async throws {
        fail("/a", status, times: 2, after: "20")
        let done = await request("GET", server.issuer + "/a", "--retry", "3", "--verbose")
        #expect(done.status == 0 && done.output == "done", "\(done)")
        #expect(server.requests("/a").count == 3)
        #expect(done.errors.contains("127.0.0.1 asks to wait 20 s (attempt 2 of 4).\n"))
        #expect(done.errors.contains("127.0.0.1 asks to wait 20 s (attempt 3 of 4).\n"))
    }

    @Test func `without --retry, and after the last retry, the error is the result`() async throws {
        fail("/a", 503, times: 9)
        #expect(await request("GET", server.issuer + "/a").status == 6)
        #expect(server.requests("/a").count == 1)
        #expect(await request("GET", server.issuer + "/a", "--retry", "1").status == 6)
        #expect(server.requests("/a").count == 3)
        #expect(await request("GET", server.issuer + "/a", "--retry", "11").status == 2)
    }

    @Test func `a POST is sent again only if the service did not accept it`() async throws {
        fail("/busy", 429, times: 1)
        let busy = await request("POST", server.issuer + "/busy", "--data", "x", "--retry", "1")
        #expect(busy.status == 0 && server.requests("/busy").map(\.body) == [Data("x".utf8), Data("x".utf8)])
        fail("/gateway", 504, times: 1)
        #expect(await request("POST", server.issuer + "/gateway", "--data", "x", "--retry", "1").status == 6)
        #expect(server.requests("/gateway").count == 1)
    }
}
