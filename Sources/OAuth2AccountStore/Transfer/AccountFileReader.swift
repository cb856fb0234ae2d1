import JOSE
import OAuth2Protocol
import LodgePlatform
import StrictJSON

/// Parses the formats of ``AccountFile``.
struct AccountFileReader {
    let source: String

    struct Contents {
        var entries: [AccountFile.Entry] = []
        var left: [(location: String, name: String?, reason: String)] = []
    }

    func object(_ value: JSONValue?, _ location: String = "") throws(AccountFileError) -> AccountFileObject {
        try AccountFileObject(value, source: source, location: location)
    }

    func tokenAnswer(_ response: AccountFileObject) throws(AccountFileError) -> Contents {
        let idToken = try response.secret("id_token")
        var entry = AccountFile.Entry(
            location: "the token response",
            tokens: try response.tokens(
                access: "access_token", refresh: "refresh_token", idToken: idToken, type: "token_type",
                lifetime: try response.seconds("expires_in")))
        // Files of oidc-agent and gcloud name the client of the refresh token. Another provider must not receive it.
        entry.clientID = response.json["client_id"]?.string
        entry.host = response.json["issuer_url"]?.string.flatMap { URL(string: $0)?.host(percentEncoded: true) }
        entry.homeAccountID = ClientInfo.homeAccountID(try response.text("client_info"))
        entry.key = entry.homeAccountID.map { "home:\($0)" }
        entry.fill(unverified: idToken)
        if !entry.tokens.accessToken.value.isEmpty, idToken != nil { entry.tokenResponse = response.json }
        return Contents(entries: [entry])
    }

    // MARK: An archive of NXOAuth2

    func archive(_ value: JSONValue) throws(AccountFileError) -> Contents {
        var contents = Contents()
        for (location, item) in try archived(value) {
            let account = try object(item, location)
            let type = try account.requiredText("accountType", "the name of an account type")
            let identifier = try account.text("identifier")
            guard account["accessToken"] != nil else {
                contents.left.append((location, identifier, "it has no tokens"))
                continue
            }
            let token = try account.object("accessToken")
            let response = try token.text("responseBody").flatMap { try? JSONValue(parsing: $0) }?.object
            let idToken = response?["id_token"]?.string.map(Secret.init)
            var entry = AccountFile.Entry(
                location: location, key: identifier.map { "nxoauth2:\($0)" }, type: type,
                tokens: try token.tokens(
                    access: "accessToken", refresh: "refreshToken", idToken: idToken, type: "tokenType"))
            entry.tokens.end(at: try token.date("expiresAt"))
            entry.userData = account.userData()
            entry.fill(unverified: idToken)
            contents.entries.append(entry)
        }
        return contents
    }

    private func archived(_ value: JSONValue) throws(AccountFileError) -> [(location: String, item: JSONValue)] {
        let list = value.array ?? value.object?["accounts"]?.array
        let prefix = value.array == nil ? "accounts" : ""
        if let list { return list.enumerated().map { ("\(prefix)[\($0.offset)]", $0.element) } }
        let accounts = value.object?["accounts"]
        return try object(accounts ?? value, accounts == nil ? "" : "accounts").json.members.enumerated().map {
            number, member in
            var item = member.value.object ?? [:]
            if item["identifier"] == nil { item["identifier"] = .string(member.name) }
            return ("accounts[\(number)]", member.value.object == nil ? member.value : .object(item))
        }
    }

    // MARK: An export

