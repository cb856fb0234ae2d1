import Platform

/// Scheme, host and port of an address: where a token may go.
///
/// Read byte by byte from the text that will be sent, and compared with what `URL` makes of it, so that two readers can
/// never disagree about the host.
struct Origin: Hashable, Sendable {
    let scheme: String
    let host: String
    let port: Int

    /// The origin of an absolute http or https address; nil for anything else, also for one with a user name or with an
    /// escape in its host.
    init?(_ address: String) {
        guard let colon = address.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let scheme = address[..<colon].lowercased()
        let rest = address[colon...].dropFirst()
        guard scheme == "https" || scheme == "http", rest.hasPrefix("//") else { return nil }
        let authority = rest.dropFirst(2).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard !authority.isEmpty, authority.utf8.allSatisfy(Self.mayStandInAuthority) else { return nil }

        var host = authority
        var port = scheme == "https" ? 443 : 80
        let afterBracket = authority.lastIndex(of: "]") ?? authority.startIndex
        if let mark = authority[afterBracket...].lastIndex(of: ":") {
            guard let number = UInt16(authority[authority.index(after: mark)...]), number > 0 else { return nil }
            port = Int(number)
            host = authority[..<mark]
        }
        guard !host.isEmpty, let url = URL(string: address), let parsed = url.host(percentEncoded: true) else {
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

    /// The host, with its port where it is not the scheme's own.
    var description: String {
        port == (scheme == "https" ? 443 : 80) ? "\(scheme)://\(host)" : "\(scheme)://\(host):\(port)"
    }

    private static func mayStandInAuthority(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: ":"),
            UInt8(ascii: "["), UInt8(ascii: "]"):
            true
        default: false
        }
    }
}
