import Foundation
import Synchronization
import Testing

@testable import CurlHTTP
@testable import HTTPExchange

/// Tests responses to range requests.
@Suite struct `Download ranges` {
    let transport = CurlTransport()
    let folder: TemporaryFolder
    let content = pattern(1_000_000)

    init() throws { folder = try TemporaryFolder() }

    /// Ends the first response after 300000 bytes, and calls the closure for range requests.
    private func server(_ part: @escaping @Sendable (Connection, Int, Data) -> Bool) throws -> ScriptedServer {
        try ScriptedServer { [content] connection, number in
            while let request = connection.readRequest() {
                guard let range = request.values("Range").first else {
                    connection.send("HTTP/1.1 200 OK\r\nETag: \"v\"\r\nContent-Length: \(content.count)\r\n\r\n")
                    connection.send(Array(number == 1 ? content.prefix(300_000) : content))
                    if number == 1 { return }
                    continue
                }
                guard part(connection, Int(range.dropFirst(6).dropLast()) ?? 0, content) else { return }
            }
        }
    }

    private func download(_ server: ScriptedServer) async throws -> HTTPDownload {
        try await transport.download(HTTPRequest(.get, server.url()), to: folder.location("f"))
    }

    @Test func `a download requests ranges until the file is complete`() async throws {
        let server = try server { connection, start, content in
            let end = min(start + 200_000, content.count)
            connection.send("HTTP/1.1 206 Partial Content\r\nETag: \"v\"\r\nContent-Length: \(end - start)\r\n")
            connection.send("Content-Range: bytes \(start)-\(end - 1)/\(content.count)\r\n\r\n")
            return connection.send(Array(content[start..<end]))
        }
        let error = await #expect(throws: HTTPTransportError.self) { try await download(server) }
        #expect(error?.reason.contains("The received part is saved") == true)
        let steps = Mutex<[HTTPProgress]>([])
        let saved = try await transport.download(HTTPRequest(.get, server.url()), to: folder.location("f")) { step in
            steps.withLock { $0.append(step) }
        }
        #expect(saved.size == 1_000_000 && saved.resumed == 300_000 && saved.response.status == 206)
        #expect(try Data(contentsOf: folder.location("f")) == content)
        #expect(folder.names == ["f"])
        let ranges = server.requests.flatMap { $0.values("Range") }
        #expect(ranges == ["bytes=300000-", "bytes=500000-", "bytes=700000-", "bytes=900000-"])
        let end = HTTPProgress(received: 1_000_000, totalToReceive: 1_000_000, hasEnded: true)
        #expect(steps.withLock { $0.last } == end)
    }

    @Test func `an incomplete range without a length is saved and resumed`() async throws {
        let server = try server { connection, start, content in
            connection.send("HTTP/1.1 206 Partial Content\r\nETag: \"v\"\r\nConnection: close\r\n")
            connection.send("Content-Range: bytes \(start)-\(content.count - 1)/\(content.count)\r\n\r\n")
            connection.send(Array(content[start..<min(start + 400_000, content.count)]))
            return false
        }
        for size in [300_000, 700_000] {
            let error = await #expect(throws: HTTPTransportError.self) { try await download(server) }
            #expect(error?.kind == .connectionLost && error?.reason.contains("The received part is saved") == true)
            #expect(try Data(contentsOf: folder.location(".f.part")).count == size)
        }
        #expect(try await download(server).resumed == 700_000)
        #expect(try Data(contentsOf: folder.location("f")) == content)
    }

    @Test(arguments: [
        "Content-Range: bytes 5-8/9\r\n", "", "Content-Range: bytes 300001-300004/1000000\r\n",
        "Content-Range: bytes 300000-300003/1000000\r\nETag: \"w\"\r\n",
    ])
    func `a response with a different range restarts the download`(fields: String) async throws {
        let server = try server { connection, _, _ in
            connection.send(answer("206 Partial Content", fields, body: "5678"))
        }
        _ = try? await download(server)
        let saved = try await download(server)
        #expect(saved.size == 1_000_000 && saved.resumed == 0)
        #expect(try Data(contentsOf: folder.location("f")) == content)
        #expect(folder.names == ["f"])
    }

    @Test func `a complete response with a new ETag replaces the partial file`() async throws {
        let other = pattern(50_000, seed: 4)
        let server = try server { connection, _, _ in
            connection.send("HTTP/1.1 200 OK\r\nETag: \"w\"\r\nContent-Length: \(other.count)\r\n\r\n")
            return connection.send(Array(other))
        }
        _ = try? await download(server)
        let saved = try await download(server)
        #expect(saved.size == 50_000 && saved.resumed == 0)
        #expect(try Data(contentsOf: folder.location("f")) == other)
    }

    @Test func `a response longer than its Content-Range is discarded`() async throws {
        let server = try server { connection, _, _ in
            connection.send("HTTP/1.1 206 Partial Content\r\nConnection: close\r\n")
            connection.send("Content-Range: bytes 300000-300003/1000000\r\n\r\n123456")
            return false
        }
        _ = try? await download(server)
        let error = await #expect(throws: HTTPTransportError.self) { try await download(server) }
        #expect(error?.kind == .connectionLost && error?.reason.contains("kept") == false)
        #expect(folder.names.isEmpty)
    }

    @Test func `an unsolicited partial response is an error, but a requested range is saved`() async throws {
        let server = try ScriptedServer { _ in
            answer("206 Partial Content", "Content-Range: bytes 0-3/9\r\n", body: "0123")
        }
        await #expect(throws: HTTPTransportError.self) { try await download(server) }
        #expect(folder.names.isEmpty)
        let request = HTTPRequest(.get, server.url(), fields: ["Range": "bytes=0-3"])
        #expect(try await transport.download(request, to: folder.location("f")).size == 4)
    }
}
