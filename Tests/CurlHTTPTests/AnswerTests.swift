import Foundation
import CurlHTTP
import HTTPExchange
import TestSupport
import Testing

@Suite struct `Received responses` {
    let transport = CurlTransport()

    private func exchange(
        _ bytes: String, method: HTTPMethod = .get, limit: Int = 1 << 20
    ) async throws -> HTTPResponse {
        let server = try ScriptedServer { connection, _ in
            _ = connection.readRequest()
            connection.send(bytes)
        }
        var request = HTTPRequest(method, server.url("/?code=secret"))
        request.maximumResponseSize = limit
        do {
            return try await transport.send(request)
        } catch let error as HTTPTransportError {
            #expect(!"\(error)".contains("secret"))
            throw error
        }
    }

    private func kind(_ bytes: String, limit: Int = 1 << 20, method: HTTPMethod = .get) async -> HTTPTransportError
        .Kind?
    {
        do {
            _ = try await exchange(bytes, method: method, limit: limit)
            return nil
        } catch {
            return (error as? HTTPTransportError)?.kind
        }
    }

    @Test func `the transport skips interim responses`() async throws {
        let response = try await exchange(
            "HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + answer(body: "end"))
        #expect(response.status == 200)
        #expect(response.fields["X-Early"] == nil)
        #expect(response.body == Data("end".utf8))
    }

    @Test func `chunked content is joined and trailers are not header fields`() async throws {
        let response = try await exchange(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\nX-Trailer: 1\r\n\r\n"
        )
        #expect(response.body == Data("abcdefg".utf8))
        #expect(response.fields["X-Trailer"] == nil)
    }

    @Test func `the end of the connection can end the content`() async throws {
        #expect(try await exchange("HTTP/1.1 200 OK\r\n\r\nall of it").body == Data("all of it".utf8))
    }

    @Test func `responses with 204 or 304 and to HEAD have no content`() async throws {
        #expect(try await exchange("HTTP/1.1 204 No Content\r\n\r\n").status == 204)
        #expect(try await exchange("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n").status == 304)
        let head = try await exchange("HTTP/1.1 200 OK\r\nContent-Length: 5000000\r\n\r\n", method: .head)
        #expect(head.body.isEmpty && head.fields["Content-Length"] == "5000000")
    }

    @Test func `the transport reads Latin-1, folded lines and control characters in fields`() async throws {
        let server = try ScriptedServer { connection, _ in
            _ = connection.readRequest()
            connection.send("HTTP/1.1 200 OK\r\nX-Latin: ".utf8 + [0xE9] + "\r\nX-UTF: é\r\nX-Fold: a\r\n  b\r\n".utf8)
            connection.send("X-Tab: a\u{1}b\r\nbad name: 1\r\nContent-Length: 0\r\n\r\n")
        }
        let fields = try await transport.send(HTTPRequest(.get, server.url())).fields
        #expect(fields["X-Latin"] == "é")
        #expect(fields["X-UTF"] == "é")
        #expect(fields["X-Fold"] == "a b")
        #expect(fields["X-Tab"] == "a b")
        #expect(fields["bad name"] == nil)
    }

    @Test(arguments: [
        "", "HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", "garbage\r\n\r\n", "<html>old</html>",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab\r\n0\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", "\u{16}\u{3}\u{1}\u{0}\u{2}",
    ])
    func `an invalid or truncated response is a lost connection`(bytes: String) async {
        #expect(await kind(bytes) == .connectionLost)
    }

    @Test func `content may have the maximum size but not one byte more`() async throws {
        #expect(try await exchange(answer(body: "12345"), limit: 5).body.count == 5)
        #expect(await kind(answer(body: "123456"), limit: 5) == .responseTooLarge)
        #expect(try await exchange(answer(), limit: 0).body.isEmpty)
        #expect(await kind(answer(body: "1"), limit: -1) == .responseTooLarge)
    }

    @Test func `the transport stops endless content at the limit and closes the connection`() async throws {
        let closed = Signal<Int>()
        let server = try ScriptedServer { connection, _ in
            _ = connection.readRequest()
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n")
            let chunk = [UInt8](repeating: 0x61, count: 65_536)
            var sent = 0
            while connection.send(chunk) { sent += chunk.count }
            closed.send(sent)
        }
        #expect(await failure(transport, HTTPRequest(.get, server.url()))?.kind == .responseTooLarge)
        // The limit, and the capacity of the socket buffers.
        #expect(try #require(await closed.next()) < 64 << 20)
    }

    @Test func `the transport stops a decompression bomb at the limit`() async throws {
        // 64 MiB of zeros, compressed with gzip.
        let bomb = try gzip(zeros: 64 << 20)
        #expect(bomb.count < 1 << 20)
        let server = try ScriptedServer { connection, _ in
            _ = connection.readRequest()
            connection.send(
                "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(bomb.count)\r\n\r\n".utf8 + bomb)
            connection.waitForClose()
        }
        #expect(await failure(transport, HTTPRequest(.get, server.url()))?.kind == .responseTooLarge)
        #expect(server.requests.first?.values("Accept-Encoding").first?.contains("gzip") == true)
    }

    @Test func `the transport decompresses content`() async throws {
        let bytes = try gzip(zeros: 70_000)
        let server = try ScriptedServer { connection, _ in
            _ = connection.readRequest()
            connection.send(
                "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(bytes.count)\r\n\r\n".utf8 + bytes)
        }
        #expect(try await transport.send(HTTPRequest(.get, server.url())).body == Data(count: 70_000))
    }

    @Test func `a slow reader receives all of a highly compressed response`() async throws {
        let bytes = try gzip(zeros: 70_000_000)
        let server = try ScriptedServer { connection, _ in
            _ = connection.readRequest()
            connection.send(
                "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(bytes.count)\r\n\r\n".utf8 + bytes)
        }
        var count = 0
        for try await chunk in try await transport.stream(HTTPRequest(.get, server.url())).body {
            count += chunk.count
            await Task.yield()
        }
        #expect(count == 70_000_000)
    }

    @Test(arguments: ["gzip", "snappy"])
    func `an error in decompression suggests Accept-Encoding: identity and is not retried`(
        coding: String
    ) async throws {
        let server = try ScriptedServer { _ in
            answer("200 OK", "Content-Encoding: \(coding)\r\n", body: "no such thing")
        }
        let error = await failure(transport, HTTPRequest(.get, server.url()))
        #expect(error?.reason.contains("Accept-Encoding: identity") == true)
        #expect(error.map { HTTPRetryPolicy().failures.contains($0.kind) } == false)
    }

    @Test(arguments: [600, 999])
    func `an invalid status is an error that contains the number`(status: Int) async throws {
        let server = try ScriptedServer { _ in answer("\(status) What") }
        for isStreamed in [false, true] {
            let request = HTTPRequest(.get, server.url())
            let error = await #expect(throws: HTTPTransportError.self) {
                _ = isStreamed ? try await transport.stream(request).status : try await transport.send(request).status
            }
            #expect(error?.reason.contains("\(status), which HTTP does not have") == true)
        }
    }

    @Test func `the transport reads a thousand fields and limits their total size`() async throws {
        let many = (0..<1000).map { "X-\($0): v\r\n" }.joined()
        #expect(try await exchange(answer("200 OK", many)).fields.count == 1001)
        let flood = (0..<20_000).map { "X-\($0): 0123456789\r\n" }.joined()
        #expect(await kind(answer("200 OK", flood)) == .responseTooLarge)
        let interim = String(repeating: "HTTP/1.1 103 Early Hints\r\nX: 0123456789\r\n\r\n", count: 20_000)
        #expect(await kind(interim + answer()) == .responseTooLarge)
    }
}

/// Returns zeros that the `gzip` command compressed.
func gzip(zeros count: Int) throws -> [UInt8] {
    let process = Process()
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments = ["-c", "head -c \(count) /dev/zero | gzip -9c"]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    process.limit()
    let bytes = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return [UInt8](bytes)
}
