import HTTPExchange
import OAuth2Protocol
import Synchronization

/// A transport that sends requests with an account's access token.
///
/// It supports everything that a transport supports: complete responses, streamed responses, downloads to files and
/// progress. ``AccountStore/send(_:for:scopes:resource:)`` describes the refresh of tokens, repeated requests and the
/// permitted hosts.
///
/// ```swift
/// let transport = account.transport(in: store)
/// for try await chunk in try await transport.stream(HTTPRequest(.get, url)).body { … }
/// ```
public struct AccountTransport: HTTPTransport {
    private let signer: RequestSigner
    private let id: Account.ID?
    private let scopes: Scope?
    private let resource: String?

    init(signer: RequestSigner, id: Account.ID?, scopes: Scope?, resource: String?) {
        self.signer = signer
        self.id = id
        self.scopes = scopes
        self.resource = resource
    }

    /// Sends the request with the account's access token and returns the complete response, with any status.
    ///
    /// - Throws: The errors of ``AccountStore/send(_:for:scopes:resource:)``.
    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        try await exchange(request).run { transport, request in
            let response = try await transport.send(request)
            return (response, response)
        }
    }

    /// Sends the request with the account's access token and returns the response as soon as its header fields arrive.
    ///
    /// If the resource rejects the token, the transport discards the response without reading its content, and repeats
    /// the request with a refreshed token.
    ///
    /// - Throws: The errors of ``AccountStore/send(_:for:scopes:resource:)``; `HTTPFileError` if the content of the
    ///   request cannot be read.
    public func stream(_ request: HTTPRequest, progress: HTTPProgress.Handler?) async throws -> HTTPStreamedResponse {
        let tries = AttemptProgress(progress)
        defer { tries.finish() }
        return try await exchange(request).run { transport, request in
            let answer = try await transport.stream(request, progress: tries.next())
            return (HTTPResponse(status: answer.status, fields: answer.fields, url: answer.url), answer)
        }
    }

    private func exchange(_ request: HTTPRequest) -> AuthorizedRequest {
        AuthorizedRequest(signer: signer, request: request, id: id, scopes: scopes, resource: resource)
    }
}

/// Reports the progress of a request that can be sent several times. Only the last attempt reports the end.
private final class AttemptProgress: Sendable {
    private struct State {
        var current = 0
        /// The last report of the current attempt, held back until it is known whether there is another attempt.
        var end: HTTPProgress?
        var isFinal = false
    }

    private let handler: HTTPProgress.Handler?
    private let state = Mutex(State())

    init(_ handler: HTTPProgress.Handler?) { self.handler = handler }

    /// Returns the progress handler of the next attempt, and drops later reports of the previous attempts.
    func next() -> HTTPProgress.Handler? {
        guard let handler else { return nil }
        let number = state.withLock { state in
            state.current += 1
            state.end = nil
            return state.current
        }
        return { progress in
            let isReported = self.state.withLock { state in
                guard state.current == number else { return false }
                guard progress.hasEnded, !state.isFinal else { return true }
                state.end = progress
                return false
            }
            if isReported { handler(progress) }
        }
    }

    /// Reports the end of the current attempt, which is the last one.
    func finish() {
        let end = state.withLock { state in
            state.isFinal = true
            return state.end
        }
        if let end { handler?(end) }
    }
}
