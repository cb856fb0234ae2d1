import LodgePlatform
import HTTPExchange

/// A response that is being sent: its bytes, the position, and the filler after them.
struct LoopbackResponseWriter {
    /// The bytes to send.
    private(set) var bytes: [UInt8]
    private var position = 0
    /// The number of filler bytes after them, which are created while sending.
    private var filler: UInt64 = 0
    /// The size of the pieces of a drip, their interval, and the position of the first.
    private(set) var drip: (bytes: Int, every: Duration, from: Int)?
    /// Whether another request may follow on the connection.
    private(set) var keepsConnection: Bool
    /// Whether sending takes so long that a closing listener does not wait for it.
    let isEndless: Bool

    private static let fillerPiece = [UInt8](repeating: 0x20, count: 64 << 10)

    /// The interim response that lets the client send its content.
    static let continueResponse = LoopbackResponseWriter(
        bytes: Array("HTTP/1.1 100 Continue\r\n\r\n".utf8), keepsConnection: true)

    private init(bytes: [UInt8], keepsConnection: Bool) {
        self.bytes = bytes
        self.keepsConnection = keepsConnection
        isEndless = false
    }

    /// Creates the response to a rejected request. It repeats no part of the request.
    init(_ rejection: LoopbackRequestReader.Rejection) {
        let text = "\(rejection.status) \(LoopbackResponseWriter.phrase(rejection.status)): \(rejection.reason)\n"
        var response = LoopbackResponse(status: rejection.status, body: Data(text.utf8))
        response.closesConnection = true
        self.init(response, isHead: false, keepsConnection: false, now: LoopbackResponseWriter.now())
    }

    /// Creates the response to a request.
    init(_ response: LoopbackResponse, isHead: Bool, keepsConnection: Bool, now: Int) {
        let status = (200...599).contains(response.status) ? response.status : 500
        let hasContent = !isHead && status != 204 && status != 304
        var isUnbounded = false
        if hasContent, case .endless = response.injectedError { isUnbounded = true }
        var keeps = keepsConnection && !response.closesConnection && !isUnbounded
        if case .cut = response.injectedError { keeps = false }
        var head = Self.head(
            status: status, fields: response.fields, length: isUnbounded ? nil : response.body.count, now: now)
        head += keeps ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n"
        var bytes = Array(head.utf8)
        let headBytes = bytes.count
        if hasContent { bytes.append(contentsOf: response.body) }
        switch response.injectedError {
        case .cut(let count): bytes.removeLast(max(0, bytes.count - headBytes - max(0, count)))
        case .endless(let total) where hasContent:
            filler = total > UInt64(response.body.count) ? total - UInt64(response.body.count) : 0
        case .drip(let count, let every): drip = (max(1, count), every, headBytes)
        default: break
        }
        self.bytes = bytes
        self.keepsConnection = keeps
        isEndless = isUnbounded || drip != nil
    }

    private static func head(status: Int, fields: HTTPFields, length: Int?, now: Int) -> String {
        var head = "HTTP/1.1 \(status) \(phrase(status))\r\n"
        var isHTML = false
        for field in fields where isSendable(field) {
            head += "\(field.name): \(field.value)\r\n"
            if field.name.lowercased() == "content-type" { isHTML = field.value.lowercased().hasPrefix("text/html") }
        }
        func add(_ name: String, _ value: String) {
            if fields[name] == nil { head += "\(name): \(value)\r\n" }
        }
        if status != 204, status != 304 { add("Content-Type", "text/plain; charset=utf-8") }
        add("Date", HTTPDate.text(now))
        add("Cache-Control", "no-store")
        add("Referrer-Policy", "no-referrer")
        add("X-Content-Type-Options", "nosniff")
        add(
            "Content-Security-Policy",
            isHTML
                ? "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
                : "default-src 'none'; frame-ancestors 'none'")
        if let length, status != 204 { head += "Content-Length: \(length)\r\n" }
        return head
    }

    /// Returns whether a field may be sent. The listener sets the framing, and a line break would start another field.
    private static func isSendable(_ field: HTTPFields.Field) -> Bool {
        switch field.name.lowercased() {
        case "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "trailer": return false
        default: break
        }
        return HTTPFields.isToken(field.name) && HTTPFields.isValue(field.value)
    }

    // MARK: Sending

    /// Whether the head is sent and dripping content remains.
    var isDripping: Bool {
        guard let drip else { return false }
        return position >= drip.from && position < bytes.count
    }

    var isSent: Bool { position == bytes.count && filler == 0 }

    /// The next bytes: at most a piece of the drip, or the rest of the head.
    var next: ArraySlice<UInt8> {
        if position < bytes.count {
            guard let drip else { return bytes[position...] }
            if position < drip.from { return bytes[position..<drip.from] }
            return bytes[position..<min(bytes.count, position + drip.bytes)]
        }
        return Self.fillerPiece.prefix(Int(clamping: min(filler, UInt64(Self.fillerPiece.count))))
    }

    /// Advances after sending this many bytes of ``next``.
    mutating func sent(_ count: Int) {
        if position < bytes.count {
            position += count
        } else {
            filler -= min(filler, UInt64(count))
        }
    }
}

// MARK: Time and reason phrases

extension LoopbackResponseWriter {
    /// Seconds since 1970.
    static func now() -> Int { Int(Date().timeIntervalSince1970.rounded(.down)) }

    static func phrase(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 204: "No Content"
        case 301: "Moved Permanently"
        case 302: "Found"
        case 303: "See Other"
        case 304: "Not Modified"
        case 307: "Temporary Redirect"
        case 308: "Permanent Redirect"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 406: "Not Acceptable"
        case 409: "Conflict"
        case 410: "Gone"
        case 411: "Length Required"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 415: "Unsupported Media Type"
        case 417: "Expectation Failed"
        case 421: "Misdirected Request"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        case 505: "HTTP Version Not Supported"
        default: "Status \(status)"
        }
    }
}
