import LodgePlatform
import HTTPExchange
import OAuth2Protocol

extension AccountType {
    /// The hosts that may receive tokens of this type: ``resourceHosts``, and the hosts of ``graphAPI``, ``resources``
    /// and the provider. A host with a port (`api.example:8443`) allows only this port. A host without a port allows
    /// all ports; only ``resourceHosts`` can have one.
    ///
    /// [RFC 9700 section 4.9.1](https://www.rfc-editor.org/rfc/rfc9700#section-4.9.1)
    package var tokenHosts: [String] {
        var hosts = resourceHosts
        var urls = [graphAPI].compactMap { $0 } + resources.compactMap { URL(string: $0) } + endpoints.urls
        switch provider {
        case .issuer(let text), .authority(let text): urls += [URL(string: text)].compactMap { $0 }
        case .endpoints, .staticToken: break
        }
        hosts += urls.compactMap(TokenHost.init).map(\.description)
        var seen: Set<String> = []
        return hosts.map { $0.lowercased() }.filter { seen.insert($0).inserted }.sorted()
    }
}

extension AccountType {
    /// The URL of the directory, or of the first API that may receive tokens of this type; `nil` if the settings
    /// contain neither.
    package var serviceURL: URL? { graphAPI ?? resourceHosts.first.flatMap { URL(string: "https://\($0)/") } }
}

/// A server that may receive a token: a host and a port.
package struct TokenHost: CustomStringConvertible {
    /// The name or address in lower case, without brackets.
    private let host: String
    private let port: Int

    /// Creates the server of an absolute URL; `nil` if the URL has no host.
    package init?(_ url: URL) {
        guard let text = url.host(percentEncoded: true)?.lowercased(), !text.isEmpty else { return nil }
        host = text.hasPrefix("[") ? String(text.dropFirst().dropLast()) : text
        port = url.port ?? (url.scheme?.lowercased() == "http" ? 80 : 443)
    }

    /// The host and the port.
    package var description: String { (host.contains(":") ? "[\(host)]" : host) + ":\(port)" }

    /// Returns whether the text is a host, with or without a port. The host of any URL is ASCII.
    package static func isEntry(_ text: String) -> Bool {
        text.wholeMatch(of: /([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?|[0-9A-Fa-f:.]+/) != nil
    }

    /// Returns whether an entry of ``AccountType/tokenHosts`` allows this server.
    package func isAllowed(by entry: String) -> Bool {
        switch entry.lowercased() {
        case host, "[\(host)]", "\(host):\(port)", "[\(host)]:\(port)": true
        default: false
        }
    }
}
