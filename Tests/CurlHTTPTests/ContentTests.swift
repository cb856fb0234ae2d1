import Foundation
import CurlHTTP
import HTTPExchange
import Synchronization
import Testing

@Suite struct `Streamed request content` {
    let transport = CurlTransport()
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test(arguments: [0, 1, 65_536, 3_000_001])
    func `a file is sent unchanged with its length`(size: Int) async throws {
        let server = try ScriptedServer { _ in answer() }
        let content = pattern(size)
        let file = try folder.file("a file", content)
        _ = try await transport.send(HTTPRequest(.put, server.url(), content: .file(at: file)))
        let request = try #require(server.requests.first)
        #expect(Data(request.body) == content)
        #expect(request.values("Content-Length") == [String(size)])
        #expect(request.values("Content-Type").isEmpty && request.values("Transfer-Encoding").isEmpty)
    }

    @Test func `bytes, files and file ranges are sent in order`() async throws {
        let server = try ScriptedServer { _ in answer() }
        let content = pattern(2_000_000)
        let file = try folder.file("f", content)
        let body = HTTPBody.joined([
            .bytes(Data("head".utf8)), .file(at: file), .bytes(Data()), .file(at: file, offset: 1_999_990),
            .file(at: file, offset: 5, length: 7), .bytes(Data("tail".utf8)),
        ])
        #expect(try body.length() == 4 + 2_000_000 + 10 + 7 + 4)
        _ = try await transport.send(HTTPRequest(.post, server.url(), content: body))
        let expected = Data("head".utf8) + content + content.suffix(10) + content[5..<12] + Data("tail".utf8)
        #expect(try Data(#require(server.requests.first).body) == expected)
    }

    @Test func `large content in memory is sent`() async throws {
        let server = try ScriptedServer { _ in answer() }
        let content = pattern(2_500_000)
        _ = try await transport.send(HTTPRequest(.patch, server.url(), body: content))
        #expect(try Data(#require(server.requests.first).body) == content)
    }

