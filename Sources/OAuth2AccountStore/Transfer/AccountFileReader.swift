import Platform
import JOSE
import OAuth2Protocol
import StrictJSON

/// Reads the forms of ``AccountFile``.
struct AccountFileReader {
    let source: String

    /// What a file has.
    struct Contents {
        var entries: [AccountFile.Entry] = []
        var left: [(location: String, name: String?, reason: String)] = []
    }

    // MARK: Values and their places

    func fault(_ location: String, expected: String, found: String) -> AccountFileError {
        AccountFileError(source: source, location: location.isEmpty ? nil : location, expected: expected, found: found)
    }

    func object(_ value: JSONValue?, _ location: String) throws(AccountFileError) -> JSONObject {
        guard let object = value?.object else {
            throw fault(location, expected: "an object", found: value?.kind ?? "nothing")
        }
        return object
    }

    /// A text; nil when there is none, it is null or empty.
    func text(_ object: JSONObject, _ name: String, _ location: String) throws(AccountFileError) -> String? {
        guard let value = object[name], !value.isNull else { return nil }
        guard let text = value.string else {
            throw fault(Self.join(location, name), expected: "a string", found: value.kind)
        }
        return text.isEmpty ? nil : text
    }

    /// A secret that goes into header fields and forms; nil when there is none.
    func secret(_ object: JSONObject, _ name: String, _ location: String) throws(AccountFileError) -> Secret? {
        guard let text = try text(object, name, location) else { return nil }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw fault(
                Self.join(location, name), expected: "a token", found: "a string with characters that no token has")
        }
        guard text.utf8.count <= AccountFile.maximumTokenSize else {
            throw fault(
                Self.join(location, name), expected: "a token of at most \(AccountFile.maximumTokenSize) bytes",
                found: "one of \(text.utf8.count)")
        }
        return Secret(text)
    }

    /// A number of seconds: a number, or a string of one, as MSAL writes it.
    func seconds(_ object: JSONObject, _ name: String, _ location: String) throws(AccountFileError) -> Double? {
        guard let value = object[name], !value.isNull else { return nil }
        let number = value.number?.double ?? value.string.flatMap(Double.init)
        guard let number, number.isFinite, abs(number) < 1e12 else {
            throw fault(Self.join(location, name), expected: "a number of seconds", found: value.kind)
        }
        return number
    }

    /// A scope: a string or a list of strings.
    func scope(_ object: JSONObject, _ name: String, _ location: String) throws(AccountFileError) -> Scope {
        guard let value = object[name], !value.isNull else { return [] }
        if let text = value.string { return Scope(parsing: text) }
        guard let list = value.array, case let texts = list.compactMap(\.string), texts.count == list.count else {
            throw fault(Self.join(location, name), expected: "a string or a list of strings", found: value.kind)
        }
        return Scope(texts)
    }

    static func join(_ location: String, _ name: String) -> String { location.isEmpty ? name : "\(location).\(name)" }

    // MARK: A token answer

    func tokenAnswer(_ object: JSONObject) throws(AccountFileError) -> Contents {
        let access = try secret(object, "access_token", "")
        let refresh = try secret(object, "refresh_token", "")
        guard access != nil || refresh != nil else {
            throw fault("access_token", expected: "a token", found: "nothing")
        }
        let idToken = try secret(object, "id_token", "")
        let lifetime = try seconds(object, "expires_in", "")
        var entry = AccountFile.Entry(
            location: "the token answer",
            tokens: TokenSet(
                access: access, refresh: refresh, idToken: idToken, scope: try scope(object, "scope", ""),
                type: try text(object, "token_type", ""), received: nil, lifetime: lifetime))
        if let home = clientInfo(try text(object, "client_info", "")) {
            entry.key = "home:\(home)"
            entry.homeAccountID = home
        }
        entry.fill(unverified: idToken)
        if access != nil, idToken != nil { entry.answer = object }
        return Contents(entries: [entry])
    }

    /// Entra's own word on who signed in, `uid.utid`; nil when it is none.
    private func clientInfo(_ text: String?) -> String? {
        guard let text, let bytes = Base64URL.decode(text), let object = (try? JSONValue(parsing: bytes))?.object,
            let user = object["uid"]?.string, let tenant = object["utid"]?.string
        else { return nil }
        return "\(user).\(tenant)"
    }

    // MARK: An archive of NXOAuth2

    func archive(_ value: JSONValue) throws(AccountFileError) -> Contents {
        var contents = Contents()
        for (location, item) in try archived(value) {
            let account = try object(item, location)
            guard let type = try text(account, "accountType", location) else {
                throw fault(location + ".accountType", expected: "the name of an account type", found: "nothing")
            }
            let identifier = try text(account, "identifier", location)
            guard let kept = account["accessToken"], !kept.isNull else {
                contents.left.append((location, identifier, "it has no tokens"))
                continue
            }
            let inner = location + ".accessToken"
            let token = try object(kept, inner)
            let access = try secret(token, "accessToken", inner)
            let refresh = try secret(token, "refreshToken", inner)
            guard access != nil || refresh != nil else {
                throw fault(inner + ".accessToken", expected: "a token", found: "nothing")
            }
            let body = try text(token, "responseBody", inner)
            let answer = body.flatMap { try? JSONValue(parsing: $0) }?.object
            let idToken = answer?["id_token"]?.string.map(Secret.init)
            var entry = AccountFile.Entry(
                location: location, key: identifier.map { "nxoauth2:\($0)" }, type: type,
                tokens: TokenSet(
                    access: access, refresh: refresh, idToken: idToken, scope: try scope(token, "scope", inner),
                    type: try text(token, "tokenType", inner), received: nil, lifetime: nil))
            entry.tokens.end(at: try date(token, "expiresAt", inner))
            if let userData = account["userData"], !userData.isNull {
                entry.userData = Data(JSONValue.array([userData]).serialized())
            }
            entry.fill(unverified: idToken)
            contents.entries.append(entry)
        }
        return contents
    }

    private func archived(_ value: JSONValue) throws(AccountFileError) -> [(location: String, item: JSONValue)] {
        let list = value.array ?? value.object?["accounts"]?.array
        let prefix = value.array == nil ? "accounts" : ""
        if let list { return list.enumerated().map { ("\(prefix)[\($0.offset)]", $0.element) } }
        let accounts = try object(
            value.object?["accounts"] ?? value, value.object?["accounts"] == nil ? "" : "accounts")
        return accounts.members.enumerated().map { number, member in
            var item = member.value.object ?? [:]
            if item["identifier"] == nil { item["identifier"] = .string(member.name) }
            return ("accounts[\(number)]", member.value.object == nil ? member.value : .object(item))
        }
    }

    /// A time: seconds since 1970, or RFC 3339 text.
    private func date(_ object: JSONObject, _ name: String, _ location: String) throws(AccountFileError) -> Date? {
        if let text = object[name]?.string, Double(text) == nil {
            guard let date = try? Date(text, strategy: .iso8601) else {
                throw fault(
                    Self.join(location, name), expected: "seconds since 1970 or a time of RFC 3339",
                    found: "another string")
            }
            return date
        }
        return try seconds(object, name, location).map(Date.init(timeIntervalSince1970:))
    }

    // MARK: An export

    func export(_ object: JSONObject) throws(AccountFileError) -> Contents {
        guard object["version"]?.number?.int64 == 1 else {
            throw fault("version", expected: "1", found: object["version"]?.number?.literal ?? "nothing")
        }
        guard let list = object["accounts"]?.array else {
            throw fault("accounts", expected: "a list", found: object["accounts"]?.kind ?? "nothing")
        }
        var contents = Contents()
        for (number, item) in list.enumerated() {
            let location = "accounts[\(number)]"
            let account = try self.object(item, location)
            guard let type = try text(account, "type", location) else {
                throw fault(location + ".type", expected: "the name of an account type", found: "nothing")
            }
            let access = try secret(account, "accessToken", location)
            let refresh = try secret(account, "refreshToken", location)
            guard access != nil || refresh != nil else {
                throw fault(location + ".accessToken", expected: "a token", found: "nothing")
            }
            let received = try seconds(account, "received", location)
            var entry = AccountFile.Entry(
                location: location, key: try text(account, "id", location).map { "export:\($0)" }, type: type,
                tokens: TokenSet(
                    access: access, refresh: refresh, idToken: try secret(account, "idToken", location),
                    scope: try scope(account, "scope", location), type: try text(account, "tokenType", location),
                    received: received.map(Date.init(timeIntervalSince1970:)),
                    lifetime: try seconds(account, "lifetime", location)))
            entry.hasTime = received != nil
            entry.tokens.additional = try text(account, "additional", location).map(Secret.init)
            entry.clientID = try text(account, "clientId", location)
            entry.issuer = try text(account, "issuer", location)
            entry.subject = try text(account, "subject", location)
            entry.userName = try text(account, "userName", location)
            entry.displayName = try text(account, "displayName", location)
            entry.nickname = try text(account, "label", location)
            entry.tokenOrigin = try text(account, "tokenOrigin", location)
            entry.senderKey = try text(account, "senderKey", location).map(Secret.init)
            entry.grant = account["grant"] == nil ? nil : try scope(account, "grant", location)
            entry.policy = try text(account, "policy", location)
            entry.homeAccountID = try text(account, "homeAccountId", location)
            entry.created = try seconds(account, "created", location).map(Date.init(timeIntervalSince1970:))
            if let userData = account["userData"], !userData.isNull {
                entry.userData = Data(JSONValue.array([userData]).serialized())
            }
            contents.entries.append(entry)
        }
        return contents
    }
}

