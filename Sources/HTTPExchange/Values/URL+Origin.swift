import LodgePlatform

extension URL {
    /// The URL without query and fragment, for messages: a query can contain secrets.
    package var addressWithoutQuery: String {
        String(absoluteString.prefix { $0 != "?" && $0 != "#" })
    }

    /// Whether the host is loopback: 127.0.0.0/8, `[::1]` or `localhost`.
    package var isLoopback: Bool { host(percentEncoded: false).map(Self.isLoopbackHost) ?? false }

    /// Returns whether a host, with or without brackets around an IPv6 address, is loopback.
    package static func isLoopbackHost(_ host: String) -> Bool {
        let host = host.lowercased()
        if host == "localhost" || host == "::1" || host == "[::1]" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }

    /// Whether the host is an IPv4 link-local address: 169.254.0.0/16. A name is never link-local.
    package var isLinkLocal: Bool { host(percentEncoded: false).map(Self.isLinkLocalHost) ?? false }

    /// Returns whether a host is an IPv4 link-local address.
    package static func isLinkLocalHost(_ host: String) -> Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "169" && parts[1] == "254"
            && parts.allSatisfy { part in UInt8(part).map { String($0) == part } ?? false }
    }

    /// The scheme, host and port in lowercase, such as `https://example.com:443`, or `nil` if the URL has no host.
    ///
    /// See RFC 6454 section 4.
    package var origin: String? {
        guard let scheme = scheme?.lowercased(), let host = host(percentEncoded: true)?.lowercased() else { return nil }
        return "\(scheme)://\(host):\(port ?? (scheme == "https" ? 443 : 80))"
    }

    /// Returns whether both URLs have the same scheme, host and port.
    package func hasOrigin(of other: URL) -> Bool { origin != nil && origin == other.origin }

    /// The host and, if the URL contains one, the port, for messages.
    package var shownHost: String {
        guard let host = host(percentEncoded: true) else { return "" }
        let bracketed = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        return port.map { "\(bracketed):\($0)" } ?? bracketed
    }
}
