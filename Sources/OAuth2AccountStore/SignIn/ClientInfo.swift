import JOSE
import OAuth2Protocol
import StrictJSON

/// The member `client_info` of Microsoft Entra's token answers: who signed in, across tenants.
enum ClientInfo {
    /// What asks for it.
    static let parameter = ["client_info": "1"]
    /// The longest text that is read, in bytes.
    private static let maximumSize = 4096

    /// `uid.utid`, the identifier of the person's home account; nil when the answer has none.
    static func homeAccountID(_ answer: TokenResponse) -> String? {
        guard let text = answer.additional["client_info"]?.string, text.utf8.count <= maximumSize,
            let bytes = Base64URL.decode(text), let object = (try? JSONValue(parsing: bytes))?.object,
            let user = object.text("uid"), let tenant = object.text("utid"), !user.isEmpty, !tenant.isEmpty
        else { return nil }
        return "\(user).\(tenant)"
    }
}

extension AccountType {
    /// The further parameters of the token requests of a sign-in.
    var signInParameters: [String: String] {
        guard case .authority = provider else { return tokenParameters }
        return ClientInfo.parameter.merging(tokenParameters) { $1 }
    }
}
