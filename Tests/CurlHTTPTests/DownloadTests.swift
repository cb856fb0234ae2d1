import Foundation
import CurlHTTP
import HTTPExchange
import Synchronization
import TestSupport
import Testing

@Suite struct `Downloads` {
    let transport = CurlTransport()
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Serves content with an ETag and ranges, and ends the first responses after the given numbers of bytes.
    private func server(
        _ content: Data, tag: String? = "\"v1\"", cuts: [Int] = [], honors: Bool = true, fields: String = ""
    ) throws -> ScriptedServer {
        try ScriptedServer { connection, number in
            while let request = connection.readRequest() {
                var start = 0
                if honors, let range = request.values("Range").first, request.values("If-Range").first == tag {
                    start = Int(range.dropFirst(6).dropLast()) ?? 0
                }
                guard start < content.count || start == 0 else {
                    connection.send(answer("416 Range Not Satisfiable"))
                    continue
                }
                let status = start > 0 ? "206 Partial Content" : "200 OK"
                let range = start > 0 ? "Content-Range: bytes \(start)-\(content.count - 1)/\(content.count)\r\n" : ""
                let named = tag.map { "ETag: \($0)\r\n" } ?? ""
                connection.send(
                    "HTTP/1.1 \(status)\r\nContent-Length: \(content.count - start)\r\n\(range)\(named)\(fields)\r\n")
                let end = number <= cuts.count ? start + cuts[number - 1] : content.count
                connection.send(Array(content[start..<min(end, content.count)]))
                if end < content.count { return }
            }
        }
    }

    @Test(arguments: [0, 10, 4_000_000])
    func `a download saves the content and leaves no other files`(size: Int) async throws {
        let content = pattern(size)
        let server = try server(content)
        let location = folder.location("saved file")
        let saved = try await transport.download(HTTPRequest(.get, server.url()), to: location)
        #expect(saved.file == location && saved.size == size && saved.resumed == 0 && saved.response.status == 200)
        #expect(saved.response.body.isEmpty && saved.response.fields["ETag"] == "\"v1\"")
        #expect(try Data(contentsOf: location) == content)
        #expect(folder.names == ["saved file"])
        #expect(server.requests.map { $0.values("Accept-Encoding") } == [["identity"]])
    }

    @Test func `an error response keeps the existing file`() async throws {
        let server = try ScriptedServer { _ in answer("404 Not Found", body: "none") }
        let location = try folder.file("f", Data("old".utf8))
        let saved = try await transport.download(HTTPRequest(.get, server.url()), to: location)
        #expect(saved.file == nil && saved.response.status == 404 && saved.response.body == Data("none".utf8))
        #expect(try Data(contentsOf: location) == Data("old".utf8))
        #expect(folder.names == ["f"])
    }

