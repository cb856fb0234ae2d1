import LodgePlatform
import OAuth2Protocol
import StrictJSON

extension AccountType {
    /// The grant of a sign-in: by a user, or by the application itself.
    public enum Grant: String, Sendable, Equatable, CaseIterable {
        /// A user signs in (RFC 6749 section 4.1).
        case authorizationCode
        /// The client authenticates itself (RFC 6749 section 4.4).
        case clientCredentials
        /// The platform on which the program runs issues the tokens: Azure or Google Cloud.
        case managedIdentity
        /// The key of a Google service account signs the request (RFC 7523).
        case serviceAccount
        /// A token of another provider is exchanged for a token of Google (RFC 8693).
        case externalAccount

        /// Whether the application signs in, and not a user.
        public var isOfApplication: Bool { self != .authorizationCode }

        /// Whether the tokens come from a source other than the token endpoint of a registered client.
        package var usesTokenSource: Bool { self != .authorizationCode && self != .clientCredentials }
    }

    /// The settings of a service account of Google, or of a file that replaces its key.
    package struct GoogleAccount: Sendable, Equatable {
        /// The path of the file.
        package var file: String
        /// The mail address of the user that the account represents (domain-wide delegation).
        package var subject: String?
        /// Whether the file may name a command.
        package var allowsCommand = false
    }

    /// The scopes that require a user. An application has no profile, and gets no refresh token.
    package static let userScopes: Set<String> = [
        "openid", "profile", "email", "address", "phone", "offline_access",
    ]
}

extension AccountTypeDecoder {
    /// The keys that authenticate a registered client. A source of tokens has no such client.
    private static let clientKeys = [
        "clientId", "clientSecret", "clientAuthentication", "clientKey", "clientAssertion", "clientAssertionAudience",
        "clientCapabilities",
    ]

    /// Returns whether a type with this grant inherits a key of a preset that is for users or another client.
    static func inherits(_ key: String, grant: AccountType.Grant, fromGrant preset: AccountType.Grant) -> Bool {
        guard grant != preset, grant.isOfApplication else { return true }
        let isForUser = ["scopes", "redirectUri", "authorizationParameters", "tokenParameters", "refreshParameters"]
            .contains(key)
        return !isForUser && !(grant.usesTokenSource && clientKeys.contains(key))
    }

    /// Returns the grant of a dictionary, or the default for an unknown one, which the decoder rejects later.
    static func grant(_ object: JSONObject) -> AccountType.Grant {
        object["grant"]?.string.flatMap(AccountType.Grant.init) ?? .authorizationCode
    }

    func grant() throws(SettingsError) -> AccountType.Grant {
        let known = AccountType.Grant.allCases.map(\.rawValue)
        return try choice("grant", "one of \(known.joined(separator: ", "))") ?? .authorizationCode
    }

    /// Reads the keys of the grant. The scopes and the directory are already known.
    func readGrant(into type: inout AccountType) throws(SettingsError) {
        let own: [(key: String, grant: AccountType.Grant)] = [
            ("managedIdentity", .managedIdentity), ("serviceAccount", .serviceAccount),
            ("externalAccount", .externalAccount),
        ]
        for (key, grant) in own where object[key] != nil && type.grant != grant {
            throw error(
                key, "\"grant\": \"\(grant.rawValue)\", which \(key) needs", "\"grant\": \"\(type.grant.rawValue)\"")
        }
        guard type.grant.isOfApplication else { return }
        if type.grant.usesTokenSource, type.dpop {
            throw error("dpop", "no dpop with the grant \(type.grant.rawValue)", "true")
        }
        if type.grant.usesTokenSource {
            for key in Self.clientKeys where object[key] != nil {
                let hint: Hint? =
                    key == "clientId" && type.grant == .managedIdentity
                    ? "to select an identity, set managedIdentity to {\"clientId\": \"…\"}" : nil
                throw error(key, "no \(key) with the grant \(type.grant.rawValue)", "one", hint: hint)
            }
        }
        switch type.grant {
        case .managedIdentity: type.managedIdentity = try managedIdentity()
        case .serviceAccount: type.googleAccount = try googleAccount("serviceAccount", ["file", "subject"])
        case .externalAccount:
            type.googleAccount = try googleAccount("externalAccount", ["file", "subject", "allowsCommand"])
        case .authorizationCode, .clientCredentials: break
        }
        if type.scope.isEmpty, let scope = Self.defaultScope(of: type) { type.scope = [scope] }
        try checkScopes(of: type)
    }

