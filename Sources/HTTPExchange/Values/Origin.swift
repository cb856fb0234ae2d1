import LodgePlatform

/// The scheme, host and port of a URL: the server to which a token may go.
///
/// The string is parsed byte by byte and compared with the result of `URL`, so that two parsers never disagree about
/// the host.
package struct Origin: Hashable, Sendable, CustomStringConvertible {
    package let scheme: String
    package let host: String
    package let port: Int

    /// Creates the origin of an absolute http or https URL.
    ///
    /// Returns `nil` for any other string, and for a URL with a user name or a percent-encoded host.
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
        guard name == other || name == "[\(other)]", url.port == nil || url.port == port, url.user == nil,
            Self.isHost(name)
        else { return nil }
        self.scheme = scheme
        self.host = name
        self.port = port
    }

    /// Returns whether all programs parse a host the same way.
    ///
    /// It must be an IPv6 address in brackets, an IPv4 address of four decimal numbers, or a name that does not end in
    /// a number.
    ///
    /// Some programs treat a name such as `0x7f.1` as an address.
    package static func isHost(_ host: String) -> Bool {
        if host.utf8.first == UInt8(ascii: "[") {
            var address = in6_addr()
            return host.utf8.last == UInt8(ascii: "]")
                && inet_pton(AF_INET6, String(host.dropFirst().dropLast()), &address) == 1
        }
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        let last = labels.last?.isEmpty == true ? labels.dropLast().last : labels.last
        guard let last, !last.isEmpty else { return false }
        let isHexadecimal = last.hasPrefix("0x") && last.dropFirst(2).allSatisfy(\.isHexDigit)
        guard isHexadecimal || last.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return true }
        var address = in_addr()
        return inet_pton(AF_INET, host, &address) == 1
    }

    /// The URL of the origin, with the port unless it is the default of the scheme.
    package var description: String {
        port == (scheme == "https" ? 443 : 80) ? "\(scheme)://\(host)" : "\(scheme)://\(host):\(port)"
    }
}