    @Test func `an interrupted download resumes`() async throws {
        let content = pattern(3_000_000)
        let server = try server(content, cuts: [1_000_000, 500_000])
        let location = try folder.file("f", Data("old".utf8))
        let request = HTTPRequest(.get, server.url("/x?secret=s"))
        for size in [1_000_000, 1_500_000] {
            let error = await #expect(throws: HTTPTransportError.self) {
                try await transport.download(request, to: location)
            }
            #expect(error?.kind == .connectionLost)
            #expect(try Data(contentsOf: folder.location(".f.part")).count == size)
            #expect(try Data(contentsOf: location) == Data("old".utf8))
            #expect(try !String(contentsOf: folder.location(".f.part.from"), encoding: .utf8).contains("secret"))
        }
        let steps = Mutex<[HTTPProgress]>([])
        let saved = try await transport.download(request, to: location) { step in steps.withLock { $0.append(step) } }
        #expect(saved.resumed == 1_500_000 && saved.size == 3_000_000)
        #expect(try Data(contentsOf: location) == content)
        #expect(folder.names == ["f"])
        #expect(server.requests.map { $0.values("Range") } == [[], ["bytes=1000000-"], ["bytes=1500000-"]])
        #expect(
            steps.withLock { $0.last }
                == HTTPProgress(received: 3_000_000, totalToReceive: 3_000_000, hasEnded: true))
    }

    @Test func `a retry policy resumes the download automatically`() async throws {
        let content = pattern(1_000_000)
        let server = try server(content, cuts: [300_000, 300_000])
        let policy = HTTPRetryPolicy(firstDelay: .milliseconds(1))
        let saved = try await transport.download(
            HTTPRequest(.get, server.url()), to: folder.location("f"), retrying: policy)
        #expect(saved.resumed == 600_000)
        #expect(try Data(contentsOf: folder.location("f")) == content)
    }

    @Test func `a download restarts if the content or the URL changed`() async throws {
        let location = folder.location("f")
        let first = try server(pattern(1_000_000), cuts: [400_000])
        for content in [pattern(900_000, seed: 2), pattern(100, seed: 3)] {
            let first = try server(pattern(1_000_000), cuts: [400_000])
            _ = try? await transport.download(HTTPRequest(.get, first.url()), to: location)
            #expect(folder.names.contains(".f.part"))
            // A different URL does not use the partial file.
            let other = try server(content, tag: "\"v2\"")
            let saved = try await transport.download(HTTPRequest(.get, other.url()), to: location)
            #expect(saved.resumed == 0)
            #expect(try Data(contentsOf: location) == content)
            #expect(other.requests.map { $0.values("Range") } == [[]])
        }
        _ = first
    }

    @Test func `a download restarts if the server ignores the range or sends new content`() async throws {
        let location = folder.location("f")
        let turn = Mutex(0)
        let content = pattern(50_000, seed: 9)
        let server = try ScriptedServer { connection, _ in
            while let request = connection.readRequest() {
                let now = turn.withLock { turn in
                    turn += 1
                    return turn
                }
                if now == 1 {
                    connection.send("HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 90000\r\n\r\n")
                    connection.send([UInt8](repeating: 1, count: 60_000))
                    return
                }
                if now == 2, request.values("Range") == ["bytes=60000-"] {
                    connection.send(answer("416 Range Not Satisfiable"))
                    continue
                }
                connection.send("HTTP/1.1 200 OK\r\nETag: \"b\"\r\nContent-Length: \(content.count)\r\n\r\n")
                connection.send(Array(content))
            }
        }
        _ = try? await transport.download(HTTPRequest(.get, server.url()), to: location)
        let saved = try await transport.download(HTTPRequest(.get, server.url()), to: location)
        #expect(saved.resumed == 0 && saved.size == 50_000)
        #expect(try Data(contentsOf: location) == content)
        #expect(folder.names == ["f"])
        #expect(server.requests.count == 3)
    }

    @Test(arguments: [(nil, ""), ("W/\"v1\"", ""), ("\"v1\"", "Accept-Ranges: none\r\n")] as [(String?, String)])
    func `a download that cannot be resumed leaves no partial file`(tag: String?, fields: String) async throws {
        let server = try server(pattern(1000), tag: tag, cuts: [500, 500], fields: fields)
        await #expect(throws: HTTPTransportError.self) {
            try await transport.download(HTTPRequest(.get, server.url()), to: folder.location("f"))
        }
        #expect(folder.names.isEmpty)
    }

    @Test func `a download with resuming: false leaves no partial file`() async throws {
        let server = try server(pattern(1000), cuts: [500])
        await #expect(throws: HTTPTransportError.self) {
            try await transport.download(HTTPRequest(.get, server.url()), to: folder.location("f"), resuming: false)
        }
        #expect(folder.names.isEmpty)
    }

    @Test func `a cancelled download closes the connection and can be resumed`() async throws {
        let closed = Signal<Void>()
        let content = pattern(500_000)
        let server = try ScriptedServer { connection, number in
            _ = connection.readRequest()
            if number == 1 {
                connection.send("HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 500000\r\n\r\n")
                connection.send(Array(content.prefix(200_000)))
                connection.waitForClose()
                closed.send(())
            } else {
                connection.send("HTTP/1.1 206 Partial Content\r\nContent-Length: 300000\r\nETag: \"a\"\r\n")
                connection.send("Content-Range: bytes 200000-499999/500000\r\n\r\n")
                connection.send(Array(content.suffix(300_000)))
            }
        }
        let got = Signal<Void>()
        let request = HTTPRequest(.get, server.url())
        let task = Task { [folder] in
            try await transport.download(request, to: folder.location("f")) {
                if $0.received == 200_000 { got.send(()) }
            }
        }
        try await until {
            folder.names == [".f.part", ".f.part.from"]
                && (try? Data(contentsOf: folder.location(".f.part")).count) == 200_000
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        await closed.next()
        #expect(try await transport.download(request, to: folder.location("f")).resumed == 200_000)
        #expect(try Data(contentsOf: folder.location("f")) == content)
    }

    @Test func `an unwritable location is an error before the request is sent`() async throws {
        let server = try server(pattern(10))
        for location in [folder.url, folder.location("no/folder"), folder.location("a/"), URL(filePath: "/dev/full/x")]
        {
            await #expect(throws: HTTPFileError.self) {
                try await transport.download(HTTPRequest(.get, server.url()), to: location)
            }
        }
        #expect(server.requests.isEmpty)
    }

    @Test func `a full device is an error, and the device is not replaced`() async throws {
        guard FileManager.default.fileExists(atPath: "/dev/full") else { return }
        let server = try server(pattern(100_000))
        await #expect(throws: HTTPFileError.self) {
            try await transport.download(HTTPRequest(.get, server.url()), to: URL(filePath: "/dev/full"))
        }
        let saved = try await transport.download(HTTPRequest(.get, server.url()), to: URL(filePath: "/dev/null"))
        #expect(saved.size == 100_000)
        let type = try FileManager.default.attributesOfItem(atPath: "/dev/null")[.type] as? FileAttributeType
        #expect(type == .typeCharacterSpecial)
    }

    @Test func `a download follows a symbolic link and keeps it`() async throws {
        let server = try server(Data("new".utf8))
        let real = try folder.file("real", Data("old".utf8))
        try FileManager.default.createSymbolicLink(at: folder.location("link"), withDestinationURL: real)
        _ = try await transport.download(HTTPRequest(.get, server.url()), to: folder.location("link"))
        #expect(try Data(contentsOf: real) == Data("new".utf8))
        #expect(folder.names == ["link", "real"])
    }

    @Test func `a download does not follow a symbolic link in place of its partial file`() async throws {
        let server = try server(Data("new".utf8))
        let victim = try folder.file("victim", Data("old".utf8))
        try FileManager.default.createSymbolicLink(at: folder.location(".f.part"), withDestinationURL: victim)
        await #expect(throws: HTTPFileError.self) {
            try await transport.download(HTTPRequest(.get, server.url()), to: folder.location("f"))
        }
        #expect(try Data(contentsOf: victim) == Data("old".utf8))
    }

    @Test func `a second download to the same location is an error`() async throws {
        let go = DispatchSemaphore(value: 0)
        let arrived = Signal<Void>()
        let server = try ScriptedServer { connection, _ in
            _ = connection.readRequest()
            arrived.send(())
            go.waitLimited()
            connection.send(answer(body: "content"))
        }
        let request = HTTPRequest(.get, server.url())
        let first = Task { [folder] in try await transport.download(request, to: folder.location("f")) }
        await arrived.next()
        let error = await #expect(throws: HTTPFileError.self) {
            try await transport.download(request, to: folder.location("f"))
        }
        #expect(error?.reason.contains("another download") == true)
        go.signal()
        #expect(try await first.value.size == 7)
    }
}
