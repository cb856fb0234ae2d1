import LodgePlatform

extension AccountType {
    private static let microsoftHosts = [
        "login.microsoftonline.com", "login.microsoftonline.us", "login.partner.microsoftonline.cn", "ciamlogin.com",
        "b2clogin.com", "login.windows.net", "login.microsoft.com", "sts.windows.net",
    ]

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