    func export(_ file: AccountFileObject) throws(AccountFileError) -> Contents {
        guard file["version"]?.number?.int64 == 1 else {
            throw file.error("version", expected: "1", found: file["version"]?.number?.literal ?? "nothing")
        }
        guard let list = file["accounts"]?.array else { throw file.error("accounts", expected: "a list") }
        let texts: [(String, WritableKeyPath<AccountFile.Entry, String?>)] = [
            ("subject", \.subject), ("userName", \.userName), ("displayName", \.displayName), ("label", \.nickname),
            ("policy", \.policy), ("homeAccountId", \.homeAccountID),
        ]
        var contents = Contents()
        for (number, item) in list.enumerated() {
            let account = try object(item, "accounts[\(number)]")
            let type = try account.requiredText("type", "the name of an account type")
            let signIn = try signIn(account)
            var entry = AccountFile.Entry(
                location: account.location, key: try account.text("id").map { "export:\($0)" }, type: type,
                clientID: signIn.clientID.isEmpty ? nil : signIn.clientID, issuer: signIn.issuer, tokens: signIn.tokens,
                hasTime: !signIn.tokens.isUndated, senderKey: signIn.senderKey, tokenOrigin: signIn.tokenOrigin,
                grant: signIn.grant)
            for (name, path) in texts { entry[keyPath: path] = try account.text(name) }
            entry.created = try account.seconds("created").map(Date.init(timeIntervalSince1970:))
            entry.userData = account.userData()
            if account["policies"] != nil {
                let policies = try account.object("policies")
                for policy in policies.json.members.map(\.name) {
                    entry.policySignIns[policy] = try self.signIn(policies.object(policy))
                }
            }
            contents.entries.append(entry)
        }
        return contents
    }

    /// Returns the tokens of an account at one policy.
    private func signIn(_ object: AccountFileObject) throws(AccountFileError) -> PolicySignIn {
        let received = try object.seconds("received").map(Date.init(timeIntervalSince1970:))
        var tokens = try object.tokens(
            access: "accessToken", refresh: "refreshToken", idToken: try object.secret("idToken"), type: "tokenType",
            received: received, lifetime: try object.seconds("lifetime"))
        tokens.additional = try object.text("additional").map(Secret.init)
        return PolicySignIn(
            issuer: try object.text("issuer"), clientID: try object.text("clientId") ?? "",
            tokenOrigin: try object.text("tokenOrigin"), tokens: tokens,
            grant: object.json["grant"] == nil ? nil : try object.scope("grant"),
            senderKey: try object.text("senderKey").map(Secret.init))
    }
}

extension AccountFile.Entry {
    /// Sets the missing names of the user from an ID token, without validating it. The names only label the account.
    mutating func fill(unverified idToken: Secret?) {
        guard let idToken, let claims = (try? JWT(parsing: idToken.value))?.unverifiedClaims.members else { return }
        let identity = Identity(claims: claims)
        issuer = issuer ?? claims["iss"]?.string
        subject = subject ?? claims["sub"]?.string
        userName = userName ?? identity.userName
        displayName = displayName ?? identity.displayName
    }
}

extension TokenSet {
    /// Creates tokens of another program. Without an access token they count as expired, and the first use refreshes
    /// them.
    init(
        access: Secret?, refresh: Secret?, idToken: Secret?, scope: Scope, type: String?, received: Date?,
        lifetime: Double?
    ) {
        accessToken = access ?? Secret("")
        refreshToken = refresh
        self.idToken = idToken
        self.scope = scope
        let type = type?.lowercased()
        self.type = type == "bearer" ? nil : type
        self.received = received ?? .distantPast
        self.lifetime = access == nil ? 0 : lifetime.map { Int(min(max($0, 0), Double(TokenResponse.maximumLifetime))) }
    }

    /// Whether the file lacks the time at which the tokens were received.
    var isUndated: Bool { received == .distantPast }

    /// Sets the expiry of tokens whose time of receipt is unknown. It is stored as the time of receipt with a lifetime
    /// of zero, until ``dated(_:)`` converts it.
    mutating func end(at date: Date?) {
        guard let date, lifetime != 0 else { return }
        received = date
        lifetime = 0
    }

    /// Returns the tokens with a time of receipt and a lifetime, computed at the given time.
    func dated(_ now: Date) -> TokenSet {
        var tokens = self
        if isUndated {
            tokens.received = now
        } else if lifetime == 0, !accessToken.value.isEmpty, received > now {
            // The tokens expire in the future: count their lifetime from now on.
            tokens.lifetime = Int(min(received.timeIntervalSince(now), Double(TokenResponse.maximumLifetime)))
            tokens.received = now
        }
        return tokens
    }
}
