/// The authority of a request: the provider with one of its host names, optionally a tenant.
///
/// A tenant has the paths, metadata and claims of Microsoft Entra. A policy of its only tenant has the paths,
/// metadata and claims of Azure AD B2C.
struct ProviderAuthority: Sendable, Equatable {
    /// Scheme, host and port, such as `https://localhost:8443`.
    var origin = ""
    /// The tenant in the path, or `nil` for the provider without a tenant.
    var tenant: Tenant?
    /// The policy in the path, such as `B2C_1_signin`, or `nil` for none.
    var policy: String?

    /// A tenant in a path.
    enum Tenant: Sendable, Equatable {
        /// The only tenant, by its identifier or domain.
        case own
        /// `common` or `organizations`: the user's tenant.
        case any(String)

        /// Creates the tenant of a path segment, or returns `nil` for an unknown one.
        init?(_ segment: String) {
            switch segment.lowercased() {
            case ProviderConfiguration.tenantID, "contoso.example": self = .own
            case "common", "organizations": self = .any(segment.lowercased())
            default: return nil
            }
        }

        var segment: String {
            switch self {
            case .own: ProviderConfiguration.tenantID
            case .any(let name): name
            }
        }
    }

    /// The issuer of the tokens.
    var issuer: String {
        guard tenant != nil else { return origin }
        // All policies of Azure AD B2C have one issuer, which ends with a slash.
        return "\(origin)/\(ProviderConfiguration.tenantID)/v2.0" + (policy == nil ? "" : "/")
    }

    /// The issuer in the metadata. For all tenants together it is a template.
    var metadataIssuer: String {
        if case .any = tenant { return "\(origin)/{tenantid}/v2.0" }
        return issuer
    }

    /// The paths of a tenant after its segment, with the corresponding endpoints of the provider.
    static let tenantPaths = [
        "/v2.0/.well-known/openid-configuration": "/.well-known/openid-configuration",
        "/discovery/v2.0/keys": "/jwks", "/oauth2/v2.0/authorize": "/authorize", "/oauth2/v2.0/token": "/token",
        "/oauth2/v2.0/devicecode": "/device_authorization", "/oauth2/v2.0/logout": "/logout",
    ]

    /// Returns the URL of an endpoint.
    func url(of endpoint: String) -> String {
        guard let tenant, let path = Self.tenantPaths.first(where: { $0.value == endpoint })?.key else {
            return origin + endpoint
        }
        return "\(origin)/\(tenant.segment)\(policy.map { "/\($0)" } ?? "")\(path)"
    }

    /// Returns the tenant segment, the policy and the endpoint of a path, or `nil` if the path is not a tenant's.
    static func tenantPath(_ path: String) -> (segment: String, policy: String?, endpoint: String)? {
        guard let (segment, rest) = firstSegment(of: path) else { return nil }
        if let endpoint = tenantPaths[rest] { return (segment, nil, endpoint) }
        // Only the own tenant has policies, and devices cannot use them.
        guard case .own = Tenant(segment), let (policy, last) = firstSegment(of: rest),
            policy.lowercased().hasPrefix("b2c_1"), let endpoint = tenantPaths[last],
            endpoint != "/device_authorization"
        else { return nil }
        return (segment, policy, endpoint)
    }

    private static func firstSegment(of path: String) -> (segment: String, rest: String)? {
        guard let end = path.dropFirst().firstIndex(of: "/") else { return nil }
        return (String(path[..<end].dropFirst()), String(path[end...]))
    }
}
