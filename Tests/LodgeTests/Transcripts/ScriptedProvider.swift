import Foundation
import HTTPExchange
import LoopbackHTTP
import OAuth2AccountStore
import Synchronization

@testable import CommandLineKit
@testable import lodge

/// A provider with metadata and registration. The test sets its responses.
final class ScriptedProvider: Sendable {
    private struct State {
        var answers: [String: (status: Int, body: String)] = [:]
        var responders: [String: @Sendable (LoopbackRequest) -> LoopbackResponse] = [:]
        var requests: [LoopbackRequest] = []
        var date: String?
    }
    private let state = Mutex(State())
    private let port = Mutex<UInt16>(0)
    private let listener = Mutex<LoopbackListener?>(nil)

    init() throws {
        let listening = try LoopbackListener { [weak self] request in
            self?.answer(request) ?? LoopbackResponse(status: 503)
        }
        port.withLock { $0 = listening.port }
        listener.withLock { $0 = listening }
    }

    deinit { listener.withLock { $0?.close() } }

    var issuer: String { "http://127.0.0.1:\(port.withLock { $0 })" }
    var requests: [LoopbackRequest] { state.withLock { $0.requests } }
    func requests(_ path: String) -> [LoopbackRequest] { requests.filter { $0.path == path } }

    /// Sets the response to a path. `ISSUER` in the body becomes the issuer.
    func answer(_ path: String, _ status: Int, _ body: String) {
        let body = body.replacingOccurrences(of: "ISSUER", with: issuer)
        state.withLock {
            $0.answers[path] = (status, body)
            $0.responders[path] = nil
        }
    }

    func answer(_ path: String, _ body: String) { answer(path, 200, body) }

    /// Calls a function for the responses to a path.
    func answer(_ path: String, by respond: @escaping @Sendable (LoopbackRequest) -> LoopbackResponse) {
        state.withLock { $0.responders[path] = respond }
    }

    func tellTime(_ date: String) { state.withLock { $0.date = date } }

    private func answer(_ request: LoopbackRequest) -> LoopbackResponse {
        state.withLock { state in
            state.requests.append(request)
            if let respond = state.responders[request.path] { return respond(request) }
            guard let answer = state.answers["\(request.method) \(request.path)"] ?? state.answers[request.path] else {
                return LoopbackResponse(status: 404)
            }
            var fields: HTTPFields = ["Content-Type": "application/json"]
            if let date = state.date { fields["Date"] = date }
            return LoopbackResponse(status: answer.status, fields: fields, body: Data(answer.body.utf8))
        }
    }

    static let metadata = "/.well-known/openid-configuration"

    /// Sets valid metadata with these additional members.
    func describe(_ more: String = "") {
        answer(
            Self.metadata,
            """
            {"issuer": "ISSUER", "authorization_endpoint": "ISSUER/authorize", "token_endpoint": "ISSUER/token",
            "jwks_uri": "ISSUER/jwks", "registration_endpoint": "ISSUER/register"\(more)}
            """)
        answer("/jwks", #"{"keys": []}"#)
    }
}
