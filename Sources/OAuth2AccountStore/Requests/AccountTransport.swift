import HTTPExchange
import OAuth2Protocol
import Synchronization

/// Sends requests in an account's name: a transport that signs what it sends.
///
/// What any transport can do, it can: whole answers, streamed ones, downloads into files, progress. How tokens are renewed, what is sent
/// again and where a token may go is as with ``AccountStore/send(_:for:scopes:resource:)``.
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

    /// Sends the request in the account's name and gives the whole answer, whatever its status.
    ///
    /// - Throws: as ``AccountStore/send(_:for:scopes:resource:)`` does.
    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        try await exchange(request).run { transport, request in
            let response = try await transport.send(request)
            return (response, response)
        }
    }

    /// Sends the request in the account's name and gives the answer as soon as its fields are there.
    ///
    /// An answer that says that the token is no longer good is not given: its content is left unread and the request sent again.
    ///
    /// - Throws: as ``AccountStore/send(_:for:scopes:resource:)`` does, and `HTTPFileError` for content that cannot be read.
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

/// The progress of a request that can be sent several times: only the last attempt reports the end.
private final class AttemptProgress: Sendable {
    private struct State {
        var current = 0
        /// The end of the current attempt, until it is known whether there is another one.
        var end: HTTPProgress?
        var isFinal = false
    }

    private let handler: HTTPProgress.Handler?
    private let state = Mutex(State())

    init(_ handler: HTTPProgress.Handler?) { self.handler = handler }

    /// Returns the handler of the next attempt. Reports of the previous ones are dropped.
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
