import Platform
import OAuth2Protocol
import StrictJSON

// The token cache of MSAL, as its libraries for Python, Java and .NET write it: sections of credentials, each under a key of
// its own. What belongs together has the same home account, client and cloud.
extension AccountFileReader {
    private struct Credential {
        let object: AccountFileObject
        /// `uid.utid`; `nil` for the client's own.
        let home: String?
        let host: String
        let client: String?

        /// The value that the credentials of one account have in common.
        var group: [String?] { [home, host, client] }

        init(_ object: AccountFileObject) throws(AccountFileError) {
            self.object = object
            home = try object.text("home_account_id")
            host = AccountFileReader.cloud(try object.text("environment") ?? "")
            client = try object.text("client_id")
        }

        func secret() throws(AccountFileError) -> Secret {
            guard let secret = try object.secret("secret") else {
                throw object.error("secret", expected: "a token", found: "nothing")
            }
            return secret
        }
    }

    /// The credentials of a section by group, so that a large cache is searched once.
    private struct Groups {
        private let all: [[String?]: [Credential]]

        init(_ credentials: [Credential]) { all = Dictionary(grouping: credentials, by: \.group) }

        /// Returns the credentials of the same account and client, then those of the account without a client.
        func with(_ credential: Credential) -> [Credential] {
            let own = all[credential.group] ?? []
            return credential.client == nil ? own : own + (all[[credential.home, credential.host, nil]] ?? [])
        }
    }

    /// Returns the current name of a cloud that had several.
    static func cloud(_ host: String) -> String {
        let host = host.lowercased()
        let aliases = ["login.windows.net", "login.microsoft.com", "sts.windows.net"]
        return aliases.contains(host) ? "login.microsoftonline.com" : host
    }

    private func section(_ cache: AccountFileObject, _ name: String) throws(AccountFileError) -> [Credential] {
        guard cache[name] != nil else { return [] }
        var credentials: [Credential] = []
        // The keys have names of people: locations have numbers.
        let members = try cache.object(name).json.members
        guard members.count <= AccountFile.maximumCount else {
            throw cache.error(
                name, expected: "at most \(AccountFile.maximumCount) credentials", found: "\(members.count)")
        }
        for (number, member) in members.enumerated() {
            credentials.append(try Credential(try object(member.value, "\(name)[\(number)]")))
        }
        return credentials
    }

    func msalCache(_ cache: AccountFileObject) throws(AccountFileError) -> Contents {
        let access = try section(cache, "AccessToken"), refresh = try section(cache, "RefreshToken")
        let accessOf = Groups(access), refreshOf = Groups(refresh), identitiesOf = Groups(try section(cache, "IdToken"))
        let people = try section(cache, "Account")
        let peopleOf = Dictionary(people.map { ([$0.home, $0.host], $0) }) { first, _ in first }
        var contents = Contents()
        var used: Set<[String?]> = []
        for credential in refresh + access {
            let location = credential.object.location
            guard let home = credential.home else {
                let reason = "it is the client's own token: sign in with the client credentials to get a new one"
                contents.left.append((location, credential.client, reason))
                continue
            }
            guard used.insert(credential.group).inserted else { continue }
            let person = peopleOf[[home, credential.host]]?.object
            let name = try person?.text("username")
            let (tokens, others) = try newest(accessOf.with(credential))
            let refreshing = refreshOf.with(credential).first
            let refreshToken = try refreshing?.secret()
            guard tokens != nil || refreshToken != nil else {
                contents.left.append((location, name, "its tokens are bound to a key that is not in the file"))
                continue
            }
            let expired = TokenSet(
                access: nil, refresh: nil, idToken: nil, scope: try refreshing?.object.scope("target") ?? [], type: nil,
                received: nil, lifetime: nil)
            var entry = AccountFile.Entry(location: location, key: "home:\(home)", tokens: tokens ?? expired)
            entry.hasTime = tokens != nil && !entry.tokens.isUndated
            entry.tokens.refreshToken = refreshToken
            entry.tokens.idToken = try identitiesOf.with(credential).first?.secret()
            entry.homeAccountID = home
            entry.clientID = credential.client
            entry.host = credential.host
            entry.userName = name
            entry.displayName = try person?.text("name")
            entry.fill(unverified: entry.tokens.idToken)
            contents.entries.append(entry)
            if others > 0 {
                let reason = "\(others) further access tokens: they are asked for again when needed"
                contents.left.append((location, name, reason))
            }
        }
        return contents
    }

    /// Returns the access token of an account that expires last, and the number of the others. Tokens that are bound to a key are
    /// useless without it.
    private func newest(_ credentials: [Credential]) throws(AccountFileError) -> (TokenSet?, others: Int) {
        var all: [TokenSet] = []
        for credential in credentials {
            let object = credential.object
            let type = try object.text("token_type")?.lowercased()
            let secret = try credential.secret()
            guard type == nil || type == "bearer" else { continue }
            let received = try object.seconds("cached_at"), end = try object.seconds("expires_on")
            var tokens = TokenSet(
                access: secret, refresh: nil, idToken: nil, scope: try object.scope("target"), type: type,
                received: received.map(Date.init(timeIntervalSince1970:)),
                lifetime: received.flatMap { received in end.map { $0 - received } })
            if received == nil { tokens.end(at: end.map(Date.init(timeIntervalSince1970:))) }
            all.append(tokens)
        }
        let newest = all.max { ($0.expiry ?? .distantPast) < ($1.expiry ?? .distantPast) }
        return (newest, max(0, all.count - 1))
    }
}
