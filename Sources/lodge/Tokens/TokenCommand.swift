import CommandLineKit
import OAuth2AccountStore
import StrictJSON
import LodgePlatform
import OAuth2Protocol

@MainActor struct TokenCommand: CommandHandler {
    enum Input {
        static let header = Option.flag("header", "print the Authorization header field with the token")
        static let sasl = Option.choice(
            "sasl", "MECHANISM", "print the SASL response for a mail server: xoauth2 or oauthbearer",
            of: SASLMechanism.self)
        static let user = Option.text("user", "MAIL", "with --sasl: user name at the mail server (the account's)")
        static let minimumValidity = Option.text(
            "min-validity", "TIME", "refresh a token that expires earlier, such as 90s, 10m or 1h")
        static let expires = Option.flag("expires", "print the expiry instead (RFC 3339)")
        static let idToken = Option.flag("id-token", "print the ID token instead, refreshed if it has expired")
        static let introspect = Option.flag("introspect", "print the provider's introspection response instead (JSON)")
        static let scope = Option.texts("scope", "SCOPE", "require this scope")
        static let policy = Option.text(
            "policy", "NAME", "policy of Azure AD B2C that issues it, by its name in the settings (the account's)")
        static let exchange = Option.flag("exchange", "exchange it for a token of another service, and print that")
        static let audience = Option.texts("audience", "NAME", "the other service, by its name at the provider")
        static let resource = Option.texts("resource", "URL", "the other service, by its URL")
    }

    nonisolated static let command = Command(
        "token", "Print an access token or an Authorization header.",
        discussion: """
            Pass a token through a pipe or a file: other users can read a command line. For mail programs, see lodge help mail.
            """,
        examples: [
            "lodge token --header | curl -H @- https://graph.microsoft.com/v1.0/me", "lodge token --output json",
            "lodge token --sasl xoauth2 --user ada@contoso.com",
            "lodge token --exchange --audience billing --scope read",
        ],
        options: [
            Input.header, Input.sasl, Input.user, TokenOptions.refresh, Input.minimumValidity, Input.expires,
            Input.idToken, Input.introspect, Input.scope, Input.exchange,
            Input.audience, Input.resource, Input.policy,
        ], formats: OutputFormat.ofSentences,
        json: .object(
            [
                "access_token": "", "token_type": "Bearer, DPoP or N_A", "expires_at": "RFC 3339, or null",
                "scope": "separated by spaces", "account": "", "type": "account type",
            ],
            note:
                "--expires writes expires_at, account and type only; --id-token writes id_token instead of the access token, its type "
                + "and its scope; --introspect writes the response of the provider"
        )
    ) { try await TokenCommand(context: $0).run() }

    let context: CommandContext

    func run() async throws -> ExitStatus {
        try checkOptions()
        let validity = try minimumValidity()
        let files = try context.filesOfToken()
        let (store, account) = try await context.storeAndAccount()
        let user = try invocation[Input.sasl].map { _ in try userName(of: account) }
        if invocation[Input.exchange] {
            let exchanged = try await store.exchange(
                tokenOf: account.id, resources: invocation[Input.resource], audiences: invocation[Input.audience],
                scope: try invocation.scope(Input.scope))
            if invocation[Input.header], !["bearer", "dpop"].contains(exchanged.tokenType) {
                throw CommandError(
                    .failed, "cannot print a header field", reason: "the exchanged token is not an access token",
                    hint: "omit --header")
            }
            return try write(
                IssuedToken(
                    secret: exchanged.secret, type: exchanged.tokenType, expiry: exchanged.expiry,
                    scope: exchanged.scope), account, user: user)
        }
        if invocation[Input.idToken] {
            let found = try await context.idToken(
                store, of: account, policy: invocation[Input.policy], minimumValidity: validity,
                refreshes: invocation[TokenOptions.refresh])
            return try write(
                IssuedToken(secret: found.secret, type: "bearer", expiry: found.expiry, scope: [], isIDToken: true),
                account, user: nil)
        }
        let token = try await context.freshToken(
            store, of: account, scope: Input.scope, policy: invocation[Input.policy],
            minimumValidity: context.world.outputValidity?.minimumValidity ?? validity)
        if let validity, let expiry = token.expiry {
            let now = store.dependencies.now()
            if expiry.timeIntervalSince(now) < validity / .seconds(1) {
                console.note("The token \(TimeText.expiry(expiry, now: now)), before the time of --min-validity.")
            }
        }
        if invocation[Input.introspect] {
            let found = try await store.introspect(token, of: account.id)
            let members: JSONObject = found.isActive ? found.members : ["active": false]
            try console.write(.object(members))
            return .done
        }
        if !invocation[TokenOptions.refresh] {
            context.remember(token, of: account, store, validity: validity, files: files)
        }
        return try write(
            IssuedToken(secret: token.secret, type: token.type, expiry: token.expiry, scope: token.scope), account,
            user: user)
    }