    @Test func `an unreadable file is an error before the request is sent`() async throws {
        let server = try ScriptedServer { _ in answer() }
        let short = try folder.file("short", Data([1, 2, 3]))
        mkfifo(folder.location("pipe").path, 0o600)
        for content in [
            HTTPBody.file(at: folder.location("missing")), .file(at: folder.url), .file(at: folder.location("pipe")),
            .file(at: short, offset: 4), .file(at: short, offset: 2, length: 2), .file(at: short, offset: -1),
            .joined([.bytes(Data([1])), .file(at: folder.location("missing"))]),
        ] {
            let error = await #expect(throws: HTTPFileError.self) {
                try await transport.send(HTTPRequest(.put, server.url(), content: content))
            }
            #expect(error?.path.hasPrefix(folder.url.path) == true)
        }
        #expect(server.connectionCount == 0)
    }

    @Test func `a file that is truncated during the request is an error`() async throws {
        let file = try folder.file("f", pattern(8_000_000))
        let server = try ScriptedServer { connection, _ in
            connection.accepts = { _ in
                truncate(file.path, 100)
                return true
            }
            _ = connection.readRequest()
        }
        await #expect(throws: HTTPFileError.self) {
            try await transport.send(HTTPRequest(.put, server.url(), content: .file(at: file)))
        }
    }

    @Test(arguments: [nil, Int64(300_000)])
    func `chunks are sent with or without a length`(length: Int64?) async throws {
        let server = try ScriptedServer { _ in answer() }
        let content = pattern(300_000)
        let body = HTTPBody.chunks(length: length) {
            AsyncStream { continuation in
                for start in stride(from: 0, to: 300_000, by: 1000) {
                    continuation.yield(content[start..<start + 1000])
                }
                continuation.finish()
            }
        }
        _ = try await transport.send(HTTPRequest(.post, server.url(), content: body))
        let request = try #require(server.requests.first)
        #expect(Data(request.body) == content)
        #expect(request.values("Content-Length") == (length.map { [String($0)] } ?? []))
        #expect(request.values("Transfer-Encoding") == (length == nil ? ["chunked"] : []))
    }

    @Test func `the transport waits for slow chunks and rethrows their error`() async throws {
        struct Broken: Error {}
        let server = try ScriptedServer { _ in answer() }
        let go = Signal<Int>()
        let body = HTTPBody.chunks {
            AsyncThrowingStream<Data, any Error>(unfolding: {
                switch await go.next() {
                case 1: return Data("one".utf8)
                case 2: return nil
                default: throw Broken()
                }
            })
        }
        for number in [1, 1, 2] { go.send(number) }
        _ = try await transport.send(HTTPRequest(.post, server.url(), content: body))
        #expect(server.requests.map { String(decoding: $0.body, as: UTF8.self) } == ["oneone"])
        for number in [1, 3] { go.send(number) }
        await #expect(throws: Broken.self) {
            try await transport.send(HTTPRequest(.post, server.url(), content: body))
        }
    }

    @Test(arguments: [2, 4])
    func `chunks that differ from the announced length are an invalid request`(length: Int64) async throws {
        let server = try ScriptedServer { _ in answer() }
        let body = HTTPBody.chunks(length: length) {
            AsyncStream(Data.self) {
                $0.yield(Data("abc".utf8)); $0.finish()
            }
        }
        #expect(await failure(transport, HTTPRequest(.put, server.url(), content: body))?.kind == .invalidRequest)
    }

    @Test func `a server that does not read suspends the producer of chunks`() async throws {
        let stop = Signal<Void>()
        let server = try ScriptedServer { connection, _ in
            connection.readSomething()
            stop.send(())
            connection.waitForHold()
        }
        let made = Mutex(0)
        let body = HTTPBody.chunks {
            AsyncStream<Data>(unfolding: {
                made.withLock { $0 += 1 }
                return Data(count: 100_000)
            })
        }
        let task = Task { try await transport.send(HTTPRequest(.post, server.url(), content: body)) }
        await stop.next()
        // Until the number is stable: the capacity of both sockets, and half a megabyte.
        var last = -1
        while made.withLock({ $0 }) != last {
            last = made.withLock { $0 }
            try await Task.sleep(for: .milliseconds(100))
        }
        #expect(last < 200)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test(arguments: [307, 308])
    func `a redirect with 307 or 308 sends the file again`(status: Int) async throws {
        let server = try ScriptedServer { request in
            request.line.contains(" /from ") ? answer("\(status) Moved", "Location: /to\r\n") : answer()
        }
        let content = pattern(100_000)
        let file = try folder.file("f", content)
        var request = HTTPRequest(.put, server.url("/from"), content: .joined([.bytes(Data([7])), .file(at: file)]))
        request.redirects = .follow(limit: 1)
        _ = try await transport.send(request)
        #expect(server.requests.map(\.line) == ["PUT /from HTTP/1.1", "PUT /to HTTP/1.1"])
        #expect(server.requests.map { Data($0.body) } == [Data([7]) + content, Data([7]) + content])
        request.method = .post
        #expect(try await transport.stream(request).whole().status == 200)
        #expect(try Data(#require(server.requests.last).body) == Data([7]) + content)
    }

    @Test func `a 303 drops the file, and single-use chunks cannot follow a redirect`() async throws {
        let server = try ScriptedServer { request in
            request.line.contains("/see")
                ? answer("303 See Other", "Location: /to\r\n")
                : request.line.contains("/from") ? answer("307 Moved", "Location: /to\r\n") : answer()
        }
        var request = HTTPRequest(.post, server.url("/see"), content: .file(at: try folder.file("f", Data([1, 2]))))
        request.redirects = .follow(limit: 1)
        _ = try await transport.send(request)
        #expect(server.requests.map(\.body) == [[1, 2], []])
        #expect(server.requests.last?.line == "GET /to HTTP/1.1")
        request.url = server.url("/from")
        request.content = .chunks(isReplayable: false) {
            AsyncStream {
                $0.yield(Data([3])); $0.finish()
            }
        }
        #expect(await failure(transport, request)?.kind == .redirectRefused)
        #expect(server.requests.count == 3)
    }

    @Test func `a large file is not sent if the server rejects the request first`() async throws {
        let server = try ScriptedServer { connection, _ in
            connection.accepts = { _ in false }
            while connection.readRequest() != nil {
                connection.send(
                    answer("401 Unauthorized", "WWW-Authenticate: Bearer\r\nConnection: close\r\n", body: "no"))
            }
        }
        let file = try folder.file("f", Data(count: 4_000_000))
        let response = try await transport.send(HTTPRequest(.put, server.url(), content: .file(at: file)))
        #expect(response.status == 401)
        #expect(String(decoding: response.body, as: UTF8.self) == "no")
        #expect(server.requests.map(\.body.count) == [0])
    }

    @Test func `descriptions do not contain the request content`() throws {
        let file = try folder.file("f", Data("secret".utf8))
        let request = HTTPRequest(
            .put, url("https://a.example/"), content: .joined([.bytes(Data("secret".utf8)), .file(at: file)]))
        for text in ["\(request)", String(reflecting: request), "\(request.content as Any)"] {
            #expect(!text.contains("secret") && !text.contains(Data("secret".utf8).description))
        }
        var dumped = ""
        dump(request.content, to: &dumped)
        #expect(!dumped.contains("bytes") && request.body == nil)
    }
}
