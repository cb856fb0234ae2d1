import LodgePlatform
import HTTPExchange
internal import CLodgeCurl

/// The destination of a request, as libcurl parses it.
///
/// `URL` and libcurl are two parsers. libcurl opens the connection, so its result decides which data may be sent. If
/// the two disagree about a relevant part, the request is rejected.
struct RequestAddress: Equatable {
    /// `http` or `https`.
    let scheme: String
    /// The host in lowercase; an IPv6 address in brackets.
    let host: String
    /// The port; the default is 80 or 443.
    let port: Int
    /// The complete URL without its fragment.
    let text: String
    /// The unchanged path and query.
    let target: String
    /// Whether the host is loopback, or a link-local address to which the request may go. No proxy is used then.
    let isLocal: Bool

    /// Scheme, host and port: the scope of connections and credentials.
    var origin: String { "\(scheme)://\(host):\(port)" }

    /// Creates an address from a URL and checks the rules for sending.
    ///
    /// - Parameter allowsLinkLocal: Whether the request may go to a link-local address by plain http.
    init(_ url: URL, allowsLinkLocal: Bool = false) throws(HTTPTransportError) {
        let shown = url.shownHost
        func rejected(
            _ kind: HTTPTransportError.Kind = .invalidRequest, reason: String
        ) -> HTTPTransportError {
            HTTPTransportError(kind, host: shown, reason: reason)
        }
        let text = String(url.absoluteString.prefix { $0 != "#" })
        guard text.utf8.count <= 65_536, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw rejected(
                reason:
                    "The URL is longer than 64 KiB or has bytes that a URL cannot contain; percent-encode them.")
        }
        let parts = try Self.parts(of: text, shown: shown)
        scheme = parts.scheme
        host = parts.host
        port = parts.port
        self.text = text
        target = Self.target(of: text)
        isLocal =
            url.isLoopback && URL.isLoopbackHost(parts.host)
            || allowsLinkLocal && url.isLinkLocal && URL.isLinkLocalHost(parts.host)
        if scheme == "http" && !isLocal {
            throw rejected(
                .plainHTTPRefused,
                reason: "Plain http is allowed only to this machine (127.0.0.1, [::1], localhost); use https.")
        }
        // The ASCII form of the host may be unknown to `URL` or libcurl.
        guard url.host(percentEncoded: false)?.utf8.allSatisfy({ $0 < 0x80 }) ?? true else {
            throw rejected(
                reason: "The host of the URL is not ASCII; use its ASCII form, which starts with xn--.")
        }
        // Parsers disagree whether `https:///a` has a host. IPv6 addresses have several spellings.
        guard let named = url.host(percentEncoded: true)?.lowercased(), !named.isEmpty,
            host.hasPrefix("[") || named == host, Origin.isHost(host)
        else {
            throw rejected(reason: "The host of the URL is ambiguous; write it in its normal form.")
        }
    }

    private struct Parts {
        var scheme: String
        var host: String
        var port: Int
    }

    private static func parts(of text: String, shown: String) throws(HTTPTransportError) -> Parts {
        guard let handle = curl_url() else {
            throw HTTPTransportError(.other, host: shown, reason: "Not enough memory to read the URL.")
        }
        defer { curl_url_cleanup(handle) }
        let code = curl_url_set(
            handle, CURLUPART_URL, text, UInt32(CURLU_PATH_AS_IS) | UInt32(CURLU_NON_SUPPORT_SCHEME))
        let scheme = part(handle, CURLUPART_SCHEME)?.lowercased()
        guard code == CURLUE_OK, let scheme, let host = part(handle, CURLUPART_HOST)?.lowercased(), !host.isEmpty,
            let port = part(handle, CURLUPART_PORT, UInt32(CURLU_DEFAULT_PORT)).flatMap({ Int($0) })
        else {
            if let scheme, scheme != "http", scheme != "https" { throw .unsupported(scheme: scheme, host: shown) }
            throw HTTPTransportError(
                .invalidRequest, host: shown, reason: "The URL is not a complete http or https URL.")
        }
        guard scheme == "http" || scheme == "https" else { throw .unsupported(scheme: scheme, host: shown) }
        guard part(handle, CURLUPART_USER) == nil, part(handle, CURLUPART_PASSWORD) == nil else {
            throw HTTPTransportError(
                .invalidRequest, host: shown,
                reason: "The URL contains a user name or password; send them in an Authorization field.")
        }
        return Parts(scheme: scheme, host: host, port: port)
    }

    private static func part(_ handle: OpaquePointer, _ what: CURLUPart, _ flags: UInt32 = 0) -> String? {
        var value: UnsafeMutablePointer<CChar>?
        guard ccurl_url_get(handle, what, &value, flags) == CURLUE_OK, let value else { return nil }
        defer { curl_free(value) }
        return String(cString: value)
    }

    /// Returns the part after the authority, beginning with a slash.
    private static func target(of text: String) -> String {
        let bytes = text.utf8
        var index = bytes.startIndex
        var slashes = 0
        while index < bytes.endIndex, slashes < 2 {
            if bytes[index] == UInt8(ascii: "/") { slashes += 1 }
            index = bytes.index(after: index)
        }
        while index < bytes.endIndex, bytes[index] != UInt8(ascii: "/"), bytes[index] != UInt8(ascii: "?") {
            index = bytes.index(after: index)
        }
        let rest = String(text[index...])
        return rest.utf8.first == UInt8(ascii: "/") ? rest : "/" + rest
    }
}

extension HTTPTransportError {
    fileprivate static func unsupported(scheme: String, host: String) -> HTTPTransportError {
        HTTPTransportError(
            .invalidRequest, host: host,
            reason: "The scheme is “\(scheme.prefix(32))”; only http and https can be sent.")
    }
}
