import Foundation
import HTTPExchange
import Synchronization

@testable import DirectorySearch

/// A transport that returns scripted responses and records the requests.
final class ScriptedTransport: HTTPTransport {
    struct ScriptEnded: Error {}

    private struct State {
        var answers: [HTTPResponse]
        var requests: [HTTPRequest] = []
    }

    private let state: Mutex<State>
    private let answer: (@Sendable (HTTPRequest) -> HTTPResponse)?

    init(_ answers: [HTTPResponse]) {
        state = Mutex(State(answers: answers))
        answer = nil
    }

    init(answer: @escaping @Sendable (HTTPRequest) -> HTTPResponse) {
        state = Mutex(State(answers: []))
        self.answer = answer
    }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let scripted = state.withLock { state -> HTTPResponse? in
            state.requests.append(request)
            return state.answers.isEmpty ? nil : state.answers.removeFirst()
        }
        if let answer {
            // A loop in the code under test fails the test instead of hanging it.
            guard requests.count <= 1100 else { throw ScriptEnded() }
            return answer(request)
        }
        guard let scripted else { throw ScriptEnded() }
        return scripted
    }

    var requests: [HTTPRequest] { state.withLock { $0.requests } }
    var addresses: [String] { requests.map(\.url.absoluteString) }
    var tokens: [String?] { requests.map { $0.fields["Authorization"] } }
}

/// A thread-safe list of values that a test appends to.
final class Log<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])
    func append(_ value: Value) { values.withLock { $0.append(value) } }
    var all: [Value] { values.withLock { $0 } }
}

extension HTTPResponse {
    static func json(_ text: String, status: Int = 200, _ fields: HTTPFields = [:]) -> HTTPResponse {
        var fields = fields
        if fields["Content-Type"] == nil { fields["Content-Type"] = "application/json;odata.metadata=minimal" }
        return HTTPResponse(status: status, fields: fields, body: Data(text.utf8))
    }

    /// Creates a page of users with these identifiers.
    static func page(_ identifiers: [String], next: String? = nil) -> HTTPResponse {
        let people = identifiers.map { #"{"id":"\#($0)"}"# }.joined(separator: ",")
        let link = next.map { #","@odata.nextLink":"\#($0)""# } ?? ""
        return json(#"{"value":[\#(people)]\#(link)}"#)
    }

    static func failure(_ status: Int, code: String = "", _ fields: HTTPFields = [:]) -> HTTPResponse {
        json(#"{"error":{"code":"\#(code)","message":"no","innerError":{"request-id":"r-1"}}}"#, status: status, fields)
    }
}

let graph = "https://graph.microsoft.com/v1.0"
let testNow = Date(timeIntervalSince1970: 1_768_469_400)  // 2026-01-15T09:30:00Z

/// Creates a client whose delays are only logged.
func client(
    _ transport: any HTTPTransport, base: String = "https://graph.microsoft.com/", waits: Log<Duration>? = nil,
    retry: HTTPRetryPolicy = HTTPRetryPolicy.directory,
    authorization: @escaping DirectoryClient.Authorization = { _ in "token" }
) throws -> DirectoryClient {
    guard let url = URL(string: base) else { throw URLError(.badURL) }
    var client = try DirectoryClient(
        graphAPI: url, transport: transport, retry: retry, authorization: authorization)
    client.sleep = { waits?.append($0) }
    client.now = { testNow }
    client.random = { 0.5 }
    return client
}

extension AsyncSequence {
    func collected() async throws -> [Element] {
        var elements: [Element] = []
        for try await element in self { elements.append(element) }
        return elements
    }
}

/// Returns the directory error that the closure throws, or `nil`.
func failure(of body: () async throws -> some Any) async throws -> DirectoryError? {
    do {
        _ = try await body()
        return nil
    } catch let error as DirectoryError {
        return error
    }
}
