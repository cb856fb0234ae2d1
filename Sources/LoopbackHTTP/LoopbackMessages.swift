import LodgePlatform
import HTTPExchange

/// A request that reached a ``LoopbackListener``.
///
/// It is well formed, and its `Host` is the bound address and port. Its descriptions name the method and the path,
/// never the query, the fields or the body.
package struct LoopbackRequest: Sendable, Equatable {
    package var method: HTTPMethod
    /// The unchanged request target.
    package var target: String
    /// The unchanged path: percent-encoded, with dot segments. At least `/`, or `*` for `OPTIONS *`.
    package var path: String
    /// The query after the first `?`, percent-encoded, or `nil` without a `?`.
    package var query: String?
    package var fields: HTTPFields
    package var body: Data
    /// The `Host` field, in lower case.
    package var host: String

    package init(
        method: HTTPMethod = .get, target: String, path: String, query: String? = nil, fields: HTTPFields = [:],
        body: Data = Data(), host: String
    ) {
        self.method = method
        self.target = target
        self.path = path
        self.query = query
        self.fields = fields
        self.body = body
        self.host = host
    }
}

extension LoopbackRequest: Redacted {
    package var description: String { "\(method) \(path)" }
}

/// The response to a ``LoopbackRequest``.
///
/// The listener adds missing fields: `Date`, `Cache-Control: no-store`, `Referrer-Policy: no-referrer`,
/// `X-Content-Type-Options: nosniff`, a `Content-Security-Policy` and a `Content-Type` with a charset. It writes
/// `Content-Length` and `Connection` itself.
package struct LoopbackResponse: Sendable, Equatable {
    /// The status code, 200 to 599. Other values are sent as 500.
    package var status: Int
    /// The header fields. A field with a line break is not sent.
    package var fields: HTTPFields
    /// The content. Not sent in response to HEAD, nor with 204 and 304.
    package var body: Data
    /// Ends the connection after this response.
    package var closesConnection = false
    /// An injected error, for tests and demonstrations.
    package var injectedError: InjectedLoopbackError?

    package init(
        status: Int, fields: HTTPFields = [:], body: Data = Data(), injectedError: InjectedLoopbackError? = nil
    ) {
        self.status = status
        self.fields = fields
        self.body = body
        self.injectedError = injectedError
    }
}

extension LoopbackResponse: Redacted {
    package var description: String { "HTTP \(status), \(body.count) bytes" }
}

/// An error that is injected into a response, for tests and demonstrations.
package enum InjectedLoopbackError: Sendable, Equatable {
    /// Ends the connection without a byte of response.
    case closeWithoutResponse
    /// Sends the head and this many bytes of the promised content, then closes the connection.
    case cut(bodyBytes: Int)
    /// Never responds. The connection stays until the client or the listener closes it.
    case stall
    /// Sends the head, then the content in pieces of `bytes`, waiting `every` before each.
    case drip(bytes: Int, every: Duration)
    /// Sends the content, then spaces until the content has this many bytes. The head contains no length, and the
    /// listener does not allocate that size.
    case endless(bytes: UInt64)
}
