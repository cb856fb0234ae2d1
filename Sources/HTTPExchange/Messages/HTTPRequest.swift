import Platform

/// A request method. The set is open; names are case-sensitive.
public struct HTTPMethod: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The name on the wire.
    public let rawValue: String

    /// A method of this name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// GET
    public static let get = HTTPMethod(rawValue: "GET")
    /// HEAD
    public static let head = HTTPMethod(rawValue: "HEAD")
    /// POST
    public static let post = HTTPMethod(rawValue: "POST")
    /// PUT
    public static let put = HTTPMethod(rawValue: "PUT")
    /// PATCH
    public static let patch = HTTPMethod(rawValue: "PATCH")
    /// DELETE
    public static let delete = HTTPMethod(rawValue: "DELETE")

    /// The name on the wire.
    public var description: String { rawValue }
}

/// What a transport does with a 3xx answer.
public enum RedirectPolicy: Sendable, Equatable {
    /// The 3xx answer is the answer. What token endpoints need: a followed redirect would carry the credentials along.
    case none
    /// Follows at most this many, never from https to http, and without `Authorization` once the origin changes.
    case follow(limit: Int)
}

/// A request: values only. Sending it is the work of an ``HTTPTransport``.
///
/// Its descriptions name the method and where it goes, never the query, the fields or the body.
public struct HTTPRequest: Sendable, Equatable {
    /// The method.
    public var method: HTTPMethod
    /// Where the request goes. Sent as it stands, byte for byte.
    public var url: URL
    /// The header fields.
    public var fields: HTTPFields
    /// The content, or nil for none.
    public var content: HTTPBody?
    /// The content where all of it is in memory; nil for none, or where ``content`` is read from elsewhere. Setting it replaces the content.
    public var body: Data? {
        get { content?.data }
        set { content = newValue.map { .bytes($0) } }
    }
    /// The maximum time of the exchange, from the call to the last byte.
    ///
    /// If it is not set, the exchange continues while bytes arrive or leave: it ends after 30 s without a byte, from the call on, which
    /// is the value that this property then has, or after ``idleTimeout``, and after ``maximumDuration`` at the latest. Uploads from
    /// files or streams, streamed responses and downloads have no default limit except ``idleTimeout``.
    public var timeout: Duration {
        get { ownTimeout ?? .seconds(30) }
        set { ownTimeout = newValue }
    }
    /// The maximum time of an exchange in memory without a ``timeout``, 5 minutes: a server that sends a byte now and then does not
    /// hold its client forever.
    public static let maximumDuration = Duration.seconds(300)
    /// The time for reaching the server: name look-up, connection, TLS.
    public var connectTimeout: Duration = .seconds(10)
    /// The maximum time from the last byte of the request to the first byte of the response. If `nil`, ``idleTimeout`` applies.
    public var firstByteTimeout: Duration?
    /// The maximum time without a byte in either direction. If `nil`, 30 s for an exchange in memory and 60 s for another transfer,
    /// both without a ``timeout``; otherwise unlimited.
    /// The time in which the reader of a streamed response reads no byte does not count.
    public var idleTimeout: Duration?
    /// Whether the client needs the response even after its caller stopped waiting, because the request changes the state of the
    /// server. A time limit of the caller does not shorten the ``timeout`` of such a request.
    package var needsResponse = false
    /// The value that was set for ``timeout``.
    package var ownTimeout: Duration?
    /// The maximum size of the response's content after decompression, in bytes.
    public var maximumResponseSize = 1 << 20
    /// Which https servers are believed to be who they say.
    public var trust = ServerTrust.system
    /// The handling of 3xx responses.
    public var redirects: RedirectPolicy = .none

    /// Creates a request with content in memory.
    public init(_ method: HTTPMethod = .get, _ url: URL, fields: HTTPFields = [:], body: Data? = nil) {
        self.init(method, url, fields: fields, content: body.map { .bytes($0) })
    }

    /// Creates a request with content from memory, files or a stream.
    public init(_ method: HTTPMethod = .get, _ url: URL, fields: HTTPFields = [:], content: HTTPBody?) {
        self.method = method
        self.url = url
        self.fields = fields
        self.content = content
    }
}

extension HTTPRequest: Redacted {
    /// The method and the address without its query.
    public var description: String { "\(method) \(url.addressWithoutQuery)" }
}

/// A complete response.
///
/// Its descriptions give the status and the number of bytes, never the fields or the content.
public struct HTTPResponse: Sendable, Equatable {
    /// The status code, 100 to 599.
    public var status: Int
    /// The header fields.
    public var fields: HTTPFields
    /// The content, decompressed.
    public var body: Data
    /// The URL of the response, after redirects.
    public var url: URL?

    /// Creates a response.
    public init(status: Int, fields: HTTPFields = [:], body: Data = Data(), url: URL? = nil) {
        self.status = status
        self.fields = fields
        self.body = body
        self.url = url
    }
}

extension HTTPResponse: Redacted {
    /// The status and the number of bytes.
    public var description: String { "HTTP \(status), \(body.count) bytes" }
}
