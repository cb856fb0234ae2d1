import HTTPExchange
import OAuth2Protocol
import LodgePlatform
import ProviderSettings

extension AccountType {
    /// Checks that tokens of this type may be sent to a URL.
    ///
    /// - Throws: ``AccountStoreError`` of the kind `settings` if they must not be sent there.
    func checkTokenHost(of url: URL) throws {
        guard let host = TokenHost(url) else {
            throw rejection("the URL is not a complete https URL", "start it with https:// and the host")
        }
        guard tokenHosts.contains(where: host.isAllowed) else {
            throw rejection(
                "\(host) is not a host that may have the tokens of \(name)",
                "if it may, add it to resourceHosts in the settings of \(name); they are \(tokenHosts.joined(separator: ", ")) now"
            )
        }
        guard url.scheme?.lowercased() == "https" || url.isLoopback else {
            throw rejection("a token is never sent over plain http to another machine", "use https")
        }
    }

    private func rejection(_ reason: String, _ hint: Hint) -> AccountStoreError {
        AccountStoreError(
            .settings, what: "the request is not sent", reason: reason, remedy: .changeSettings, hint: hint)
    }
}
