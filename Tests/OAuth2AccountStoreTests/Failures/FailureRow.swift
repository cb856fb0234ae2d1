import Foundation
import HTTPExchange
import JOSE
import OAuth2Protocol
import StoreTestSupport
import StrictJSON
import Synchronization
import TestSupport
import Testing

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import LodgePlatform

/// A row of the failure table: an error and the expected result.
struct FailureRow: Sendable, CustomTestStringConvertible {
    let id: String
    let given: JSONObject
    let expect: JSONObject

    var testDescription: String { id }
    var via: String { given["via"]?.string ?? "" }

    static let all: [FailureRow] = {
        guard let rows = try? VectorFile.object("failures.json")["rows"]?.array else {
            Issue.record("failures.json cannot be read")
            return []
        }
        return rows.compactMap(\.object).map {
            FailureRow(id: $0["id"]?.string ?? "", given: $0, expect: $0["expect"]?.object ?? [:])
        }
    }()

    /// The response that the row describes.
    var response: HTTPResponse {
        var fields = HTTPFields()
        for member in (given["headers"]?.object ?? [:]).members { fields[member.name] = member.value.string }
        var body = Data((given["text"]?.string ?? "").utf8)
        if let object = given["body"] {
            body = Data(object.serialized())
            fields["Content-Type"] = "application/json"
        }
        return HTTPResponse(status: given.int("status") ?? 200, fields: fields, body: body)
    }

    /// Returns the response of the row, or throws its transport error.
    func answer() throws -> HTTPResponse {
        guard let name = given["transport"]?.string else { return response }
        let kind = try #require(HTTPTransportError.Kind(rawValue: name))
        throw HTTPTransportError(kind, host: "op.example", reason: given["reason"]?.string ?? "")
    }

    /// Returns the name of a kind in the table.
    static func word(_ kind: AccountStoreError.Kind) -> String {
        switch kind {
        case .signInNeeded(let reason): "signInNeeded.\(reason.rawValue)"
        case .storage(let kind): "storage.\(kind)"
        default: "\(kind)"
        }
    }

    /// Returns the name of a remedy in the table.
    static func word(_ remedy: AccountStoreError.Remedy) -> String {
        if case .retryLater = remedy { return "retryLater" }
        return "\(remedy)"
    }
}

/// A plain OAuth 2 provider. The test sets its responses; each is sent once.
final class FailingProvider: HTTPTransport {
    typealias Answer = @Sendable (HTTPRequest) throws -> HTTPResponse
    private let answers = Mutex<[Answer]>([])
    private let sent = Mutex<[HTTPRequest]>([])

    func next(_ answer: @escaping Answer) { answers.withLock { $0.append(answer) } }
    /// Removes the remaining responses of the test, so that requests succeed.
    func recover() { answers.withLock { $0 = [] } }
    var requests: [HTTPRequest] { sent.withLock { $0 } }

    static let tokens: JSONValue = [
        "access_token": "AT-new", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "RT-new",
    ]

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        sent.withLock { $0.append(request) }
        let answer = answers.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        if let answer { return try answer(request) }
        return request.url.path().contains("well-known")
            ? .json(["issuer": "https://op.example", "token_endpoint": "https://op.example/token"])
            : .json(Self.tokens)
    }
}
