import Foundation
import StrictJSON
import TestSupport
import Testing

@testable import CurlHTTP
@testable import HTTPExchange

/// The published cases that only the transport can satisfy.
@Suite(.timeLimit(.scaled(minutes: 5))) struct `Transport cases of other vector files` {
    let transport = CurlTransport()

    private func vector(_ file: String, _ id: String) throws -> VectorCase {
        try #require(VectorFile(file).cases.first { $0.id == id }, "\(file) has no \(id)")
    }

    private func generator(_ vector: VectorCase) throws -> JSONObject {
        try #require(vector.input["generator"]?.object)
    }

    // MARK: Bodies, of json-malformed.json

    @Test func `JM-070: the transport stops an endless body at the limit`() async throws {
        let vector = try vector("json-malformed", "JM-070")
        #expect(vector.outcome == "reject" && vector.reason == "too_large_or_timeout")
        let generator = try generator(vector)
        let letter = Array(try #require(generator["stream"]?.string).utf8)
        #expect(generator["forever"] == true)
        let closed = Signal<Void>()
        let server = try ScriptedServer { connection, _ in
            _ = connection.readRequest()
            connection.send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
            let chunk = [UInt8]((0..<65_536).map { letter[$0 % letter.count] })
            while connection.send(chunk) {}
            closed.send(())
        }
        #expect(await failure(transport, HTTPRequest(.post, server.url("/token")))?.kind == .responseTooLarge)
        // The transport closes the connection too.
        await closed.next()
    }

    @Test func `JM-071: the limit applies to the decompressed body`() async throws {
        let vector = try vector("json-malformed", "JM-071")
        #expect(vector.outcome == "reject" && vector.reason == "too_large")
        let generator = try generator(vector)
        let times = try #require(generator["repeat"]?.array)
        let letter = try #require(times.first?.string)
        let count = try #require(times.last?.number?.int64)
        let coding = try #require(generator["content_encoding"]?.string)
        #expect(coding == "gzip")
        let text =
            (generator["prefix"]?.string ?? "") + String(repeating: letter, count: Int(count))
            + (generator["suffix"]?.string ?? "")
        let bomb = try compressed(text)
        #expect(bomb.count < text.utf8.count / 100)
        let server = try ScriptedServer { connection, _ in
            _ = connection.readRequest()
            connection.send(
                "HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\nContent-Length: \(bomb.count)\r\n\r\n".utf8 + bomb)
            connection.waitForClose()
        }
        var request = HTTPRequest(.post, server.url("/token"))
        request.maximumResponseSize = bomb.count * 10
        #expect(await failure(transport, request)?.kind == .responseTooLarge)
        // Only the size caused the error.
        request.maximumResponseSize = text.utf8.count
        #expect(try await transport.send(request).body == Data(text.utf8))
    }

    @Test func `JM-074: a body shorter than its Content-Length is an error`() async throws {
        let vector = try vector("json-malformed", "JM-074")
        #expect(vector.outcome == "reject" && vector.reason == "transport")
        let body = vector.input.response.body
        let text = String(decoding: body, as: UTF8.self)
        #expect(text.hasPrefix("{"))
        let server = try ScriptedServer { connection, _ in
            _ = connection.readRequest()
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n" + text)
        }
        #expect(await failure(transport, HTTPRequest(.post, server.url("/token")))?.kind == .connectionLost)
    }

    private func compressed(_ text: String) throws -> [UInt8] {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["gzip", "-9c"]
        let input = Pipe(), output = Pipe()
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        process.limit()
        // A separate thread writes, because neither pipe can hold all the data.
        let writing = input.fileHandleForWriting
        Thread.detachNewThread {
            try? writing.write(contentsOf: Data(text.utf8))
            try? writing.close()
        }
        let bytes = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return [UInt8](bytes)
    }

    // MARK: Requests, of transport.json

    @Test func `TP-038: the transport does not cache a cacheable response`() async throws {
        let vector = try vector("transport", "TP-038")
        #expect(vector.expect["disk_cache_contains_token"] == false)
        let control = try #require(vector.input["response_headers"]?.object?["Cache-Control"]?.string)
        let server = try ScriptedServer { _ in
            answer("200 OK", "Cache-Control: \(control)\r\nETag: \"1\"\r\n", body: #"{"access_token":"tok"}"#)
        }
        for _ in 0..<2 {
            #expect(try await transport.send(HTTPRequest(.get, server.url("/token"))).status == 200)
        }
        // A transport with a cache would send no second request, or a conditional one.
        #expect(server.requests.count == 2)
        #expect(server.requests.allSatisfy { $0.values("If-None-Match").isEmpty })
    }

    @Test func `TP-042, TP-043: Accept and Content-Type are sent once and unchanged`() async throws {
        let server = try ScriptedServer { _ in answer() }
        var request = HTTPRequest(.post, server.url("/token"), body: Data("grant_type=x".utf8))
        var wanted: [(String, String)] = []
        for id in ["TP-042", "TP-043"] {
            let vector = try vector("transport", id)
            for header in vector.input["caller_headers"]?.object?.members ?? [] {
                request.fields[header.name] = header.value.string
            }
            for header in try #require(vector.expect["request_headers"]?.object?.members) {
                request.fields[header.name] = header.value.string
                wanted.append((header.name, try #require(header.value.string)))
            }
        }
        _ = try await transport.send(request)
        let received = try #require(server.requests.first)
        #expect(wanted.count == 2)
        for (name, value) in wanted { #expect(received.values(name) == [value]) }
        let count = try vector("transport", "TP-043").expect.int("content_type_count")
        #expect(received.values("Content-Type").count == count)
    }

    // MARK: Secrets, of redaction.json

    /// Returns the secrets of the file, in each form that must not appear.
    private func secrets() throws -> [String] {
        let secrets = try #require(VectorFile("redaction").defaults["secrets"]?.object).members.compactMap(
            \.value.string)
        #expect(secrets.count == 10)
        return secrets.flatMap { [String($0.prefix(8)), Data($0.utf8).base64EncodedString()] }
    }

    private func shown(_ value: Any) -> String {
        var text = "\(value) " + String(reflecting: value)
        dump(value, to: &text)
        if let error = value as? any Error { text += error.localizedDescription }
        return text
    }

    @Test func `RD-010: no error shows the query of the URL`() async throws {
        let known = try #require(VectorFile("redaction").defaults["secrets"]?.object)
        let query = known.members.map { "\($0.name)=\($0.value.string ?? "")" }.joined(separator: "&")
        #expect(try vector("redaction", "RD-010").expect["contains_no_secret"] == true)
        let server = try ScriptedServer { connection, _ in
            let line = connection.readRequest()?.line ?? ""
            if line.contains(" /redirect") {
                connection.send("HTTP/1.1 302 Found\r\nLocation: http://example.com/?\(query)\r\n\r\n")
            } else if line.contains(" /large") {
                connection.send(answer(body: "12345"))
            } else if line.contains(" /silent") {
                connection.waitForClose()
            }
        }
        let closed = try ScriptedServer { _, _ in }.port
        var requests = [
            server.url("/lost?\(query)"), url("http://127.0.0.1:\(closed)/?\(query)"),
            url("http://example.com/?\(query)#\(query)"), url("ftp://127.0.0.1/?\(query)"),
            url("https://ada:CS_s3cr3t@127.0.0.1/?\(query)"), url("https://no-such-host.invalid/?\(query)"),
            server.url("/silent?\(query)"), server.url("/redirect?\(query)"), server.url("/large?\(query)"),
        ].map { HTTPRequest(.get, $0, fields: ["Authorization": "Bearer AT_s3cr3t"]) }
        requests[5].timeout = .seconds(5)
        requests[6].timeout = .milliseconds(50)
        requests[7].redirects = .follow(limit: 2)
        requests[8].maximumResponseSize = 1
        let secrets = try secrets()
        var kinds: Set<HTTPTransportError.Kind> = []
        for request in requests {
            let error = try #require(await failure(transport, request), "\(request)")
            kinds.insert(error.kind)
            for secret in secrets + ["CS_s3cr3t"] { #expect(!shown(error).contains(secret), "\(error.kind)") }
        }
        #expect(
            kinds.isSuperset(of: [
                .connectionLost, .cannotConnect, .plainHTTPRefused, .invalidRequest, .timedOut, .redirectRefused,
                .responseTooLarge,
            ]))
    }

    @Test(arguments: ["RD-012", "RD-013"])
    func `descriptions of requests and responses contain no fields and no content`(id: String) throws {
        let vector = try vector("redaction", id)
        #expect(vector.input["artefact"] == "HTTP trace")
        // A trace contains no header fields, so they need no redaction.
        #expect(vector.expect["contains_no_secret"] == true || vector.expect["headers_shown_as"] == "[redacted]")
        let known = try #require(VectorFile("redaction").defaults["secrets"]?.object).members
        let values = known.compactMap(\.value.string)
        let names = vector.input.texts("fields") ?? known.map(\.name)
        let pairs = names.enumerated().map { "\($1)=\(values[$0 % values.count])" }
        var request = HTTPRequest(
            .post, url("https://op.example.com/token?code=CODE_s3cr3t"), body: Data(pairs.joined(separator: "&").utf8))
        request.fields["Authorization"] = "Bearer \(values[0])"
        request.fields["DPoP"] = values[2]
        let response = HTTPResponse(
            status: 200, fields: ["Set-Cookie": values[3], "Location": "https://a.example/?code=CODE_s3cr3t"],
            body: request.body ?? Data(), url: request.url)
        for text in [shown(request), shown(response)] {
            for secret in try secrets() { #expect(!text.contains(secret)) }
        }
        // The description still contains the method and URL.
        #expect("\(request)" == "POST https://op.example.com/token")
    }
}
