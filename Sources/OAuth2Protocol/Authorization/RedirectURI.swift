import LodgePlatform

/// The URI to which the provider redirects the browser, compared component by component.
public struct RedirectURI: Sendable, Equatable {
    /// The value for programs that cannot receive a redirect: the provider shows the code, the user copies it. Legacy.
    public static let outOfBand = "urn:ietf:wg:oauth:2.0:oob"

    /// The registered URI.
    public let text: String
    let components: Components

    struct Components: Sendable, Equatable {
        var scheme: String
        var authority: String?
        var path: String
        var query: String?
        var hasFragment: Bool

        /// The path; `/` for an empty path of http or https.
        var root: String { path.isEmpty && (scheme == "http" || scheme == "https") ? "/" : path }

        init?(_ text: String) {
            guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            let scheme = text[..<colon]
            guard let first = scheme.utf8.first, first | 0x20 >= 0x61, first | 0x20 <= 0x7A,
                scheme.utf8.allSatisfy({
                    (0x30...0x39).contains($0) || (0x61...0x7A).contains($0 | 0x20) || [0x2B, 0x2D, 0x2E].contains($0)
                })
            else { return nil }
            self.scheme = scheme.lowercased()
            var rest = text[text.utf8.index(after: colon)...]
            hasFragment = rest.utf8.contains(UInt8(ascii: "#"))
            if let hash = rest.utf8.firstIndex(of: UInt8(ascii: "#")) { rest = rest[..<hash] }
            if let mark = rest.utf8.firstIndex(of: UInt8(ascii: "?")) {
                query = String(rest[rest.utf8.index(after: mark)...])
                rest = rest[..<mark]
            }
            if rest.utf8.starts(with: "//".utf8) {
                let start = rest.utf8.index(rest.startIndex, offsetBy: 2)
                let end = rest[start...].utf8.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
                authority = rest[start..<end].lowercased()
                rest = rest[end...]
            }
            path = String(rest)
        }
    }

    /// Creates a checked redirect URI.
    ///
    /// - Throws: ``OAuth2Error/configuration(_:)`` if it has a fragment, uses plain HTTP to a host other than loopback,
    ///   or has a private-use scheme without a dot (RFC 8252 section 7.1).
    public init(_ text: String) throws(OAuth2Error) {
        func rejection(_ expected: String) -> OAuth2Error {
            .configuration("the redirect URI is \(quoted(text)); expected \(expected)")
        }
        self.text = text
        guard let components = Components(text) else { throw rejection("an absolute URI") }
        self.components = components
        guard !components.hasFragment else { throw rejection("no fragment") }
        if text == Self.outOfBand { return }
        switch components.scheme {
        case "http":
            guard isLoopback else { throw rejection("plain http only on 127.0.0.1, [::1] or localhost") }
        case "https":
            guard components.authority?.isEmpty == false else { throw rejection("a host") }
        default:
            guard components.scheme.contains(".") || components.scheme.hasPrefix("msal") else {
                throw rejection("a scheme with a dot, such as com.example.app:/callback")
            }
        }
    }

    /// The reason why this redirect URI is not recommended although it works, or `nil` if there is no such reason.
    public var warning: String? {
        if text == Self.outOfBand {
            return "most providers disable the out-of-band redirect URI; use the device grant instead"
        }
        // Another program may respond under this name, or the name may resolve to an address without a listener.
        if isLoopback, host == "localhost" { return "localhost depends on name resolution; 127.0.0.1 does not" }
        return nil
    }

    /// Whether the provider redirects the browser to this machine over plain HTTP.
    public var isLoopback: Bool {
        components.scheme == "http" && ["127.0.0.1", "[::1]", "localhost"].contains(host)
    }

    /// Whether the redirect goes to a web server.
    package var isHTTPS: Bool { components.scheme == "https" }

    /// The scheme in lower case, such as `https` or `com.example.app`.
    public var scheme: String { components.scheme }

    /// The host as written, in lower case; IPv6 in brackets.
    public var host: String {
        let authority = components.authority ?? ""
        if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") { return String(authority[...end]) }
        return String(authority.prefix { $0 != ":" })
    }

    /// The port, or `nil` if the URI contains no port.
    public var port: UInt16? {
        let authority = components.authority ?? ""
        return UInt16(authority.dropFirst(host.count).dropFirst())
    }

    /// The path.
    public var path: String { components.path }

    /// Returns the same URI with this port (RFC 8252 section 7.3).
    package func replacingPort(_ port: UInt16) throws(OAuth2Error) -> RedirectURI {
        let query = components.query.map { "?" + $0 } ?? ""
        return try RedirectURI("\(components.scheme)://\(host):\(port)\(components.path)\(query)")
    }

    /// Returns whether a received URL is this URI with additional parameters: scheme and host are compared
    /// case-insensitively; port, path and this URI's own query exactly. An empty path of http or https is `/` (RFC 3986
    /// section 6.2.3).
    public func matches(_ received: String) -> Bool {
        guard let other = Components(received) else { return false }
        guard other.scheme == components.scheme, other.authority == components.authority, other.root == components.root
        else { return false }
        guard let own = components.query, !own.isEmpty else { return true }
        guard let query = other.query else { return false }
        func parts(_ query: some StringProtocol) -> [[UInt8]] {
            query.utf8.split(separator: UInt8(ascii: "&")).map { [UInt8]($0) }
        }
        return Set(parts(query)).isSuperset(of: parts(own))
    }
}
