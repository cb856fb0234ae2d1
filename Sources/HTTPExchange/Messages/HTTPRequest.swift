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
    /// The time for the whole exchange, from the call to the last byte: 30 s unless it is set.
    ///
    /// A transfer of any size has no such limit unless it is set here, only ``idleTimeout``: one whose content is not in memory, or whose
    /// answer is streamed or downloaded.
    public var timeout: Duration {
        get { ownTimeout ?? .seconds(30) }
        set { ownTimeout = newValue }
    }
    /// The time for reaching the server: name look-up, connection, TLS.
    public var connectTimeout: Duration = .seconds(10)
    /// The time from the last byte of the request to the first of the answer. Nil: ``idleTimeout`` limits it, too.
    public var firstByteTimeout: Duration?
    /// The longest time in which not one byte goes either way. Nil: 60 s for a transfer without a limit for the whole (see ``timeout``),
    /// none for others. A reader of a streamed answer that takes its time does not count.
    public var idleTimeout: Duration?
    /// Whether the client must receive the response even if no caller waits for it any longer, because the request changes the state
    /// of the server. A time limit of the caller does not shorten ``timeout`` then.
    package var needsResponse = false
    /// The limit for the whole that was asked for.
    package var ownTimeout: Duration?
    /// The most bytes that the answer's content may have, after decompression.
    public var maximumResponseSize = 1 << 20
    /// Which https servers are believed to be who they say.
    public var trust = ServerTrust.system
    /// What happens with a 3xx answer.
    public var redirects: RedirectPolicy = .none

    /// A request of this method to this address.
    public init(_ method: HTTPMethod = .get, _ url: URL, fields: HTTPFields = [:], body: Data? = nil) {
        self.init(method, url, fields: fields, content: body.map { .bytes($0) })
    }

    /// A request whose content may come from files or chunks.
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

/// An answer, whole.
///
/// Its descriptions give the status and the number of bytes, never the fields or the content.
public struct HTTPResponse: Sendable, Equatable {
    /// The status code, 100 to 599.
    public var status: Int
    /// The header fields.
    public var fields: HTTPFields
    /// The content, decompressed.
    public var body: Data
    /// Where the answer came from, after redirects.
    public var url: URL?

    /// An answer of this status.
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
