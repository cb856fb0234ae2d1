import LodgePlatform
import HTTPExchange

/// The values of `Host` that this listener accepts.
struct LoopbackAuthority: Sendable, Equatable {
    private let accepted: [String]
    /// The beginning of this listener's URLs.
    let scheme: String

    init(host: String, port: UInt16, isSecure: Bool = false) {
        scheme = isSecure ? "https://" : "http://"
        let names: [String]
        switch host.lowercased() {
        case "localhost": names = ["localhost", "127.0.0.1", "[::1]"]
        case "::1", "[::1]": names = ["[::1]"]
        case let address: names = [address]
        }
        accepted = names.map { "\($0):\(port)" } + (port == (isSecure ? 443 : 80) ? names : [])
    }

    /// Returns whether the listener has this host and port, in lower case.
    func contains(_ authority: String) -> Bool { accepted.contains(authority) }
}

/// Reads requests from bytes that arrive in any pieces, one request at a time.
///
/// [RFC 9112](https://www.rfc-editor.org/rfc/rfc9112)
struct LoopbackRequestReader {
    /// A request that the handler does not receive. The connection ends after the response.
    struct Rejection: Error, Equatable {
        let status: Int
        let reason: String
    }

    enum Step: Equatable {
        /// The request is not complete.
        case more
        /// The request is not complete and the client waits for 100 Continue.
        case mayContinue
        /// A request, its number of bytes in the buffer, and whether the client keeps the connection.
        case request(LoopbackRequest, consumed: Int, keepsConnection: Bool)
    }

    private struct Head {
        var request: LoopbackRequest
        var length: Int
        var contentLength: Int
        var keepsConnection: Bool
    }

    let limits: LoopbackListener.Limits
    let authority: LoopbackAuthority
    /// The beginning of the next line and the position of the scan, so that no byte is scanned twice.
    private var start = 0
    private var lineStart = 0
    private var scanned = 0
    private var lines: [Range<Int>] = []
    private var head: Head?

    init(limits: LoopbackListener.Limits, authority: LoopbackAuthority) {
        self.limits = limits
        self.authority = authority
    }

    /// Reads the buffer, which contains all bytes after the previous request.
    mutating func read(_ buffer: [UInt8]) throws(Rejection) -> Step {
        if head == nil {
            guard try findHead(buffer) else { return .more }
            let parsed = try parseHead(buffer)
            head = parsed
            let expects = parsed.request.fields["Expect"]
            if let expects, expects.lowercased() != "100-continue" {
                throw Rejection(status: 417, reason: "only 100-continue can be expected")
            }
            if expects != nil, parsed.contentLength > 0, buffer.count == parsed.length { return .mayContinue }
        }
        guard let head, buffer.count - head.length >= head.contentLength else { return .more }
        var request = head.request
        let end = head.length + head.contentLength
        if head.contentLength > 0 { request.body = Data(buffer[head.length..<end]) }
        let keeps = head.keepsConnection
        self = LoopbackRequestReader(limits: limits, authority: authority)
        return .request(request, consumed: end, keepsConnection: keeps)
    }

    // MARK: The head's lines

    /// Finds the lines of the head; returns `true` after the empty line.
    private mutating func findHead(_ buffer: [UInt8]) throws(Rejection) -> Bool {
        while scanned < buffer.count {
            let byte = buffer[scanned]
            if lines.isEmpty, scanned == lineStart, byte != 0x0D, byte != 0x0A, !HTTPFields.isTokenByte(byte) {
                throw Rejection(status: 400, reason: "this is not HTTP")
            }
            scanned += 1
            guard byte == 0x0A else { continue }
            let line = line(before: scanned - 1, of: buffer)
            lineStart = scanned
            if line.isEmpty, line.upperBound < scanned - 1 {
                if !lines.isEmpty { return true }
                // RFC 9112 section 2.2: ignore one empty line before a request.
                guard start == 0 else { throw Rejection(status: 400, reason: "empty lines") }
                start = scanned
                continue
            }
            try checkSize(line: line)
            guard line.upperBound < scanned - 1 else {
                throw Rejection(status: 400, reason: "a line ends without a carriage return")
            }
            lines.append(line)
        }
        let line = line(before: scanned, of: buffer)
        // An empty line can become the end of the head.
        if !line.isEmpty { try checkSize(line: line) }
        return false
    }

    /// Returns the current line up to a position, without its carriage return.
    private func line(before end: Int, of buffer: [UInt8]) -> Range<Int> {
        lineStart..<(end > lineStart && buffer[end - 1] == 0x0D ? end - 1 : end)
    }

    private func checkSize(line: Range<Int>) throws(Rejection) {
        if lines.isEmpty, line.count > limits.requestLineBytes {
            throw Rejection(status: 414, reason: "the request line is too long")
        }
        if line.upperBound - start > limits.headerBytes || lines.count > limits.fields {
            throw Rejection(status: 431, reason: "the header fields are too large")
        }
    }

