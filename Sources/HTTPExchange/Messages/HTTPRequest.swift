import LodgePlatform

/// A request method. The set is open; names are case-sensitive.
public struct HTTPMethod: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The name on the wire.
    public let rawValue: String

    /// Creates a method with this name.
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

/// The handling of 3xx responses.
public enum RedirectPolicy: Sendable, Equatable {
    /// Returns the 3xx response.
    ///
    /// Required for token endpoints, because following a redirect would forward the credentials.
    case none
    /// Follows at most this many redirects.
    ///
    /// Never follows a redirect from https to http, and removes `Authorization` if the origin changes.
    case follow(limit: Int)
}

/// A request as a value. An ``HTTPTransport`` sends it.
///
/// Its descriptions contain the method and the URL without the query, never fields or the body.
public struct HTTPRequest: Sendable, Equatable {
    /// The method.
    public var method: HTTPMethod
    /// The URL, sent unchanged.
    public var url: URL
    /// The header fields.
    public var fields: HTTPFields
    /// The content, or `nil` for a request without content.
    public var content: HTTPBody?
    /// The content if it is in memory.
    ///
    /// `nil` without content or if ``content`` is read from elsewhere. Setting it replaces the content.
    public var body: Data? {
        get { content?.data }
        set { content = newValue.map { .bytes($0) } }
    }
    /// The maximum time of the exchange, from the call to the last byte.
    ///
    /// If it is not set, the exchange continues while bytes are transferred: it ends after 30 s without a byte (the
    /// value of this property in that case) or after ``idleTimeout``, and at the latest after ``maximumDuration``.
    /// Uploads from files or streams, streamed responses and downloads have no default limit except ``idleTimeout``.
    public var timeout: Duration {
        get { ownTimeout ?? .seconds(30) }
        set { ownTimeout = newValue }
    }
    /// The maximum time of an exchange in memory without a ``timeout``: 5 minutes.
    ///
    /// A slow server cannot delay its client forever.
    public static let maximumDuration = Duration.seconds(300)
    /// The maximum time to reach the server: name resolution, connection, TLS.
    public var connectTimeout: Duration = .seconds(10)
    /// The maximum time from the last byte of the request to the first byte of the response.
    ///
    /// If `nil`, ``idleTimeout`` applies.
    public var firstByteTimeout: Duration?
    /// The maximum time without a byte in either direction.
    ///
    /// If `nil`, it is 30 s for an exchange in memory and 60 s for other transfers, both without a ``timeout``;
    /// otherwise unlimited. Time in which the reader of a streamed response does not read is not counted.
    public var idleTimeout: Duration?
    /// Whether the client needs the response even after its caller stopped waiting.
    ///
    /// True if the request changes state on the server.
    ///
    /// A time limit of the caller does not shorten the ``timeout`` of such a request.
    package var needsResponse = false
    /// The value explicitly set for ``timeout``.
    package var ownTimeout: Duration?
    /// The maximum size in bytes of the response's content after decompression.
    public var maximumResponseSize = 1 << 20
    /// The maximum number of concurrent requests to the origin; `nil` for the limit of the transport.
    package var requestsPerOrigin: Int?
    /// Whether the request may go to a link-local address (169.254.0.0/16) by plain http, without a proxy.
    ///
    /// Only for the metadata services of cloud platforms, which have no https.
    package var allowsLinkLocal = false
    /// The trusted certificate authorities and keys of https servers.
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
    /// The method and the URL without its query.
    public var description: String { "\(method) \(url.addressWithoutQuery)" }
}

/// A complete response.
///
/// Its descriptions contain the status and the number of bytes, never fields or the content.
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
