import Foundation
import JOSE
import StrictJSON
import Synchronization

/// Sample files of other programs.
enum ImportSamples {
    static let home = "00000000-aaaa-0000-0000-000000000001.11111111-bbbb-0000-0000-000000000002"
    static let client = "client"

    /// Returns an ID token with an invalid signature.
    static func idToken(_ subject: String, issuer: String = "https://login.microsoftonline.com/t1/v2.0") -> String {
        let claims: JSONValue = [
            "iss": .string(issuer), "sub": .string(subject), "preferred_username": .string("\(subject)@contoso.com"),
            "name": .string(subject.capitalized),
        ]
        return [#"{"alg":"RS256","typ":"JWT"}"#, claims.text(), "signature"].map { Base64URL.encode(Array($0.utf8)) }
            .joined(separator: ".")
    }

    /// Returns a cache in the format of MSAL for Python.
    static func msal(
        secret: String = "RT-msal", environment: String = "login.microsoftonline.com", client: String = client,
        tokenType: String = "Bearer", withIDToken: Bool = true, withRefreshToken: Bool = true
    ) -> String {
        let key = "\(home)-\(environment)"
        let refresh = """
            "RefreshToken": {"\(key)-refreshtoken-\(client)--user.read": {"credential_type": "RefreshToken",
              "secret": "\(secret)", "home_account_id": "\(home)", "environment": "\(environment)",
              "client_id": "\(client)", "target": "User.Read openid", "last_modification_time": "1768469400"}},
            """
        let idToken = """
            "IdToken": {"\(key)-idtoken-\(client)-t1-": {"credential_type": "IdToken", "secret": "\(idToken("ada"))",
              "home_account_id": "\(home)", "environment": "\(environment)", "realm": "t1", "client_id": "\(client)"}},
            """
        return """
            {"AccessToken": {
              "\(key)-accesstoken-\(client)-t1-user.read": {"credential_type": "AccessToken", "secret": "AT-msal",
                "home_account_id": "\(home)", "environment": "\(environment)", "client_id": "\(client)",
                "target": "User.Read openid", "realm": "t1", "token_type": "\(tokenType)", "cached_at": "1768469400",
                "expires_on": "1768473000", "extended_expires_on": "1768473000"}},
             \(withRefreshToken ? refresh : "") \(withIDToken ? idToken : "")
             "Account": {"\(key)-t1": {"home_account_id": "\(home)", "environment": "\(environment)", "realm": "t1",
               "local_account_id": "00000000-aaaa", "username": "ada@contoso.com", "authority_type": "MSSTS"}},
             "AppMetadata": {"appmetadata-\(environment)-\(client)": {"client_id": "\(client)",
               "environment": "\(environment)"}}}
            """
    }

    /// A cache of a service that has only the client's token.
    static let msalClient = """
        {"AccessToken": {"-login.microsoftonline.com-accesstoken-client-t1-default": {"credential_type": "AccessToken",
          "secret": "AT-own", "home_account_id": null, "environment": "login.microsoftonline.com", "client_id": "client",
          "target": "https://graph.microsoft.com/.default", "realm": "t1", "token_type": "Bearer",
          "cached_at": "1768469400", "expires_on": "1768473000"}}, "AppMetadata": {}}
        """

    static let archive = """
        {"accounts": [
          {"identifier": "A-1", "accountType": "graph", "userData": {"color": "blue"},
           "accessToken": {"accessToken": "AT-nx1", "refreshToken": "RT-nx1", "expiresAt": "2026-01-15T10:30:00Z",
             "scope": ["read", "write"], "tokenType": "Bearer", "responseBody": "{\\"id_token\\":\\"\(idToken("bob"))\\"}"}},
          {"identifier": "A-2", "accountType": "graph",
           "accessToken": {"accessToken": "AT-nx2", "refreshToken": "RT-nx2", "expiresAt": 1768470000, "scope": "read"}},
          {"identifier": "A-3", "accountType": "elsewhere", "accessToken": {"refreshToken": "RT-nx3"}},
          {"identifier": "A-4", "accountType": "graph", "accessToken": null}]}
        """
}

/// Counts down to the call that fails.
final class Counter: Sendable {
    private let number = Mutex(0)
    func set(_ value: Int) { number.withLock { $0 = value } }
    func reachesZero() -> Bool {
        number.withLock { number in
            guard number > 0 else { return false }
            number -= 1
            return number == 0
        }
    }
}