    // MARK: Options

    /// Throws for options that cannot be combined.
    private func checkOptions() throws {
        if !invocation[Input.exchange] {
            for option in [Input.audience, Input.resource] where !invocation[option].isEmpty {
                throw CommandError(
                    .usage, "--\(option.spec.name) requires --exchange",
                    reason: "it selects the service for which the token is exchanged",
                    hint: "add --exchange, or leave --\(option.spec.name) out")
            }
        }
        if let user = invocation[Input.user] {
            guard invocation[Input.sasl] != nil else {
                throw CommandError(
                    .usage, "--user requires --sasl", reason: "it is a part of the SASL response",
                    hint: "add --sasl xoauth2 or --sasl oauthbearer")
            }
            try SASLMechanism.check(user: user)
        }
        // Each of these selects a different output.
        let outputs: [any DeclaredOption] = [Input.header, Input.sasl, Input.introspect, Input.expires]
        let given = outputs.filter { invocation.source(of: $0) != nil }
        if given.count > 1 { throw invocation.conflict(given[0], given[1]) }
        if let option = given.first, [Input.header.spec.name, Input.sasl.spec.name].contains(option.spec.name),
            writesJSON, invocation.source(of: GlobalOptions.standard.output) == .option
        {
            throw CommandError(
                .usage, "--\(option.spec.name) cannot be combined with --output json",
                reason: "it prints one line of text",
                hint: "omit one of them")
        }
        let pairs: [(any DeclaredOption, [any DeclaredOption])] = [
            (
                Input.exchange,
                [Input.introspect, Input.idToken, TokenOptions.refresh, Input.minimumValidity, Input.policy]
            ),
            (Input.idToken, [Input.introspect, Input.sasl, Input.scope]),
            (Input.introspect, [Input.policy]), (TokenOptions.refresh, [Input.minimumValidity]),
        ]
        for (first, others) in pairs where invocation.source(of: first) != nil {
            for other in others where invocation.source(of: other) != nil { throw invocation.conflict(first, other) }
        }
    }

    private func minimumValidity() throws(CommandError) -> Duration? {
        guard let text = invocation[Input.minimumValidity] else { return nil }
        return try Duration(timeText: text, option: "--min-validity", example: "10m")
    }

    /// Returns the value of `--user`, or the account's user name.
    private func userName(of account: Account) throws(CommandError) -> String {
        if let user = invocation[Input.user] { return user }
        let mail = account.claims?["email"]?.string
        guard
            let name = [account.userName, mail].compactMap({ $0 }).first(where: { $0.contains("@") })
                ?? account.userName
        else {
            throw CommandError(
                .usage, "cannot print a SASL response", reason: "the mail address of \(account.label) is unknown",
                hint: "pass it with --user")
        }
        try SASLMechanism.check(user: name)
        return name
    }

    private struct IssuedToken {
        var secret: Secret
        /// The type in lowercase.
        var type: String
        var expiry: Date?
        var scope: Scope
        var isIDToken = false

        /// The type in the spelling of its specification.
        var typeName: String {
            switch type {
            case "bearer": "Bearer"
            case "dpop": "DPoP"
            case "n_a": "N_A"
            default: type
            }
        }
    }

    private var writesJSON: Bool { format == .json }

    /// Writes a token, its header field, its SASL response for a user, or its expiry time.
    private func write(_ token: IssuedToken, _ account: Account, user: String?) throws -> ExitStatus {
        if let mechanism = invocation[Input.sasl], let user {
            guard token.type == "bearer" else {
                throw CommandError(
                    .failed, "cannot print a SASL response",
                    reason: "the token has the type \(token.typeName), and \(mechanism.rawValue) requires Bearer")
            }
            try console.writeLine(mechanism.initialResponse(user: user, token: token.secret))
        } else if invocation[Input.header] {
            try console.writeLine("Authorization: \(token.typeName) \(token.secret.value)")
        } else if writesJSON {
            var object = JSONObject()
            if !invocation[Input.expires] {
                object.append(token.isIDToken ? "id_token" : "access_token", .string(token.secret.value))
                if !token.isIDToken { object.append("token_type", .string(token.typeName)) }
            }
            object.append("expires_at", token.expiry.map { .string($0.rfc3339) } ?? .null)
            if !invocation[Input.expires], !token.isIDToken { object.append("scope", .string(token.scope.text)) }
            object.append("account", .string(account.label))
            object.append("type", .string(account.type))
            try console.write(.object(object))
        } else if invocation[Input.expires] {
            guard let expiry = token.expiry else {
                throw CommandError(.failed, "the expiry is unknown", reason: "the provider did not send it")
            }
            try console.writeLine(expiry.rfc3339)
        } else {
            try console.writeLine(token.secret.value)
        }
        return .done
    }
}

