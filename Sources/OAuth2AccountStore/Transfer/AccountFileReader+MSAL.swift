import LodgePlatform
import OAuth2Protocol
import StrictJSON

// The token cache of MSAL for Python, Java and .NET has sections of credentials, each with its own key. The credentials
// of an account have the same home account, client and cloud.
extension AccountFileReader {
    private struct Credential {
        let object: AccountFileObject
        /// The home account, `uid.utid`; `nil` for the client's own credentials.
        let home: String?
        let host: String
        let client: String?

        /// The values that all credentials of an account have in common.
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

    /// The values of a section by the group of their credentials. Each credential is parsed once, even if several
    /// clients share it.
    private struct Groups<Value> {
        private let values: [[String?]: Value]

        init(
            _ credentials: [Credential], read: ([Credential]) throws(AccountFileError) -> Value
        ) throws(AccountFileError) {
            var values: [[String?]: Value] = [:]
            for (group, credentials) in Dictionary(grouping: credentials.filter { $0.home != nil }, by: \.group) {
                values[group] = try read(credentials)
            }
            self.values = values
        }

        /// Returns the value of the same account and client, and the value of the same account without a client.
        func of(_ credential: Credential) -> (own: Value?, shared: Value?) {
            let own = values[credential.group]
            return (own, credential.client == nil ? nil : values[[credential.home, credential.host, nil]])
        }

        func first(_ credential: Credential) -> Value? {
            let (own, shared) = of(credential)
            return own ?? shared
        }
    }

    /// The usable access tokens of a group.
    private struct AccessTokens {
        /// The token that expires last, or `nil` if all tokens are bound to a key that is not in the file.
        var newest: TokenSet?
        var count = 0

        mutating func add(_ tokens: TokenSet) {
            count += 1
            if let newest, (newest.expiry ?? .distantPast) >= (tokens.expiry ?? .distantPast) { return }
            newest = tokens
        }

        static func both(_ tokens: (own: AccessTokens?, shared: AccessTokens?)) -> AccessTokens {
            var all = tokens.own ?? AccessTokens()
            if let shared = tokens.shared, let newest = shared.newest {
                all.add(newest)
                all.count += shared.count - 1
            }
            return all
        }
    }

    /// Returns the current host name of a cloud that has had several names.
    static func cloud(_ host: String) -> String {
        let host = host.lowercased()
        let aliases = ["login.windows.net", "login.microsoft.com", "sts.windows.net"]
        return aliases.contains(host) ? "login.microsoftonline.com" : host
    }

    private func section(_ cache: AccountFileObject, _ name: String) throws(AccountFileError) -> [Credential] {
        guard cache[name] != nil else { return [] }
        var credentials: [Credential] = []
        // The keys contain user names, so locations have numbers instead.
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
        let accessOf = try Groups(access, read: accessTokens)
        let refreshOf = try Groups(refresh) { $0[0] }
        let identitiesOf = try Groups(try section(cache, "IdToken")) { $0[0] }
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
            let all = AccessTokens.both(accessOf.of(credential)), tokens = all.newest
            let refreshing = refreshOf.first(credential)
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
            entry.tokens.idToken = try identitiesOf.first(credential)?.secret()
            entry.homeAccountID = home
            entry.clientID = credential.client
            entry.host = credential.host
            entry.userName = name
            entry.displayName = try person?.text("name")
            entry.fill(unverified: entry.tokens.idToken)
            contents.entries.append(entry)
            if all.count > 1 {
                let reason = "\(all.count - 1) additional access tokens: the store requests new ones when needed"
                contents.left.append((location, name, reason))
            }
        }
        return contents
    }

    /// Returns the access tokens of a group. Skips tokens that are bound to a key, because the file does not have the
    /// key.
    private func accessTokens(_ credentials: [Credential]) throws(AccountFileError) -> AccessTokens {
        var all = AccessTokens()
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
            all.add(tokens)
        }
        return all
    }
}
