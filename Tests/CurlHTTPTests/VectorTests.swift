import Foundation
import StrictJSON
import TestSupport
import Testing

@testable import CurlHTTP
@testable import HTTPExchange

/// The published cases about the transport itself. What concerns a step above it is tested there.
@Suite struct `Transport vectors` {
    struct Case: Sendable, CustomTestStringConvertible {
        var id: String
        var title: String
        var input: JSONObject
        var expect: JSONObject
        var testDescription: String { "\(id) \(title)" }
    }

    static let cases: [Case] = {
        guard let file = try? VectorFile.object("transport.json") else { return [] }
        return (file["cases"]?.array ?? []).compactMap { element in
            guard let object = element.object, let id = object["id"]?.string, let title = object["title"]?.string,
                let input = object["input"]?.object, let expect = object["expect"]?.object
            else { return nil }
            return Case(id: id, title: title, input: input, expect: expect)
        }
    }()

    static func cases(with members: String...) -> [Case] {
        cases.filter { one in members.allSatisfy { one.input[$0] != nil } }
    }

    let transport = CurlTransport()

    @Test func `every case is read`() { #expect(Self.cases.count == 33) }

    @Test(arguments: cases(with: "status", "location").filter { $0.input["follow"] == nil })
    func `redirects are answers`(one: Case) async throws {
        let status = try #require(one.input["status"]?.number?.int64)
        let location = try #require(one.input["location"]?.string)
        let server = try ScriptedServer { _ in answer("\(status) Moved", "Location: \(location)\r\n") }
        let response = try await transport.send(HTTPRequest(.post, server.url("/token"), body: Data("code=x".utf8)))
        #expect(response.status == Int(status))
        #expect(server.requests.count == 1)
    }

    @Test(arguments: cases(with: "follow"))
    func `a followed redirect leaves credentials behind`(one: Case) throws {
        var request = HTTPRequest(.get, url("https://rs.example.com/r"))
        let names = try #require(one.expect["forwarded_headers_absent"]?.array).compactMap(\.string)
        for name in names { request.fields[name] = "secret" }
        #expect(!names.isEmpty)
        let location = try #require(one.input["location"]?.string)
        do {
            let next = try request.redirected(
                by: HTTPResponse(status: 302, fields: ["Location": location]), origin: CurlTransport.origin(of:))
            for name in names { #expect(next?.fields[name] == nil) }
        } catch {
            #expect(error.kind == .redirectRefused)
        }
    }

    @Test(arguments: cases(with: "url"))
    func `what may be sent where`(one: Case) throws {
        let address = url(try #require(one.input["url"]?.string))
        let outcome = try #require(one.expect["outcome"]?.string)
        switch outcome {
        case "sent": #expect(try RequestAddress(address).isLoopback)
        default:
            let error = #expect(throws: HTTPTransportError.self) { try RequestAddress(address) }
            #expect(error?.kind == .plainHTTPRefused)
        }
    }

    @Test(arguments: cases(with: "response_header_lines") + cases(with: "response_header_list"))
    func `odd headers are read`(one: Case) async throws {
        var lines = ""
        for number in 0..<Int(one.input["response_header_lines"]?.number?.int64 ?? 0) { lines += "X-\(number): v\r\n" }
        for pair in one.input["response_header_list"]?.array ?? [] {
            let parts = pair.array?.compactMap(\.string) ?? []
            lines += parts.joined(separator: ": ") + "\r\n"
        }
        let status = one.input["status"]?.number?.int64 ?? 200
        let head = lines
        let server = try ScriptedServer { _ in answer("\(status) X", head) }
        let response = try await transport.send(HTTPRequest(.post, server.url()))
        #expect(response.status == Int(status))
        if let nonce = one.expect["nonce_seen"]?.string { #expect(response.fields["DPoP-Nonce"] == nonce) }
        for line in lines.split(separator: "\r\n") {
            let parts = line.split(separator: ":", maxSplits: 1)
            let value = parts[1].trimmingCharacters(in: .whitespaces)
            #expect(response.fields.values(for: String(parts[0])).contains(value))
        }
    }
}
