import CommandLineKit
import TerminalBrowser
import Platform
import HTTPExchange

/// A transport that tells of each request in one line: status, time, method, address without the host. Neither fields nor bodies, where
/// tokens are, are told; of a query, what may be a secret is masked.
struct RequestLog: HTTPTransport {
    private let inner: any HTTPTransport
    private let timeout: Duration?
    private let inbox: EventQueue

    /// - Parameter timeout: the most time for each request; nil: as it asks for.
    init(_ inner: any HTTPTransport, _ timeout: Duration?, _ inbox: EventQueue) {
        self.inner = inner
        self.timeout = timeout
        self.inbox = inbox
    }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        var request = request
        if let timeout {
            request.timeout = min(timeout, request.timeout)
            request.connectTimeout = min(timeout, request.connectTimeout)
        }
        let begun = ContinuousClock.now
        do {
            let response = try await inner.send(request)
            tell(request, "\(response.status)", begun)
            return response
        } catch let error as HTTPTransportError {
            tell(request, "\(error.kind)", begun)
            throw error
        } catch is CancellationError {
            tell(request, "cancelled", begun)
            throw CancellationError()
        }
    }

    private func tell(_ request: HTTPRequest, _ end: String, _ begun: ContinuousClock.Instant) {
        let milliseconds = (ContinuousClock.now - begun) / .milliseconds(1)
        // The end of a long line is not seen.
        inbox.post(.logged("\(end) \(Int(milliseconds.rounded())) ms \(request.method) \(Self.target(request.url))"))
    }

    /// Path and query, with what may be secret in it masked.
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