    private func parseHead(_ buffer: [UInt8]) throws(Rejection) -> Head {
        guard let first = lines.first else { throw Rejection(status: 400, reason: "no request line") }
        let parts = buffer[first].split(separator: 0x20, omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[0].isEmpty, parts[0].allSatisfy(HTTPFields.isTokenByte) else {
            throw Rejection(status: 400, reason: "the request line is not a method, a target and a version")
        }
        let minor = try minorVersion(parts[2])
        // Visible US-ASCII only, without a fragment.
        guard !parts[1].isEmpty, parts[1].allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") }) else {
            throw Rejection(status: 400, reason: "the request target has a character that must be percent-encoded")
        }
        let method = HTTPMethod(rawValue: String(decoding: parts[0], as: UTF8.self))
        let fields = try fields(buffer)
        let hosts = fields.values(for: "Host")
        guard hosts.count == 1, let host = hosts.first?.lowercased() else {
            throw Rejection(status: 400, reason: "one Host field is expected")
        }
        guard authority.contains(host) else { throw Rejection(status: 421, reason: "Host is not this listener") }
        let target = String(decoding: parts[1], as: UTF8.self)
        let (path, query) = try components(target, method)
        let request = LoopbackRequest(
            method: method, target: target, path: path, query: query, fields: fields, host: host)
        return Head(
            request: request, length: lineStart, contentLength: try contentLength(fields),
            keepsConnection: minor == 1 && !wantsClose(fields))
    }

    private func minorVersion(_ bytes: ArraySlice<UInt8>) throws(Rejection) -> Int {
        switch String(decoding: bytes, as: UTF8.self) {
        case "HTTP/1.1": return 1
        case "HTTP/1.0": return 0
        default: break
        }
        let prefix = Array("HTTP/".utf8)
        let rest = bytes.dropFirst(prefix.count)
        let isVersion =
            bytes.starts(with: prefix) && rest.count == 3
            && rest.enumerated().allSatisfy { $0 == 1 ? $1 == UInt8(ascii: ".") : $1 >= 0x30 && $1 <= 0x39 }
        throw isVersion
            ? Rejection(status: 505, reason: "only HTTP/1.0 and HTTP/1.1 are supported")
            : Rejection(status: 400, reason: "the request line has no HTTP version")
    }

    private func fields(_ buffer: [UInt8]) throws(Rejection) -> HTTPFields {
        var fields = HTTPFields()
        for line in lines.dropFirst() {
            let bytes = buffer[line]
            guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), colon > bytes.startIndex,
                bytes[..<colon].allSatisfy(HTTPFields.isTokenByte)
            else { throw Rejection(status: 400, reason: "a header line is not a name, a colon and a value") }
            var value = bytes[(colon + 1)...]
            value = value.drop { Self.isSpace($0) }
            while let last = value.last, Self.isSpace(last) { value = value.dropLast() }
            guard value.allSatisfy(HTTPFields.isValueByte) else {
                throw Rejection(status: 400, reason: "a header value has a control character")
            }
            fields.append(
                name: String(decoding: bytes[..<colon], as: UTF8.self), value: String(decoding: value, as: UTF8.self))
        }
        return fields
    }

    /// Returns the length of the content. See RFC 9112 section 6.3.
    private func contentLength(_ fields: HTTPFields) throws(Rejection) -> Int {
        let lengths = fields.values(for: "Content-Length")
        let encodings = fields.values(for: "Transfer-Encoding")
        guard encodings.isEmpty || lengths.isEmpty else {
            throw Rejection(status: 400, reason: "Content-Length cannot be combined with Transfer-Encoding")
        }
        guard encodings.isEmpty else {
            throw encodings.count == 1 && encodings[0].lowercased() == "chunked"
                ? Rejection(status: 411, reason: "send the content with a Content-Length")
                : Rejection(status: 501, reason: "this transfer coding is not supported")
        }
        guard let text = lengths.first else { return 0 }
        guard lengths.count == 1, !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else {
            throw Rejection(status: 400, reason: "Content-Length is not one number")
        }
        guard let length = Int(text), length <= limits.bodyBytes else {
            throw Rejection(status: 413, reason: "at most \(limits.bodyBytes) bytes of content are accepted")
        }
        return length
    }

    /// Returns path and query of a target in origin-form, absolute-form or asterisk-form. See RFC 9112 section 3.2.
    private func components(_ target: String, _ method: HTTPMethod) throws(Rejection) -> (String, String?) {
        if method.rawValue == "CONNECT" { throw Rejection(status: 501, reason: "this is not a proxy") }
        if target == "*" {
            guard method.rawValue == "OPTIONS" else {
                throw Rejection(status: 400, reason: "the request target is not a path")
            }
            return ("*", nil)
        }
        var rest = Substring(target)
        if !rest.hasPrefix("/") {
            guard rest.prefix(authority.scheme.count).lowercased() == authority.scheme else {
                throw Rejection(status: 400, reason: "the request target is not a path")
            }
            rest = rest.dropFirst(authority.scheme.count)
            let named = rest.prefix { $0 != "/" && $0 != "?" }
            guard authority.contains(named.lowercased()) else {
                throw Rejection(status: 421, reason: "this is not a proxy")
            }
            rest = rest[named.endIndex...]
        }
        let path = rest.prefix { $0 != "?" }
        let query = path.endIndex == rest.endIndex ? nil : String(rest[rest.index(after: path.endIndex)...])
        return (path.isEmpty ? "/" : String(path), query)
    }

    private func wantsClose(_ fields: HTTPFields) -> Bool {
        fields.values(for: "Connection").contains { value in
            value.lowercased().split(separator: ",").contains { part in
                part.filter { $0 != " " && $0 != "\t" } == "close"
            }
        }
    }

    // MARK: Bytes

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}
