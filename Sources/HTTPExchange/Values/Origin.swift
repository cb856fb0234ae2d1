import Platform

/// The scheme, host and port of a URL: the server to which a token may go.
///
/// The text that will be sent is read byte by byte and compared with the result of `URL`, so that two parsers never
/// disagree about the host.
package struct Origin: Hashable, Sendable, CustomStringConvertible {
    package let scheme: String
    package let host: String
    package let port: Int

    /// Creates the origin of an absolute http or https URL; `nil` for any other text, also for a user name or a
    /// percent-encoded host.
    package init?(_ text: String) {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let scheme = text[..<colon].lowercased()
        let rest = text[colon...].dropFirst()
        guard scheme == "https" || scheme == "http", rest.hasPrefix("//") else { return nil }
        let authority = rest.dropFirst(2).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard !authority.isEmpty,
            authority.utf8.allSatisfy({ PercentEncoding.isUnreserved($0) || ":[]".utf8.contains($0) })
        else { return nil }

        var host = authority
        var port = scheme == "https" ? 443 : 80
        let afterBracket = authority.lastIndex(of: "]") ?? authority.startIndex
        if let mark = authority[afterBracket...].lastIndex(of: ":") {
            guard let number = UInt16(authority[authority.index(after: mark)...]), number > 0 else { return nil }
            port = Int(number)
            host = authority[..<mark]
        }
        guard !host.isEmpty, let url = URL(string: text), let parsed = url.host(percentEncoded: true) else {
            return nil
        }
        let name = host.lowercased()
        let other = parsed.lowercased()
        guard name == other || name == "[\(other)]", url.port == nil || url.port == port, url.user == nil else {
            return nil
        }
        self.scheme = scheme
        self.host = name
        self.port = port
    }

    /// The URL of the origin, with the port if it is not the default of the scheme.
    package var description: String {
        port == (scheme == "https" ? 443 : 80) ? "\(scheme)://\(host)" : "\(scheme)://\(host):\(port)"
    }
}
