import CommandLineKit
import OAuth2AccountStore
import StrictJSON
import Platform
import OAuth2Protocol

@MainActor struct TokenCommand: CommandHandler {
    enum Input {
        static let header = Option.flag("header", "print the Authorization header field with the token")
        static let expires = Option.flag("expires", "print the expiry instead (RFC 3339)")
        static let introspect = Option.flag("introspect", "print the provider's introspection response instead (JSON)")
        static let scope = Option.texts("scope", "SCOPE", "what it must be good for")
        static let policy = Option.text(
            "policy", "NAME", "policy of Azure AD B2C that issues it, by its name in the settings (the account's)")
        static let exchange = Option.flag("exchange", "exchange it for a token of another service, and print that")
        static let audience = Option.texts("audience", "NAME", "the other service, by the name that the provider uses")
        static let resource = Option.texts("resource", "URL", "the other service, by its address")
    }

    nonisolated static let command = Command(
        "token", "Print a valid access token.",
        discussion: "Pass a token by a pipe or a file: other users can read a command line.",
        examples: [
            "lodge token --header | curl -H @- https://graph.microsoft.com/v1.0/me", "lodge token --output json",
            "lodge token --exchange --audience billing --scope read",
        ],
        options: [
            Input.header, TokenOptions.refresh, Input.expires, Input.introspect, Input.scope, Input.exchange,
            Input.audience, Input.resource, Input.policy,
        ], formats: OutputFormat.ofSentences,
        json: .object(
            [
                "access_token": "", "token_type": "Bearer, DPoP or N_A", "expires_at": "RFC 3339, or null",
                "scope": "separated by spaces", "account": "", "type": "account type",
            ],
            note: "--expires writes expires_at, account and type only; --introspect writes the response of the provider"
        )
    ) { try await TokenCommand(context: $0).run() }

    let context: CommandContext

    func run() async throws -> ExitStatus {
        if !invocation[Input.exchange] {
            for option in [Input.audience, Input.resource] where !invocation[option].isEmpty {
                throw CommandError(
                    .usage, "--\(option.spec.name) needs --exchange",
                    reason: "it names the service that the token is exchanged for",
                    hint: "add --exchange, or leave --\(option.spec.name) out")
            }
        }
        for option in [Input.expires, Input.introspect] where invocation[Input.header] && invocation[option] {
            throw invocation.conflict(Input.header, option)
        }
        let output = GlobalOptions.standard.output
        if invocation[Input.header], writesJSON, invocation.source(of: output) == .option {
            throw CommandError(
                .usage, "--header cannot be combined with --output json", reason: "it prints one header field",
                hint: "leave out one of them")
        }
        let (store, account) = try await context.storeAndAccount()
        if invocation[Input.exchange] {
            for option in [Input.introspect, TokenOptions.refresh] where invocation[option] {
                throw invocation.conflict(Input.exchange, option)
            }
            if invocation[Input.policy] != nil { throw invocation.conflict(Input.exchange, Input.policy) }
            let exchanged = try await store.exchange(
                tokenOf: account.id, resources: invocation[Input.resource], audiences: invocation[Input.audience],
                scope: try invocation.scope(Input.scope))
            if invocation[Input.header], !["bearer", "dpop"].contains(exchanged.tokenType) {
                throw CommandError(
                    .failed, "cannot print a header field", reason: "the exchanged token is not an access token",
                    hint: "leave out --header")
            }
            return try write(
                IssuedToken(
                    secret: exchanged.secret, type: exchanged.tokenType, expiry: exchanged.expiry,
                    scope: exchanged.scope), account)
        }
        let policy = invocation[Input.policy]
        if policy != nil, invocation[Input.introspect] { throw invocation.conflict(Input.introspect, Input.policy) }
        let token = try await context.freshToken(store, of: account, scope: Input.scope, policy: policy)
        if invocation[Input.introspect] {
            guard !invocation[Input.expires] else { throw invocation.conflict(Input.introspect, Input.expires) }
            let found = try await store.introspect(token, of: account.id)
            let members: JSONObject = found.isActive ? found.members : ["active": false]
            try console.write(.object(members))
            return .done
        }
        return try write(
            IssuedToken(secret: token.secret, type: token.type, expiry: token.expiry, scope: token.scope), account)
    }

