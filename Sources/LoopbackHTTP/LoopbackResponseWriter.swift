import Platform
import HTTPExchange

/// An answer on its way: its bytes, how far they are sent, and what follows.
struct LoopbackResponseWriter {
    /// Bytes that are sent as they are.
    private(set) var bytes: [UInt8]
    private var position = 0
    /// How many filler bytes follow them. They are made when they are sent.
    private var filler: UInt64 = 0
    /// The pieces of a drip: how many bytes, how often, and where the dripping begins.
    private(set) var drip: (bytes: Int, every: Duration, from: Int)?
    /// Whether the connection may carry another request afterwards.
    private(set) var keepsConnection: Bool
    /// A disturbance that never comes to an end of its own soon: not waited for when the listener closes.
    let isEndless: Bool

    private static let fillerPiece = [UInt8](repeating: 0x20, count: 64 << 10)

    /// Nothing but the leave to send the content.
    static let goOn = LoopbackResponseWriter(bytes: Array("HTTP/1.1 100 Continue\r\n\r\n".utf8), keepsConnection: true)

    private init(bytes: [UInt8], keepsConnection: Bool) {
        self.bytes = bytes
        self.keepsConnection = keepsConnection
        isEndless = false
    }

    /// The refusal of a request that the handler never sees. It repeats nothing of the request.
    init(_ refusal: LoopbackRequestReader.Refusal) {
        let text = "\(refusal.status) \(LoopbackResponseWriter.phrase(refusal.status)): \(refusal.reason)\n"
        var response = LoopbackResponse(status: refusal.status, body: Data(text.utf8))
        response.closesConnection = true
        self.init(response, isHead: false, keepsConnection: false, now: LoopbackResponseWriter.now())
    }

    /// The answer to a request.
    init(_ response: LoopbackResponse, isHead: Bool, keepsConnection: Bool, now: Int) {
        let status = (200...599).contains(response.status) ? response.status : 500
        let hasContent = !isHead && status != 204 && status != 304
        var isUnbounded = false
        if hasContent, case .endless = response.fault { isUnbounded = true }
        var keeps = keepsConnection && !response.closesConnection && !isUnbounded
        if case .cut = response.fault { keeps = false }
        var head = Self.head(
            status: status, fields: response.fields, length: isUnbounded ? nil : response.body.count, now: now)
        head += keeps ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n"
        var bytes = Array(head.utf8)
        let headBytes = bytes.count
        if hasContent { bytes.append(contentsOf: response.body) }
        switch response.fault {
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
        add("Date", date(now))
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

    /// Framing is the listener's; a line break in a field would begin another one.
    private static func isSendable(_ field: HTTPFields.Field) -> Bool {
        switch field.name.lowercased() {
        case "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "trailer": return false
        default: break
        }
        return !field.name.isEmpty && field.name.utf8.allSatisfy(LoopbackRequestReader.isTokenByte)
            && field.value.utf8.allSatisfy { ($0 >= 0x20 || $0 == 0x09) && $0 != 0x7F }
    }

    // MARK: Sending

    /// Whether the head is sent and only dripping content is left.
    var isDripping: Bool {
        guard let drip else { return false }
        return position >= drip.from && position < bytes.count
    }

    var isSent: Bool { position == bytes.count && filler == 0 }

    /// What to send next; at most the drip's piece, or the rest of the head.
    var next: ArraySlice<UInt8> {
        if position < bytes.count {
            guard let drip else { return bytes[position...] }
            if position < drip.from { return bytes[position..<drip.from] }
            return bytes[position..<min(bytes.count, position + drip.bytes)]
        }
        return Self.fillerPiece.prefix(Int(clamping: min(filler, UInt64(Self.fillerPiece.count))))
    }

    /// Notes that this many of ``next`` are sent.
    mutating func sent(_ count: Int) {
        if position < bytes.count {
            position += count
        } else {
            filler -= min(filler, UInt64(count))
        }
    }
}

// MARK: Words and dates

extension LoopbackResponseWriter {
    /// Seconds since 1970.
    static func now() -> Int { Int(Date().timeIntervalSince1970.rounded(.down)) }

    /// The date as HTTP writes it, such as `Sun, 06 Nov 1994 08:49:37 GMT`. RFC 9110 section 5.6.7.
    static func date(_ secondsSince1970: Int) -> String {
        let seconds = min(max(secondsSince1970, 0), 253_402_300_799)
        let days = seconds / 86_400
        let rest = seconds % 86_400
        // Civil date from a day count, in eras of 400 years that begin on 1 March.
        let shifted = days + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * month + 2) / 5 + 1
        let months = ["Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec", "Jan", "Feb"]
        let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        let year = era * 400 + yearOfEra + (month >= 10 ? 1 : 0)
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(weekdays[days % 7]), \(two(day)) \(months[month]) \(year) "
            + "\(two(rest / 3_600)):\(two(rest / 60 % 60)):\(two(rest % 60)) GMT"
    }

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
