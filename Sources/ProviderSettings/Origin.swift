import Platform

extension URL {
    /// The scheme, host and port, in lower case; `nil` if the URL has no scheme or no host.
    package var origin: String? {
        guard let scheme = scheme?.lowercased(), let host = host(percentEncoded: true)?.lowercased() else { return nil }
        let defaultPort = scheme == "https" ? 443 : 80
        return "\(scheme)://\(host):\(port ?? defaultPort)"
    }
}
