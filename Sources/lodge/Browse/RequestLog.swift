import CommandLineKit
import TerminalBrowser
import LodgePlatform
import HTTPExchange

/// A transport that logs each request in one line: status, time, method, and URL without the host.
///
/// It logs no fields or bodies, which contain tokens, and redacts secrets in queries.
struct RequestLog: HTTPTransport {
    let inner: any HTTPTransport
    /// The maximum time for a request, if shorter than the request's own limit.
    let timeout: Duration?
    let inbox: EventQueue

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        var request = request
        if let timeout { request.limitTime(to: timeout) }
        let start = ContinuousClock.now
        do {
            let response = try await inner.send(request)
            log(request, "\(response.status)", start)
            return response
        } catch let error as HTTPTransportError {
            log(request, "\(error.kind)", start)
            throw error
        } catch is CancellationError {
            log(request, "cancelled", start)
            throw CancellationError()
        }
    }

    private func log(_ request: HTTPRequest, _ end: String, _ start: ContinuousClock.Instant) {
        let milliseconds = (ContinuousClock.now - start) / .milliseconds(1)
        // The status comes first, because the end of a long line is cut.
        inbox.post(.logged("\(end) \(Int(milliseconds.rounded())) ms \(request.method) \(Self.target(request.url))"))
    }

    /// Returns path and query with secrets redacted.
    static func target(_ url: URL) -> String {
        let path = url.path(percentEncoded: true)
        guard let query = url.query(percentEncoded: true) else { return path.isEmpty ? "/" : path }
        let parts = query.split(separator: "&", omittingEmptySubsequences: false).map { part in
            let name = part.prefix { $0 != "=" }
            return Self.isSecret(name.lowercased()) ? "\(name)=***" : String(part)
        }
        return path + "?" + parts.joined(separator: "&")
    }

    private static func isSecret(_ name: String) -> Bool {
        name == "code"
            || ["token", "secret", "password", "assertion", "verifier"].contains { name.contains($0) }
                && !name.hasSuffix("skiptoken")
    }
}