extension AccountFile.Entry {
    /// Takes who it is from an ID token, without believing it: it only names the account.
    mutating func fill(unverified idToken: Secret?) {
        guard let idToken, let claims = (try? JWT(parsing: idToken.value))?.unverifiedClaims else { return }
        issuer = issuer ?? claims["iss"]?.string
        subject = subject ?? claims["sub"]?.string
        userName = userName ?? claims["preferred_username"]?.string ?? claims["email"]?.string ?? claims["upn"]?.string
        displayName = displayName ?? claims["name"]?.string
    }
}

extension TokenSet {
    /// Tokens of another program. Without an access token they are used up, and the first use renews them.
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
        additional = nil
    }

    /// Whether the file did not say when they came.
    var isUndated: Bool { received == .distantPast }

    /// Dates tokens that end at a time: as received at that time without a life, until somebody says what time it is.
    mutating func end(at date: Date?) {
        guard let date, lifetime != 0 else { return }
        received = date
        lifetime = 0
    }

    /// The same tokens as they are known at a time.
    func dated(_ now: Date) -> TokenSet {
        var tokens = self
        if isUndated {
            tokens.received = now
        } else if lifetime == 0, !accessToken.value.isEmpty, received > now {
            // They end in the future: from now on they have so long to live.
            tokens.lifetime = Int(min(received.timeIntervalSince(now), Double(TokenResponse.maximumLifetime)))
            tokens.received = now
        }
        return tokens
    }
}
