import Platform
import HTTPExchange

/// A request that reached a ``LoopbackListener``.
///
/// It is well formed and was meant for this listener: its `Host` is the bound address and port.
/// Its descriptions name the method and the path, never the query, the fields or the body.
package struct LoopbackRequest: Sendable, Equatable {
    /// The method.
    package var method: HTTPMethod
    /// The request target as it was sent.
    package var target: String
    /// The path as it was sent: percent-encoded, dot segments kept. At least `/`, or `*` for `OPTIONS *`.
    package var path: String
    /// What follows the first `?`, percent-encoded, or nil without a `?`.
    package var query: String?
    /// The header fields.
    package var fields: HTTPFields
    /// The content; empty without one.
    package var body: Data
    /// The `Host` field, in lower case.
    package var host: String

    /// A request with these parts.
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

extension LoopbackRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The method and the path.
    package var description: String { "\(method) \(path)" }
    /// The same as ``description``.
    package var debugDescription: String { description }
    /// The method and the path.
    package var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}

/// The answer to a ``LoopbackRequest``.
///
/// The listener adds what every answer must carry and this one does not: `Date`, `Cache-Control: no-store`,
/// `Referrer-Policy: no-referrer`, `X-Content-Type-Options: nosniff`, a `Content-Security-Policy` and a `Content-Type`
/// with a charset. It writes `Content-Length` and `Connection` itself.
package struct LoopbackResponse: Sendable, Equatable {
    /// The status code, 200 to 599. Anything else is sent as 500.
    package var status: Int
    /// The header fields. A field with a line break in it is not sent.
    package var fields: HTTPFields
    /// The content. Not sent in answer to HEAD, nor with 204 and 304.
    package var body: Data
    /// Ends the connection after this answer.
    package var closesConnection = false
    /// A disturbance to play, for tests and demonstrations.
    package var fault: InjectedLoopbackError?

    /// An answer of this status.
    package init(status: Int, fields: HTTPFields = [:], body: Data = Data(), fault: InjectedLoopbackError? = nil) {
        self.status = status
        self.fields = fields
        self.body = body
        self.fault = fault
    }
}

extension LoopbackResponse: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The status and the number of bytes.
    package var description: String { "HTTP \(status), \(body.count) bytes" }
    /// The same as ``description``.
    package var debugDescription: String { description }
    /// The status and the number of bytes.
    package var customMirror: Mirror { Mirror(self, children: ["response": description]) }
}

/// A disturbance in an answer, for tests and demonstrations.
package enum InjectedLoopbackError: Sendable, Equatable {
    /// Ends the connection without a byte of answer.
    case closeWithoutAnswer
    /// Sends the head and this many bytes of the content that the head promises, then ends the connection.
    case cut(bodyBytes: Int)
    /// Never answers. The connection stays until the client or the listener closes it.
    case stall
    /// Sends the head, then the content in pieces of `bytes`, waiting `every` before each.
    case drip(bytes: Int, every: Duration)
    /// Sends the content, then spaces until the content has this many bytes. No length is promised, and nothing of that
    /// size is kept in memory.
    case endless(bytes: UInt64)
}