    /// Returns the scope of the directory, for a type without scopes.
    private static func defaultScope(of type: AccountType) -> String? {
        let isGoogle = type.grant.usesTokenSource && type.managedIdentity?.source ?? .google == .google
        switch type.directory {
        case .graph where !isGoogle || type.grant == .managedIdentity:
            if type.grant == .clientCredentials { guard case .authority = type.provider else { return nil } }
            return type.graphAPI?.origin.map { Self.resource($0) + "/.default" }
        case .google where isGoogle: return "https://www.googleapis.com/auth/admin.directory.user.readonly"
        case .graph, .google, .scim: return nil
        }
    }

    /// Returns an origin without the default port.
    private static func resource(_ origin: String) -> String {
        origin.hasPrefix("https:") && origin.hasSuffix(":443") ? String(origin.dropLast(4)) : origin
    }

    private func checkScopes(of type: AccountType) throws(SettingsError) {
        if let scope = type.scope.tokens.first(where: AccountType.userScopes.contains) {
            throw error("scopes", "scopes of an application", "\(scope.debugDescription), which requires a user")
        }
        guard type.grant.usesTokenSource else { return }
        guard !type.scope.isEmpty else {
            throw error("scopes", "a scope, which the grant \(type.grant.rawValue) needs", "nothing")
        }
        guard type.grant == .managedIdentity, type.managedIdentity?.source != .google, type.directory != .google else {
            return
        }
        let expected = "one scope that ends with /.default"
        if let scope = type.scope.tokens.first(where: { !$0.hasSuffix("/.default") }) {
            throw error("scopes", expected, scope.debugDescription)
        }
        if type.scope.tokens.count > 1 { throw error("scopes", expected, "\(type.scope.tokens.count) scopes") }
    }

    private func managedIdentity() throws(SettingsError) -> ManagedIdentity {
        let key = "managedIdentity"
        let members = try members(key, ["source", "clientId", "objectId", "resourceId"])
        var identity = ManagedIdentity()
        if let value = members["source"] {
            guard let source = value.string.flatMap(ManagedIdentity.Source.init) else {
                let known = ManagedIdentity.Source.allCases.map(\.rawValue)
                throw error(
                    "\(key).source", "one of \(known.joined(separator: ", "))", value.shown,
                    hint: value.string.flatMap { SpellingSuggestion.hint(for: $0, in: known) })
            }
            identity.source = source
        }
        let makers: [(String, (String) -> ManagedIdentity.Identity)] = [
            ("clientId", { .clientID($0) }), ("objectId", { .objectID($0) }), ("resourceId", { .resourceID($0) }),
        ]
        for (name, make) in makers {
            guard let text = try memberText(name, of: members, key) else { continue }
            guard identity.identity == nil else {
                throw error("\(key).\(name)", "one of clientId, objectId and resourceId", "two of them")
            }
            identity.identity = make(text)
        }
        if identity.source == .cloudShell || identity.source == .google, identity.identity != nil {
            throw error(
                key, "no identity with the source \(identity.source?.rawValue ?? ""), which has only one", "one")
        }
        if identity.source == .machineLearning {
            switch identity.identity {
            case nil, .clientID: break
            case .objectID, .resourceID:
                throw error(key, "clientId, which machineLearning supports", "another identity")
            }
        }
        return identity
    }

    private func googleAccount(_ key: String, _ names: [String]) throws(SettingsError) -> AccountType.GoogleAccount {
        let members = try members(key, names)
        guard let file = try memberText("file", of: members, key) else {
            throw error("\(key).file", "the path of the JSON file", "nothing")
        }
        var account = AccountType.GoogleAccount(file: file)
        account.subject = try memberText("subject", of: members, key)
        if let value = members["allowsCommand"] {
            guard let allows = value.bool else {
                throw error("\(key).allowsCommand", "true or false", value.shown)
            }
            account.allowsCommand = allows
        }
        return account
    }

    /// Returns the dictionary of a key, which has only the given members.
    private func members(_ key: String, _ names: [String]) throws(SettingsError) -> JSONObject {
        guard let members = try value(key, "a dictionary", \.object) else { return JSONObject() }
        if let unknown = members.members.first(where: { !names.contains($0.name) })?.name {
            throw error(
                "\(key).\(unknown)", "one of \(names.joined(separator: ", "))", "an unknown key",
                hint: SpellingSuggestion.hint(for: unknown, in: names))
        }
        return members
    }

    private func memberText(
        _ name: String, of members: JSONObject, _ key: String
    ) throws(SettingsError) -> String? {
        guard let value = members[name] else { return nil }
        guard let text = value.string, !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw error("\(key).\(name)", "a string", value.shown)
        }
        return text
    }
}
