import LodgePlatform
import OAuth2Protocol

extension AccountType {
    private static let microsoftHosts = [
        "login.microsoftonline.com", "login.microsoftonline.us", "login.partner.microsoftonline.cn", "ciamlogin.com",
        "b2clogin.com", "login.windows.net", "login.microsoft.com", "sts.windows.net",
    ]

    /// The tenant in the authority, such as `contoso.com` or `common`; `nil` without an authority.
    package var tenant: String? {
        guard case .authority(let address) = provider else { return nil }
        return URL(string: address)?.path(percentEncoded: false).split(separator: "/").first.map(String.init)
    }

    /// The paths of authorities that are not one tenant.
    private static let sharedTenants = ["common", "organizations", "consumers"]

    /// Returns the problem of an application without a user at Microsoft Entra, or `nil` if the tenant and the scope are valid
    /// or the provider is not Entra.
    ///
    /// - Parameter scope: The scope to request: exactly one `<resource>/.default`.
    package func applicationProblem(_ scope: Scope) -> (key: String, expected: String, found: String)? {
        guard isMicrosoft || tenant != nil, tenant?.lowercased() != "adfs" else { return nil }
        if let tenant, Self.sharedTenants.contains(tenant.lowercased()) {
            return ("authority", "the tenant of the application, such as contoso.com", tenant.debugDescription)
        }
        let expected = "exactly one scope <resource>/.default, such as https://graph.microsoft.com/.default"
        if let delegated = scope.tokens.first(where: { !$0.hasSuffix("/.default") }) {
            return ("scopes", expected, delegated.debugDescription)
        }
        guard scope.tokens.count == 1 else {
            return ("scopes", expected, scope.tokens.isEmpty ? "no scope" : "\(scope.tokens.count) scopes")
        }
        return nil
    }

    /// Whether the provider is an AD FS server, whose authority is `https://adfs.example/adfs`.
    package var isADFS: Bool {
        switch provider {
        case .authority(let address), .issuer(let address):
            Discovery.isADFS(address)
        case .endpoints, .staticToken: false
        }
    }

    /// Whether client assertions have the form of Microsoft Entra and AD FS: the audience is the token endpoint.
    package var hasMicrosoftAssertions: Bool {
        if case .authority = provider { return true }
        return isMicrosoft || isADFS
    }

    /// Whether its issuer or authority is a URL of Microsoft.
    package var isMicrosoft: Bool {
        switch provider {
        case .authority(let address), .issuer(let address):
            let host = URL(string: address)?.host(percentEncoded: false)?.lowercased() ?? ""
            return Self.microsoftHosts.contains { host == $0 || host.hasSuffix("." + $0) }
        case .endpoints, .staticToken: return false
        }
    }
}
