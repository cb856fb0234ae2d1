import LodgePlatform

/// The tenants whose users can sign in at a Microsoft Entra authority.
package enum EntraTenants: Sendable, Equatable {
    /// Every tenant, and personal accounts: `/common`.
    case all
    /// Every tenant, without personal accounts: `/organizations`.
    case organizations
    /// Personal accounts: `/consumers`.
    case consumers
    /// The tenant with this identifier.
    case one(String)
    /// One tenant whose identifier the authority does not have, such as `/contoso.com`.
    case unknown

    /// The tenant of personal accounts.
    static let consumersID = "9188040d-6c67-4c5b-b112-36a304b66dad"

    /// Creates the tenants of an authority by the first component of its path.
    package init(authority: String) {
        let path = EndpointURL.split(authority).path
        let name = path.split(separator: "/").first { $0.lowercased() != "tfp" }?.lowercased() ?? ""
        switch name {
        case "common": self = .all
        case "organizations": self = .organizations
        case "consumers": self = .consumers
        case _ where Self.isIdentifier(name): self = .one(name)
        default: self = .unknown
        }
    }

    /// Returns whether a string is the identifier of a tenant: a UUID.
    static func isIdentifier(_ text: some StringProtocol) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        return parts.map(\.count) == [8, 4, 4, 4, 12]
            && parts.joined().allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0 | 0x20) }
    }

    /// Returns whether the users of a tenant can sign in.
    func contains(_ tenant: String) -> Bool {
        let tenant = tenant.lowercased()
        return switch self {
        case .all, .unknown: true
        case .organizations: tenant != Self.consumersID
        case .consumers: tenant == Self.consumersID
        case .one(let own): tenant == own
        }
    }

    /// Returns whether this issuer is valid in the metadata of an authority: a template only for several tenants, and
    /// no other tenant.
    func allows(issuer: String) -> Bool {
        let components = issuer.split { $0 == "/" || $0 == "." }
        guard !issuer.contains("{tenantid}") else {
            return self == .all || self == .organizations || self == .consumers
        }
        return components.filter { Self.isIdentifier($0) }.allSatisfy { contains(String($0)) }
    }
}
