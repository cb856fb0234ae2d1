import JOSE
import OAuth2Protocol
import StrictJSON

/// The member `client_info` of Microsoft Entra's token responses: the identity of the user in all tenants.
enum ClientInfo {
    /// The request parameter that requests `client_info`.
    static let parameter = ["client_info": "1"]
    private static let maximumSize = 4096

    /// Returns `uid.utid`, the identifier of the user's home account.
    static func homeAccountID(_ text: String?) -> String? {
        guard let text, text.utf8.count <= maximumSize,
            let bytes = Base64URL.decode(text), let object = (try? JSONValue(parsing: bytes))?.object,
            let user = object.text("uid"), let tenant = object.text("utid"), !user.isEmpty, !tenant.isEmpty
        else { return nil }
        return "\(user).\(tenant)"
    }
}

extension AccountType {
    /// The additional parameters of the token requests of a sign-in.
    var signInParameters: [String: String] {
        guard case .authority = provider else { return tokenParameters }
        return ClientInfo.parameter.merging(tokenParameters) { $1 }
    }
}
