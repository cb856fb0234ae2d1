import HTTPExchange
import OAuth2Protocol
import Platform
import ProviderSettings

extension AccountType {
    /// Checks that this type's tokens may be sent to a URL.
    ///
    /// - Throws: ``AccountStoreError`` of the kind `settings`.
    func checkTokenHost(of url: URL) throws {
        guard let host = TokenHost(url) else {
            throw rejection("the address is no complete https address", "begin it with https:// and the host's name")
        }
        guard tokenHosts.contains(where: host.isAllowed) else {
            throw rejection(
                "\(host) is not a host that may have the tokens of \(name)",
                "if it may, add it to resourceHosts in the settings of \(name); they are \(tokenHosts.joined(separator: ", ")) now"
            )
        }
        guard url.scheme?.lowercased() == "https" || url.isLoopback else {
            throw rejection("a token never goes by plain http to another machine", "use https")
        }
    }

    private func rejection(_ reason: String, _ hint: Hint) -> AccountStoreError {
        AccountStoreError(
            .settings, what: "the request is not sent", reason: reason, remedy: .changeSettings, hint: hint)
    }
}
