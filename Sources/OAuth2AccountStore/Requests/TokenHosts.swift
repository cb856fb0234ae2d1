import Platform
import HTTPExchange
import OAuth2Protocol

extension AccountType {
    /// The hosts that this type's tokens may be sent to: those of ``resourceHosts``, of ``graphAPI`` and of ``resources``, and the
    /// provider's own. A host with a port (`api.example:8443`) means this port alone, one without means every port.
    ///
    /// [RFC 9700 section 4.9.1](https://www.rfc-editor.org/rfc/rfc9700#section-4.9.1)
    public var tokenHosts: [String] {
        var hosts = resourceHosts
        var urls = [graphAPI].compactMap { $0 } + resources.compactMap { URL(string: $0) } + endpoints.values
        switch provider {
        case .issuer(let text), .authority(let text): urls += [URL(string: text)].compactMap { $0 }
        case .endpoints: break
        }
        hosts += urls.compactMap { $0.host(percentEncoded: true) }
        var seen: Set<String> = []
        return hosts.map { $0.lowercased() }.filter { seen.insert($0).inserted }.sorted()
    }

    /// Refuses an address that this type's tokens may not be sent to.
    ///
    /// - Throws: ``AccountStoreError`` of the kind `settings`.
    func checkTokenHost(of url: URL) throws {
        guard let host = url.host(percentEncoded: true)?.lowercased(), !host.isEmpty else {
            throw refusal("the address is no complete https address", "begin it with https:// and the host's name")
        }
        let bare = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        let port = url.port ?? (url.scheme?.lowercased() == "http" ? 80 : 443)
        let names: Set = [bare, "[\(bare)]", "\(bare):\(port)", "[\(bare)]:\(port)"]
        guard tokenHosts.contains(where: names.contains) else {
            throw refusal(
                "\(host) is not a host that may have the tokens of \(name)",
                "if it may, add it to resourceHosts in the settings of \(name); they are \(tokenHosts.joined(separator: ", ")) now"
            )
        }
        guard url.scheme?.lowercased() == "https" || url.isLoopback else {
            throw refusal("a token never goes by plain http to another machine", "use https")
        }
    }

    private func refusal(_ reason: String, _ hint: String) -> AccountStoreError {
        AccountStoreError(
            .settings, what: "the request is not sent", reason: reason, remedy: .changeSettings, hint: hint)
    }
}

extension URL {
    /// Whether scheme, host and port are the same (RFC 6454 section 5).
    func hasOrigin(of other: URL) -> Bool { ServerHints.origin(self) == ServerHints.origin(other) }
}