extension Duration {
    /// Creates a duration from the value of an option: a number of seconds, minutes or hours, such as `90`, `10m` or `1h`.
    init(timeText text: String, option: String, example: String) throws(CommandError) {
        guard let match = text.wholeMatch(of: /([0-9]{1,9})([smh]?)/), let number = Double(match.1) else {
            throw CommandError(
                .usage, "wrong value of \(option)",
                reason: "expected a number with s, m or h, found \(UsageError.quoted(text))",
                hint: "\(option) \(example)")
        }
        let unit: Double =
            switch match.2 {
            case "m": 60
            case "h": 3600
            default: 1
            }
        self = .seconds(number * unit)
    }
}

enum TokenOptions {
    static let scope = Option.texts("scope", "SCOPE", "require this scope")
    static let refresh = Option.flag("refresh", "refresh the token even if it is valid")
}

extension Invocation {
    /// Returns the value of `--scope`, or `nil` if it is not given.
    ///
    /// Invalid characters (RFC 6749 section 3.3) are a usage error, because they come from the command line, not from
    /// the settings.
    func scope(_ option: Option<[String]> = TokenOptions.scope) throws(CommandError) -> Scope? {
        let scope = Scope(parsing: self[option].joined(separator: " "))
        guard !scope.isEmpty else { return nil }
        if let token = scope.firstInvalidToken {
            throw CommandError(
                .usage, "wrong value of --scope",
                reason:
                    "\(UsageError.quoted(token)) has invalid characters; expected printable ASCII without "
                    + "quotation mark and backslash",
                hint: "separate scopes with spaces, or use --scope once for each")
        }
        return scope
    }
}

extension CommandContext {
    /// Returns a valid access token for `--scope` and `--refresh`.
    ///
    /// - Parameters:
    ///   - policy: The policy that issues the token, by its name in the settings; `nil`: the account's.
    ///   - minimumValidity: The minimum validity, without `--refresh`. The default is the store's minimum.
    func freshToken(
        _ store: AccountStore, of account: Account, scope: Option<[String]> = TokenOptions.scope, policy: String? = nil,
        minimumValidity: Duration? = nil
    ) async throws -> AccessToken {
        let scopes = try invocation.scope(scope)
        do {
            guard invocation[TokenOptions.refresh] else {
                return try await store.accessToken(
                    for: account.id, minimumValidity: minimumValidity, scopes: scopes, policy: policy)
            }
            return try await store.refreshAccessToken(for: account.id, scopes: scopes, policy: policy)
        } catch let error as AccountStoreError {
            throw Self.advised(error, store, account, scopes: scopes, policy: policy)
        }
    }

    /// Returns an ID token that is valid for a while.
    ///
    /// - Throws: `CommandError` if the provider sends no ID token.
    func idToken(
        _ store: AccountStore, of account: Account, policy: String? = nil, minimumValidity: Duration? = nil,
        refreshes: Bool = false
    ) async throws -> (secret: Secret, expiry: Date) {
        do {
            let found = try await store.validIDToken(
                for: account.id, minimumValidity: minimumValidity ?? .seconds(60),
                refreshes: refreshes, policy: policy)
            if let found { return found }
        } catch let error as AccountStoreError {
            throw Self.advised(error, store, account, policy: policy)
        }
        guard !account.isClient else {
            throw CommandError(
                .failed, "no ID token", reason: "\(account.label) is the account of a client, which has no ID token")
        }
        throw CommandError(
            .failed, "no ID token", reason: "the provider of \(account.type) sent none",
            hint: "\(run: "sign-in") \(account.type) --add-scope openid")
    }

    /// Returns a token error with a hint for the sign-in that fixes it.
    static func advised(
        _ error: AccountStoreError, _ store: AccountStore, _ account: Account, scopes: Scope? = nil,
        policy: String? = nil
    ) -> AccountStoreError {
        var error = error
        if let policy, case .signInNeeded = error.kind, error.provider?.claims == nil {
            error.hint = "\(run: "sign-in") \(account.type) --policy \(policy.shellWord)"
            return error
        }
        if error.kind == .signInNeeded(.noRefreshToken), let type = store.settings[account.type] {
            error.hint = RefreshTokenAdvice.hint(for: type) ?? error.hint
        }
        error.hint = error.hint ?? hint(error, account, scopes)
        return error
    }

    /// Returns the sign-in for the missing and the granted scopes.
    private static func hint(_ error: AccountStoreError, _ account: Account, _ scopes: Scope?) -> Hint? {
        guard error.kind == .signInNeeded(.scopeNotGranted), error.provider?.claims == nil, let scopes,
            scopes.firstInvalidToken == nil, !scopes.text.contains("'"), !account.scope.text.contains("'")
        else { return nil }
        return "\(run: "sign-in") \(account.type) --scope '\(account.scope.union(scopes).text)'"
    }
}
