import LodgePlatform

extension HTTPResponse {
    /// Whether the content starts like HTML or XML, for any content type. JSON cannot start like this.
    package var isMarkup: Bool {
        // Skip a byte order mark and white space.
        body.first { ![0xEF, 0xBB, 0xBF, 0x20, 0x09, 0x0A, 0x0D].contains($0) } == UInt8(ascii: "<")
    }

    /// Throws if the response comes from a network with a login page or from a proxy.
    ///
    /// Such a response is a redirect, has status 511, or is a web page.
    ///
    /// A page with 401, 404, 405 or 410 can be from a server that does not have the endpoint; one with 408, 429 or 5xx
    /// is from an overloaded server.
    ///
    /// See RFC 6585 section 6.
    ///
    /// - Throws: ``HTTPTransportError`` of the kind `intercepted`.
    package func checkIsFromServer(of url: URL) throws(HTTPTransportError) {
        let found: String
        switch status {
        case 511: found = "The network requires a sign-in (HTTP status 511)."
        case 300..<400:
            let target = fields["Location"].flatMap { URL(string: $0, relativeTo: url) }?.shownHost ?? ""
            found = "A redirect" + (target.isEmpty ? "" : " to \(target)") + " arrived instead of the response."
        case 401, 404, 405, 407, 408, 410, 429, 500...: return
        default:
            guard isMarkup else { return }
            found = "A web page with status \(status) arrived instead of the response."
        }
        throw HTTPTransportError(.intercepted, host: url.shownHost, reason: found)
    }
}
