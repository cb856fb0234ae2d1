import OAuth2Protocol
import LodgePlatform

// Programs that get tokens for mail programs.
extension AccountFileReader {
    /// The hosts of the providers, by their names in these programs.
    static let mailProviders = ["microsoft": "login.microsoftonline.com", "google": "accounts.google.com"]

    // MARK: mutt_oauth2.py

    /// Returns the account of a token file of mutt_oauth2.py. The access token counts as expired, because the file has
    /// its expiry in local time without a time zone.
    func muttToken(_ file: AccountFileObject) throws(AccountFileError) -> Contents {
        let mail = try file.text("email")
        guard let refreshToken = try file.secret("refresh_token") else {
            return Contents(left: [
                ("refresh_token", mail, "it is empty: mutt_oauth2.py did not finish a sign-in; sign in here")
            ])
        }
        let client = try file.requiredText("client_id", "the client of the tokens")
        var entry = AccountFile.Entry(location: "the token file", clientID: client, tokens: Self.expired(refreshToken))
        entry.hasClientSecret = try file.text("client_secret") != nil
        entry.host = try file.text("registration").flatMap { Self.mailProviders[$0] }
        entry.userName = mail
        entry.key = mail.map { "mutt_oauth2:\($0):\(client)" }
        return Contents(entries: [entry])
    }

    private static func expired(_ refreshToken: Secret, scope: Scope = []) -> TokenSet {
        TokenSet(
            access: nil, refresh: refreshToken, idToken: nil, scope: scope, type: nil, received: nil, lifetime: nil)
    }

    // MARK: oama

    /// Returns the account of oama's credentials for a mail address. The client is in oama's configuration, not in this
    /// file.
    func oamaCredentials(_ file: AccountFileObject) throws(AccountFileError) -> Contents {
        let mail = try file["email"]?.object == nil ? file.text("email") : file.object("email").text("unEmailAddress")
        let service = try file.text("service")
        guard let refreshToken = try file.secret("refresh_token") else {
            return Contents(left: [("refresh_token", mail, "it is empty: oama did not finish a sign-in; sign in here")])
        }
        var entry = AccountFile.Entry(
            location: "the credentials", tokens: Self.expired(refreshToken, scope: try file.scope("scope")))
        entry.host = service.flatMap { Self.mailProviders[$0] }
        entry.userName = mail
        entry.key = mail.map { "oama:\($0):\(service ?? "")" }
        return Contents(entries: [entry])
    }
}
