import Platform
import HTTPExchange
import OAuth2Protocol

extension AccountType {
    /// The hosts that may receive tokens of this type: ``resourceHosts``, the hosts of ``graphAPI`` and ``resources``, and the
    /// provider's. A host with a port (`api.example:8443`) allows only this port; a host without a port allows all ports.
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
}
