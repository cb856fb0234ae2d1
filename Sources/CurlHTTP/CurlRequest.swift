import LodgePlatform
import HTTPExchange

/// A validated request in the form that libcurl needs, which it cannot reject or misinterpret.
struct CurlRequest: Sendable {
    let method: String
    let address: RequestAddress
    /// The host and port for error messages.
    let shownHost: String
    /// Field lines in libcurl's syntax: `Name: value`, `Name;` for an empty value, `Name:` to omit the field.
    let fieldLines: [String]
    let content: HTTPBody?
    let connectTimeout: Duration
    /// The maximum time from the request's last byte to the response's first byte.
    let firstByteTimeout: Duration?
    /// The maximum time between two bytes.
    let idleTimeout: Duration?
    let maximumResponseSize: Int
    let trust: ServerTrust
    /// The maximum number of concurrent requests to the origin, or `nil` for the limit of the transport.
    let requestsPerOrigin: Int?

    /// Whether libcurl may replace a closed connection and resend the request automatically.
    ///
    /// See [RFC 9110 section 9.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2).
    var isIdempotent: Bool { Self.idempotent.contains(method) }

    private static let idempotent: Set<String> = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"]
    /// The fields about the connection or the framing, which libcurl sets.
    private static let reserved: Set<String> = [
        "host", "connection", "proxy-connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade",
        "expect", "http2-settings",
    ]
    private static let maximumFieldBytes = 262_144

    /// Creates a validated request.
    ///
    /// - Parameter isStreamed: Whether the response is streamed.
    init(_ request: HTTPRequest, userAgent: String, isStreamed: Bool = false) throws(HTTPTransportError) {
        address = try RequestAddress(request.url, allowsLinkLocal: request.allowsLinkLocal)
        shownHost = request.url.shownHost
        method = request.method.rawValue
        content = request.content
        let isLarge = content.map { !$0.isInMemory } ?? false
        idleTimeout =
            request.idleTimeout
            ?? (request.ownTimeout == nil ? (isLarge || isStreamed ? .seconds(60) : request.timeout) : nil)
        firstByteTimeout = request.firstByteTimeout
        connectTimeout = request.connectTimeout
        trust = request.trust
        requestsPerOrigin = request.requestsPerOrigin
        maximumResponseSize = max(0, request.maximumResponseSize)
        let host = shownHost
        func refused(_ reason: String) -> HTTPTransportError {
            HTTPTransportError(.invalidRequest, host: host, reason: reason)
        }
        guard trust.pinnedKeys.isEmpty || address.scheme == "https" else {
            throw HTTPTransportError(
                .tls, host: host,
                reason: "The server's key is pinned, and plain http does not have one. Use an https URL.")
        }
        guard HTTPFields.isToken(method), method.utf8.count <= 64 else {
            throw refused("The method is not a token of letters; use a name like GET or POST.")
        }
        guard method != "CONNECT" else { throw refused("CONNECT is for proxies and cannot be sent.") }
        guard content == nil || method != "HEAD" else { throw refused("A HEAD request cannot have content.") }

        var lines: [String] = []
        var size = 0
        for field in request.fields {
            guard HTTPFields.isToken(field.name) else {
                throw refused("A field's name is empty or has a character that names cannot have.")
            }
            let name = field.name.lowercased()
            guard HTTPFields.isValue(field.value) else {
                throw refused("The value of \(field.name) has a line break or another control character.")
            }
            guard !Self.reserved.contains(name) else {
                throw refused("\(field.name) is set by the transport; omit it.")
            }
            let value = Self.trimmed(field.value)
            if name == "content-length" {
                guard let length = Self.length(of: request.content), value == String(length) else {
                    throw refused("Content-Length is not the number of bytes of the content; omit it.")
                }
                continue
            }
            size += field.name.utf8.count + value.utf8.count
            guard size <= Self.maximumFieldBytes else {
                throw refused("The header fields have more than \(Self.maximumFieldBytes) bytes.")
            }
            lines.append(value.isEmpty ? "\(field.name);" : "\(field.name): \(value)")
        }
        if request.fields["User-Agent"] == nil {
            guard HTTPFields.isValue(userAgent) else {
                throw refused("The user agent's name has a line break or another control character.")
            }
            if !Self.trimmed(userAgent).isEmpty { lines.append("User-Agent: \(Self.trimmed(userAgent))") }
        }
        // Remove the fields that libcurl adds to a request with content.
        if request.fields["Content-Type"] == nil { lines.append("Content-Type:") }
        fieldLines = lines
    }

    /// Whether the request does not accept compression.
    var asksForContentAsItIs: Bool { fieldLines.contains { $0.lowercased() == "accept-encoding: identity" } }

    /// Returns the number of bytes, or `nil` if it is unknown. Errors of a file are reported when it is opened.
    private static func length(of content: HTTPBody?) -> Int64? {
        guard let content else { return 0 }
        return (try? content.length()) ?? nil
    }

    private static func trimmed(_ text: String) -> Substring {
        var rest = text[...]
        while let first = rest.utf8.first, first == 0x20 || first == 0x09 { rest.removeFirst() }
        while let last = rest.utf8.last, last == 0x20 || last == 0x09 { rest.removeLast() }
        return rest
    }
}
