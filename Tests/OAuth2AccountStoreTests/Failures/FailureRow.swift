import Foundation
import HTTPExchange
import JOSE
import OAuth2Protocol
import StrictJSON
import Synchronization
import TestSupport
import Testing

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import Platform

/// A row of the table of failures: how it comes about, and what follows.
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

    /// The answer that the row describes.
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

    /// What the network does.
    func answer() throws -> HTTPResponse {
        guard let name = given["transport"]?.string else { return response }
        let kind = try #require(HTTPTransportError.Kind(rawValue: name))
        throw HTTPTransportError(kind, host: "op.example", reason: given["reason"]?.string ?? "")
    }

    /// The word for a kind in the table.
    static func word(_ kind: AccountStoreError.Kind) -> String {
        switch kind {
        case .signInNeeded(let reason): "signInNeeded.\(reason.rawValue)"
        case .storage(let kind): "storage.\(kind)"
        default: "\(kind)"
        }
    }

    /// The word for a remedy in the table.
    static func word(_ remedy: AccountStoreError.Remedy) -> String {
        if case .retryLater = remedy { return "retryLater" }
        return "\(remedy)"
    }
}

/// A provider of plain OAuth 2 whose answers the test decides, each for once.
final class FailingProvider: HTTPTransport {
    typealias Answer = @Sendable (HTTPRequest) throws -> HTTPResponse
    private let answers = Mutex<[Answer]>([])
    private let sent = Mutex<[HTTPRequest]>([])

    func next(_ answer: @escaping Answer) { answers.withLock { $0.append(answer) } }
    /// From now on it works.
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

/// A storage whose next replacement or reading fails.
final class FaultyStorage: WrappedStorage {
    let inner = MemoryStorage()
    private let fault = Mutex<StorageError?>(nil)

    func fail(with error: StorageError) { fault.withLock { $0 = error } }
    private func check() throws {
        let error = fault.withLock { fault in
            defer { fault = nil }
            return fault
        }
        if let error { throw error }
    }

    func watch(_ handler: @escaping @Sendable () -> Void) throws -> (any StorageLock)? { nil }
    func checkWritable() async throws { try check() }
}

/// A keyring that does not give its key.
struct UnusableKeyring: KeyCustody {
    let reason: String
    var location: String { "keyring" }
    private var fault: KeyCustodyError { KeyCustodyError(location: location, reason: reason, hint: "what to do") }
    func key() throws -> SealingKey? { throw fault }
    func create() throws -> SealingKey { throw fault }
}
