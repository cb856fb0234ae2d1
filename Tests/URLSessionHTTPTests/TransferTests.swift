import Foundation
import HTTPExchange
import LoopbackHTTP
import Synchronization
import TestSupport
import Testing

@testable import URLSessionHTTP

@Suite struct TransferTests {
    let transport = URLSessionTransport()

    private func url(_ server: LoopbackListener, _ path: String = "/") throws -> URL {
        try #require(URL(string: "http://127.0.0.1:\(server.port)\(path)"))
    }

    @Test func `a streamed response returns its head first and then all bytes`() async throws {
        let content = Data((0..<5_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        let server = try LoopbackListener { _ in LoopbackResponse(status: 206, fields: ["A": "1"], body: content) }
        defer { server.close() }
        let response = try await transport.stream(HTTPRequest(.get, url(server)))
        #expect(response.status == 206 && response.fields["A"] == "1")
        var received = Data()
        for try await chunk in response.body { received.append(chunk) }
        #expect(received == content)
    }

    @Test func `content from a file and from chunks arrives complete`() async throws {
        let server = try LoopbackListener { LoopbackResponse(status: 200, body: $0.body) }
        defer { server.close() }
        let folder = try TemporaryDirectory()
        let file = URL(filePath: folder.path).appending(path: "content")
        let bytes = Data((0..<60_000).map { UInt8(truncatingIfNeeded: $0) })
        try bytes.write(to: file)
        let chunks = HTTPBody.chunks {
            AsyncStream<Data> { stream in
                for _ in 0..<3 { stream.yield(Data("chunk ".utf8)) }
                stream.finish()
            }
        }
        for (content, expected) in [
            (HTTPBody.file(at: file), bytes), (.file(at: file, offset: 10, length: 20), bytes[10..<30]),
            (chunks, Data("chunk chunk chunk ".utf8)),
            (.joined([.bytes(Data("a".utf8)), chunks]), Data("achunk chunk chunk ".utf8)),
        ] {
            var request = HTTPRequest(.post, try url(server), content: content)
            request.maximumResponseSize = 1 << 20
            let response = try await transport.send(request)
            #expect(response.body.count == expected.count && response.body == expected, "\(response)")
        }
        var request = HTTPRequest(
            .put, try url(server), content: .chunks(length: 4) { AsyncStream<Data> { $0.finish() } })
        await #expect(throws: HTTPTransportError.self) { try await transport.send(request) }
        request.content = .file(at: URL(filePath: folder.path).appending(path: "none"))
        await #expect(throws: HTTPFileError.self) { try await transport.send(request) }
        let left = try FileManager.default.contentsOfDirectory(atPath: FileManager.default.temporaryDirectory.path)
        #expect(!left.contains { $0.hasPrefix("upload-") })
    }

    @Test func `progress ends with the size of the response`() async throws {
        let server = try LoopbackListener { _ in LoopbackResponse(status: 200, body: Data(count: 300_000)) }
        defer { server.close() }
        let reports = Mutex<[HTTPProgress]>([])
        let request = HTTPRequest(.post, try url(server), body: Data(count: 1000))
        _ = try await transport.stream(request) { report in reports.withLock { $0.append(report) } }.whole()
        let latest = reports.withLock { $0.last }
        let last = try #require(latest)
        #expect(last.hasEnded && last.received == 300_000 && last.sent == 1000 && last.totalToSend == 1000)
    }

    @Test func `a reader that stops ends the transfer, and a cancelled one throws`() async throws {
        let server = try LoopbackListener { _ in LoopbackResponse(status: 200, body: Data(count: 30_000_000)) }
        defer { server.close() }
        do {
            let response = try await transport.stream(HTTPRequest(.get, url(server)))
            var reader = response.body.makeAsyncIterator()
            #expect(try await reader.next()?.isEmpty == false)
        }
        let request = HTTPRequest(.get, try url(server))
        let task = Task { try await transport.stream(request).whole(limit: 1 << 30) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func `a request with a client certificate, pinned keys or a CA file is not sent without support`()
        async throws
    {
        let url = try #require(URL(string: "https://127.0.0.1:1/"))
        let certificate = ClientCertificate(certificateFile: "/c.pem", keyFile: "/k.pem")
        let error = await #expect(throws: HTTPTransportError.self) {
            try await URLSessionTransport(clientCertificate: certificate).send(HTTPRequest(.get, url))
        }
        #expect(error?.kind == .tls && error?.reason.contains("CurlTransport") == true)
        #if !canImport(Security)
            let pin = try #require(PublicKeyPin(Data(repeating: 7, count: 32).base64EncodedString()))
            for trust in [ServerTrust(pinnedKeys: [pin]), ServerTrust(caFile: "/ca.pem")] {
                var request = HTTPRequest(.get, url)
                request.trust = trust
                let error = await #expect(throws: HTTPTransportError.self) { try await transport.send(request) }
                #expect(error?.kind == .tls && error?.reason.contains("CurlTransport") == true)
            }
        #endif
    }

    @Test func `a task is suspended while a mebibyte waits for the reader`() async throws {
        let (requests, arrival) = AsyncStream.makeStream(of: Void.self)
        let silent = try LoopbackListener { _ in
            arrival.finish()
            try? await Task.sleep(for: .seconds(600))
            return LoopbackResponse(status: 200)
        }
        defer { silent.close() }
        let session = URLSession(configuration: .ephemeral)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: try url(silent))
        let transfer = SessionTransfer(task, try url(silent), nil, totalToSend: nil)
        task.resume()
        for await _ in requests {}
        transfer.put(Data(count: SessionTransfer.capacity - 1))
        #expect(task.state == .running)
        transfer.put(Data(count: 1))
        #expect(task.state == .suspended)
        let content = try await withCheckedThrowingContinuation { transfer.take($0) }
        #expect(content?.count == SessionTransfer.capacity && task.state == .running)
        // Readers can be fast.
        for _ in 0..<1_000 {
            transfer.put(Data(count: SessionTransfer.capacity))
            #expect(try await withCheckedThrowingContinuation { transfer.take($0) } != nil)
        }
        // A waiting reader gets the bytes directly, however many they are.
        async let next = withCheckedThrowingContinuation { transfer.take($0) }
        while !transfer.hasReader { await Task.yield() }
        transfer.put(Data(count: 2 * SessionTransfer.capacity))
        #expect(try await next?.count == 2 * SessionTransfer.capacity && task.state == .running)
        transfer.end(.success(()))
    }

    @Test func `a transfer that ended before its head was awaited throws its error`() async throws {
        let url = try #require(URL(string: "http://127.0.0.1:1/"))
        let session = URLSession(configuration: .ephemeral)
        defer { session.invalidateAndCancel() }
        let transfer = SessionTransfer(session.dataTask(with: url), url, nil, totalToSend: nil)
        transfer.end(.failure(CancellationError()))
        transfer.end(.success(()))
        await #expect(throws: CancellationError.self) {
            try await withCheckedThrowingContinuation { transfer.awaitHead($0) }
        }
        await #expect(throws: CancellationError.self) {
            _ = try await withCheckedThrowingContinuation { transfer.take($0) }
        }
    }
}