    private struct IssuedToken {
        var secret: Secret
        /// In lower case.
        var type: String
        var expiry: Date?
        var scope: Scope

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

    /// Writes a token, its header field, or its expiry.
    private func write(_ token: IssuedToken, _ account: Account) throws -> ExitStatus {
        if invocation[Input.header] {
            try console.writeLine("Authorization: \(token.typeName) \(token.secret.value)")
        } else if writesJSON {
            var object = JSONObject()
            if !invocation[Input.expires] {
                object.append("access_token", .string(token.secret.value))
                object.append("token_type", .string(token.typeName))
            }
            object.append("expires_at", token.expiry.map { .string($0.rfc3339) } ?? .null)
            if !invocation[Input.expires] { object.append("scope", .string(token.scope.text)) }
            object.append("account", .string(account.label))
            object.append("type", .string(account.type))
            try console.write(.object(object))
        } else if invocation[Input.expires] {
            guard let expiry = token.expiry else {
                throw CommandError(.failed, "the expiry is not known", reason: "the provider did not send it")
            }
            try console.writeLine(expiry.rfc3339)
        } else {
            try console.writeLine(token.secret.value)
        }
        return .done
    }
}

enum TokenOptions {
    static let scope = Option.texts("scope", "SCOPE", "what the token must be good for")
    static let refresh = Option.flag("refresh", "renew it even if it is still good")
}

extension Invocation {
    /// Returns the scope of `--scope`, or `nil` if it is not given. Invalid characters (RFC 6749 section 3.3) are a usage error: they
    /// come from the command line, not from the settings.
    func scope(_ option: Option<[String]> = TokenOptions.scope) throws(CommandError) -> Scope? {
        let scope = Scope(parsing: self[option].joined(separator: " "))
        guard !scope.isEmpty else { return nil }
        if let token = scope.firstInvalidToken {
            throw CommandError(
                .usage, "wrong value of --scope",
                reason:
                    "\(UsageError.quoted(token)) has characters that may not be sent; expected printable ASCII without "
                    + "quotation mark and backslash",
                hint: "separate scopes with spaces, or give --scope once for each")
        }
        return scope
    }
}

extension CommandContext {
    /// Returns a valid access token for `--scope` and `--refresh`.
    ///
    /// - Parameter policy: The policy that issues the token, by its name in the settings; `nil`: the account's.
    func freshToken(
        _ store: AccountStore, of account: Account, scope: Option<[String]> = TokenOptions.scope, policy: String? = nil
    ) async throws -> AccessToken {
        let scopes = try invocation.scope(scope)
        do {
            guard invocation[TokenOptions.refresh] else {
                return try await store.accessToken(for: account.id, scopes: scopes, policy: policy)
            }
            return try await store.refreshedToken(for: account.id, scopes: scopes, policy: policy)
        } catch var error as AccountStoreError {
            if let policy, case .signInNeeded = error.kind, error.provider?.claims == nil {
                error.hint = "\(run: "sign-in") \(account.type) --policy \(policy.shellWord)"
                throw error
            }
            if error.kind == .signInNeeded(.noRefreshToken), let type = store.settings[account.type] {
                error.hint = RefreshTokenAdvice.hint(for: type) ?? error.hint
            }
            error.hint = error.hint ?? Self.hint(error, account, scopes)
            throw error
        }
    }

    /// The sign-in for the missing scopes and the granted ones.
    private static func hint(_ error: AccountStoreError, _ account: Account, _ scopes: Scope?) -> Hint? {
        guard error.kind == .signInNeeded(.scopeNotGranted), error.provider?.claims == nil, let scopes,
            scopes.firstInvalidToken == nil, !scopes.text.contains("'"), !account.scope.text.contains("'")
        else { return nil }
        return "\(run: "sign-in") \(account.type) --scope '\(account.scope.union(scopes).text)'"
    }
}
