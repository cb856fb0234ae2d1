import Platform
import OAuth2Protocol
import StrictJSON

// The token cache of MSAL, as its libraries for Python, Java and .NET write it: sections of credentials, each under a key of
// its own. What belongs together has the same home account, client and cloud.
extension AccountFileReader {
    /// One credential of a section.
    private struct Credential {
        let location: String
        let object: JSONObject
        /// `uid.utid`; nil for the client's own.
        let home: String?
        let host: String
        let client: String?

        /// What belongs together has the same.
        var group: [String?] { [home, host, client] }
    }

    /// The credentials of a section by what they belong to, so that a large cache is not gone through for every one.
    private struct Groups {
        private let all: [[String?]: [Credential]]

        init(_ credentials: [Credential]) { all = Dictionary(grouping: credentials, by: \.group) }

        /// Those of the same account and client, then those of the account that name no client.
        func with(_ credential: Credential) -> [Credential] {
            let own = all[credential.group] ?? []
            return credential.client == nil ? own : own + (all[[credential.home, credential.host, nil]] ?? [])
        }
    }

    /// The names that one cloud has had.
    static func cloud(_ host: String) -> String {
        let host = host.lowercased()
        let aliases = ["login.windows.net", "login.microsoft.com", "sts.windows.net"]
        return aliases.contains(host) ? "login.microsoftonline.com" : host
    }

    private func section(_ cache: JSONObject, _ name: String) throws(AccountFileError) -> [Credential] {
        guard let value = cache[name], !value.isNull else { return [] }
        var credentials: [Credential] = []
        // The keys hold names of people: places are told by number.
        let members = try object(value, name).members
        guard members.count <= AccountFile.maximumCount else {
            throw fault(name, expected: "at most \(AccountFile.maximumCount) credentials", found: "\(members.count)")
        }
        for (number, member) in members.enumerated() {
            let location = "\(name)[\(number)]"
            let credential = try object(member.value, location)
            credentials.append(
                Credential(
                    location: location, object: credential, home: try text(credential, "home_account_id", location),
                    host: Self.cloud(try text(credential, "environment", location) ?? ""),
                    client: try text(credential, "client_id", location)))
        }
        return credentials
    }

    func msalCache(_ cache: JSONObject) throws(AccountFileError) -> Contents {
        let access = try section(cache, "AccessToken"), refresh = try section(cache, "RefreshToken")
        let identities = try section(cache, "IdToken"), people = try section(cache, "Account")
        let accessOf = Groups(access), refreshOf = Groups(refresh), identitiesOf = Groups(identities)
        let peopleOf = Dictionary(people.map { ([$0.home, $0.host], $0) }) { first, _ in first }
        var contents = Contents()
        var used: Set<[String?]> = []
        for credential in refresh + access {
            guard credential.home != nil else {
                let reason = "it is the client's own token: sign in with the client credentials to get a new one"
                contents.left.append((credential.location, credential.client, reason))
                continue
            }
            let home = credential.home
            guard used.insert(credential.group).inserted else { continue }
            let person = peopleOf[[home, credential.host]]
            let name = try person.flatMap { (person) throws(AccountFileError) in
                try text(person.object, "username", person.location)
            }
            let (tokens, further) = try newest(accessOf.with(credential))
            let renewing = refreshOf.with(credential).first
            let refreshToken = try renewing.flatMap { (renewing) throws(AccountFileError) in
                try required(renewing)
            }
            guard tokens != nil || refreshToken != nil else {
                contents.left.append(
                    (credential.location, name, "its tokens are bound to a key that is not in the file"))
                continue
            }
            var scope: Scope = []
            if let renewing { scope = try self.scope(renewing.object, "target", renewing.location) }
            let usedUp = TokenSet(
                access: nil, refresh: nil, idToken: nil, scope: scope, type: nil, received: nil, lifetime: nil)
            var entry = AccountFile.Entry(
                location: credential.location, key: credential.home.map { "home:\($0)" }, tokens: tokens ?? usedUp)
            entry.hasTime = tokens != nil && !entry.tokens.isUndated
            entry.tokens.refreshToken = refreshToken
            let identity = identitiesOf.with(credential).first
            entry.tokens.idToken = try identity.flatMap { (identity) throws(AccountFileError) in
                try required(identity)
            }
            entry.homeAccountID = credential.home
            entry.clientID = credential.client
            entry.host = credential.host
            entry.userName = name
            entry.displayName = try person.flatMap { (person) throws(AccountFileError) in
                try text(person.object, "name", person.location)
            }
            entry.fill(unverified: entry.tokens.idToken)
            contents.entries.append(entry)
            if further > 0 {
                contents.left.append(
                    (
                        credential.location, name,
                        "\(further) further access tokens: they are asked for again when needed"
                    ))
            }
        }
        return contents
    }

    private func required(_ credential: Credential) throws(AccountFileError) -> Secret {
        guard let secret = try secret(credential.object, "secret", credential.location) else {
            throw fault(credential.location + ".secret", expected: "a token", found: "nothing")
        }
        return secret
    }

    /// Of the access tokens of an account the one that ends last, and how many others there are. Those that are bound to a key
    /// are of no use without it.
    private func newest(_ credentials: [Credential]) throws(AccountFileError) -> (TokenSet?, further: Int) {
        var all: [TokenSet] = []
        for credential in credentials {
            let object = credential.object, location = credential.location
            let type = try text(object, "token_type", location)?.lowercased()
            let secret = try required(credential)
            guard type == nil || type == "bearer" else { continue }
            let cached = try seconds(object, "cached_at", location), end = try seconds(object, "expires_on", location)
            let start = cached.map(Date.init(timeIntervalSince1970:))
            var tokens = TokenSet(
                access: secret, refresh: nil, idToken: nil, scope: try scope(object, "target", location), type: type,
                received: start, lifetime: cached.flatMap { cached in end.map { $0 - cached } })
            if cached == nil { tokens.end(at: end.map(Date.init(timeIntervalSince1970:))) }
            all.append(tokens)
        }
        let newest = all.max { ($0.expiry ?? .distantPast) < ($1.expiry ?? .distantPast) }
        return (newest, max(0, all.count - 1))
    }
}
