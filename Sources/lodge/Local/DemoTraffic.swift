import CommandLineKit
import LodgePlatform
import HTTPExchange
import OAuth2Protocol
import StrictJSON
import Synchronization

/// The traffic of the demo: the authorization request, and whether a refresh returned a new refresh token.
///
/// It stores no token.
final class DemoTraffic: Sendable {
    private struct Seen {
        var authorization = ""
        var rotation = "possibly equal to"
    }
    private let seen = Mutex(Seen())

    var authorization: String { seen.withLock { $0.authorization } }
    /// "different from" or "the same as", for a sentence.
    var rotation: String { seen.withLock { $0.rotation } }

    func note(authorization url: URL) {
        let query = url.query(percentEncoded: true) ?? ""
        let pairs = FormEncoding.decode(query) ?? []
        func value(_ name: String) -> String? { pairs.first { $0.name == name }?.value }
        var parts = ["response_type=\(value("response_type") ?? "?")"]
        if let method = value("code_challenge_method") { parts.append("PKCE \(method)") }
        for name in ["state", "nonce"] where value(name) != nil { parts.append(name) }
        if let redirect = value("redirect_uri") { parts.append("redirect to \(redirect)") }
        let text = parts.joined(separator: ", ")
        seen.withLock { $0.authorization = text }
    }

    func watching(_ inner: any HTTPTransport) -> any HTTPTransport { Watcher(inner: inner, traffic: self) }

    private func note(_ request: HTTPRequest, _ response: HTTPResponse) {
        guard request.method == .post, let body = request.body,
            let form = FormEncoding.decode(String(decoding: body, as: UTF8.self)),
            let sent = form.first(where: { $0.name == "refresh_token" })?.value,
            let received = (try? JSONValue(parsing: response.body))?.object?["refresh_token"]?.string
        else { return }
        seen.withLock { $0.rotation = sent == received ? "the same as" : "different from" }
    }

    private struct Watcher: HTTPTransport {
        let inner: any HTTPTransport
        let traffic: DemoTraffic

        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            let response = try await inner.send(request)
            traffic.note(request, response)
            return response
        }
    }
}
