import LodgePlatform
import OAuth2Protocol
import StrictJSON

extension AccountType {
    /// Returns the type with one of its policies, or `nil` if the settings do not contain the policy.
    ///
    /// The policy replaces the authority's own: `https://contoso.b2clogin.com/contoso.onmicrosoft.com/B2C_1_signin`
    /// becomes `…/B2C_1_edit`. Endpoints in the settings belong to the authority's own policy, so discovery finds the
    /// endpoints of the new policy.
    package func at(policy name: String) -> AccountType? {
        guard let policy = policies[name], case .authority(let authority) = provider,
            let address = Self.authority(authority, policy: policy)
        else { return nil }
        var type = self
        type.provider = .authority(address)
        type.endpoints = Endpoints()
        type.policy = name
        return type
    }

    /// Returns the authority of a policy of the same tenant, or `nil` if the URL has no tenant.
    private static func authority(_ address: String, policy: String) -> String? {
        guard let slashes = address.firstRange(of: "://") else { return nil }
        var parts = address[slashes.upperBound...].split(separator: "/").map(String.init)
        if parts.last == "v2.0" { parts.removeLast() }
        // The parts are the host, an optional "tfp", the tenant and an optional policy.
        let count = parts.count > 1 && parts[1] == "tfp" ? 3 : 2
        guard parts.count >= count else { return nil }
        return address[..<slashes.upperBound] + (parts.prefix(count) + [policy]).joined(separator: "/")
    }

    /// Returns whether two issuers have the same users. Each policy of a B2C tenant may have its own issuer on the tenant's host.
    package func isSameIssuer(_ one: String?, _ other: String?) -> Bool {
        if one == other { return true }
        guard !policies.isEmpty, let one = one.flatMap({ URL(string: $0) }),
            let other = other.flatMap({ URL(string: $0) })
        else { return false }
        return one.origin != nil && one.origin == other.origin && Self.tenant(one) == Self.tenant(other)
    }

    private static func tenant(_ issuer: URL) -> String? {
        issuer.path().split(separator: "/").first { $0 != "tfp" }?.lowercased()
    }
}

extension AccountTypeDecoder {
    func knownAuthorities() throws(SettingsError) -> [String] {
        let hosts = try strings("knownAuthorities")
        for host in hosts where host.isEmpty || !host.utf8.allSatisfy(Self.isHostByte) {
            throw error(
                "knownAuthorities", "names of hosts, such as login.contoso.com",
                String(host.prefix(200)).debugDescription)
        }
        return hosts
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        byte == 0x2D || byte == 0x2E || (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
    }

    /// Reads the policies, each with a name for programs and the policy's own name.
    func policies(of type: AccountType) throws(SettingsError) -> [String: String] {
        let policies = try dictionary("policies")
        guard !policies.isEmpty else { return [:] }
        guard case .authority = type.provider else {
            throw error("policies", "an authority for the policies", "none")
        }
        for (name, policy) in policies.sorted(by: { $0.key < $1.key }) {
            let isPolicy = policy.utf8.allSatisfy { Self.isHostByte($0) || $0 == 0x5F }
            guard isPolicy, !policy.isEmpty, policy.contains(where: { $0 != "." }) else {
                throw error("policies.\(name)", "the name of a policy, such as B2C_1_edit", policy.debugDescription)
            }
        }
        var probe = type
        probe.policies = policies
        guard let first = policies.keys.min(), probe.at(policy: first) != nil else {
            throw error("authority", "an authority with a tenant, which policies require", "an address without one")
        }
        return policies
    }
}
