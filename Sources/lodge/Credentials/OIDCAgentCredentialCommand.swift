import CommandLineKit
import HTTPExchange
import LodgePlatform
import OAuth2AccountStore
import OAuth2Protocol
import StrictJSON

/// `credential oidc-agent`: serves the client of one connection, such as `oidc-token`, in the protocol of oidc-agent.
///
/// See the page "IPC-API" in the documentation of oidc-agent. Its clients encrypt each request.
@MainActor struct OIDCAgentCredentialCommand: CommandHandler {
    enum Input {
        static let allow = Option.texts(
            "allow", "NAME", "serve only the accounts with this name", completion: .account)
    }

    nonisolated static let command = Command(
        "oidc-agent", "Serve a client of oidc-agent, such as oidc-token.",
        discussion: """
            Standard input and output are the connection to one client: lodge help credentials. It responds to requests for the access \
            token of an account, a type or an issuer, and for the names of the accounts. It refuses all other requests. The first \
            request must arrive within 10 s, each following one within 30 s. Encrypted requests need libsodium.
            """,
        examples: [
            "echo '{\"request\": \"loaded_accounts\"}' | lodge credential oidc-agent",
            "lodge credential oidc-agent --allow work",
        ],
        options: [Input.allow], formats: OutputFormat.ofText
    ) { try await OIDCAgentCredentialCommand(context: $0).run() }

    let context: CommandContext

    /// The time limit of the first request.
    static let firstLimit = Duration.seconds(10)
    /// The time limit of each following request.
    static let nextLimit = Duration.seconds(30)

    func run() async throws -> ExitStatus {
        let connection = OIDCAgentConnection(context)
        var limit = Self.firstLimit
        while let request = try await connection.request(within: limit) {
            do {
                try connection.send(try await response(to: request))
            } catch let error where !(error is CancellationError || error is OutputError) {
                let failure = CommandError(
                    reporting: error, type: context.world.stores.usedType, remedyText: invocation.remedyText)
                let text = [failure.message, failure.reason].compactMap(\.self).joined(separator: ": ")
                try connection.send(
                    OIDCAgentConnection.failure(text.visible, info: (failure.hint?.description).map(\.visible)))
            }
            limit = Self.nextLimit
        }
        return .done
    }

    private func response(to request: JSONObject) async throws -> JSONObject {
        context.world.stores.usedType = nil
        switch request["request"]?.string {
        case "access_token": return try await token(for: OIDCAgentTokenRequest(request))
        case "loaded_accounts":
            let accounts = try await servedAccounts(try await store())
            return ["status": "success", "info": .array(accounts.map { .string(Self.name(of: $0, among: accounts)) })]
        default:
            throw CommandError(
                .usage, "not supported", reason: "lodge responds to access_token and loaded_accounts",
                hint: "to change accounts, use the commands of lodge: lodge help")
        }
    }

    /// Returns the open store. The first request opens it.
    private func store() async throws -> AccountStore {
        if let store = context.world.stores.first { return store }
        return try await context.store()
    }

    private func token(for request: OIDCAgentTokenRequest) async throws -> JSONObject {
        if let application = request.application { console.verbose("Application: \(application.prefix(100))") }
        let store = try await store()
        let account = try await account(for: request, store)
        try await context.select(account, store)
        let token: AccessToken
        do {
            if let validity = request.minimumValidity {
                token = try await store.accessToken(
                    for: account.id, minimumValidity: validity == .zero ? nil : validity, scopes: request.scope,
                    resource: request.resource)
            } else {
                token = try await store.refreshAccessToken(
                    for: account.id, scopes: request.scope, resource: request.resource)
            }
        } catch let error as AccountStoreError {
            throw CommandContext.advised(error, store, account, scopes: request.scope)
        }
        try CommandContext.requireBearer(token, of: account)
        // Clients in Python require all members, and 0 is an unknown expiry.
        return [
            "status": "success", "access_token": .string(token.secret.value),
            "issuer": .string(account.issuer ?? store.settings[account.type].flatMap(Self.issuer) ?? ""),
            "expires_at": .number(JSONNumber(Int64(token.expiry?.timeIntervalSince1970 ?? 0))),
        ]
    }

    // MARK: Accounts

    /// Returns the accounts that `--allow` selects. Without it, `--account` and `--type` select the accounts.
    private func servedAccounts(_ store: AccountStore) async throws -> [Account] {
        let accounts = try await store.accounts(ofType: invocation[GlobalOptions.type])
        var names = invocation[Input.allow]
        if names.isEmpty { names = [invocation[GlobalOptions.account]].compactMap(\.self) }
        guard !names.isEmpty else { return accounts }
        let allowed = Set(names.flatMap { CommandContext.accounts(named: $0, among: accounts).map(\.id) })
        return accounts.filter { allowed.contains($0.id) }
    }

    /// Returns the name with which a client can request the token of an account.
    private static func name(of account: Account, among accounts: [Account]) -> String {
        let label = account.label
        let isUnique = CommandContext.accounts(named: label, among: accounts).count == 1
        return isUnique && label.visible == label ? label : account.id.rawValue
    }

    /// Returns the account that a request names by its name, its type or its issuer.
    private func account(for request: OIDCAgentTokenRequest, _ store: AccountStore) async throws -> Account {
        let accounts = try await servedAccounts(store)
        let found: [Account]
        switch request.target {
        case .account(let name):
            let named = CommandContext.accounts(named: name, among: accounts)
            guard named.count < 2 else { throw several(named, name) }
            found = named.isEmpty ? accounts.filter { $0.type == name } : named
        case .issuer(let issuer):
            found = accounts.filter { account in
                let issuers = [account.issuer, store.settings[account.type].flatMap(Self.issuer)]
                return issuers.contains { $0.map(Self.withoutSlash) == Self.withoutSlash(issuer) }
            }
        }
        if found.count == 1 { return found[0] }
        for type in store.settings.typeNames {
            guard found.contains(where: { $0.type == type }), let current = try await store.currentAccount(ofType: type)
            else { continue }
            if let account = found.first(where: { $0.id == current.id }) { return account }
        }
        guard found.isEmpty else { throw several(found, request.target.name) }
        try await context.reportDamage(store)
        let type = store.settings.types.first { type in
            switch request.target {
            case .account(let name): type.name == name
            case .issuer(let issuer): Self.issuer(of: type).map(Self.withoutSlash) == Self.withoutSlash(issuer)
            }
        }
        // The words of oidc-agent.
        throw CommandError(
            .notFound, "account not loaded",
            hint: type.map { "\(run: "sign-in") \($0.name)" } ?? "\(run: "accounts")")
    }

    private func several(_ accounts: [Account], _ name: String) -> CommandError {
        CommandError(several: accounts, named: name, hint: "request one of these identifiers")
    }

    private static func issuer(of type: AccountType) -> String? {
        if case .issuer(let text) = type.provider { return text }
        return type.expectedIssuer
    }

    private static func withoutSlash(_ issuer: String) -> Substring {
        issuer.utf8.last == UInt8(ascii: "/") ? issuer.dropLast() : issuer[...]
    }
}

/// A request for an access token.
struct OIDCAgentTokenRequest {
    enum Target {
        case account(String)
        case issuer(String)

        var name: String {
            switch self {
            case .account(let name), .issuer(let name): name
            }
        }
    }

    let target: Target
    let scope: Scope?
    let resource: String?
    /// The minimum validity, or `nil` if the client requires a new token.
    let minimumValidity: Duration?
    /// The name of the application, as it reports itself.
    let application: String?

    init(_ request: JSONObject) throws(CommandError) {
        func text(_ name: String) throws(CommandError) -> String? {
            guard let value = request[name], value != .null else { return nil }
            guard let text = value.string else { throw Self.invalid(name, "a string") }
            return text.isEmpty ? nil : text
        }
        application = try text("application_hint")
        if let name = try text("account") {
            target = .account(name)
        } else if let issuer = try text("issuer") {
            target = .issuer(issuer)
        } else {
            throw CommandError(.usage, "Bad Request", reason: "expected account or issuer")
        }
        let scope = Scope(parsing: try text("scope") ?? "")
        guard scope.firstInvalidToken == nil else { throw Self.invalid("scope", "scope tokens of RFC 6749") }
        self.scope = scope.isEmpty ? nil : scope
        resource = try text("audience")
        if let resource {
            // A resource indicator (RFC 8707). One request of the store has one of them.
            guard let url = URL(string: resource, encodingInvalidCharacters: false), url.scheme != nil,
                !resource.utf8.contains(UInt8(ascii: "#")), !resource.utf8.contains(UInt8(ascii: " "))
            else { throw Self.invalid("audience", "one absolute URI without a fragment") }
        }
        switch request["min_valid_period"] {
        case nil, .null: minimumValidity = .zero
        case let value?:
            guard let seconds = value.number?.int64 ?? value.string.flatMap({ Int64($0) }) else {
                throw Self.invalid("min_valid_period", "a number of seconds")
            }
            // -1 is FORCE_NEW_TOKEN of oidc-agent.
            minimumValidity = seconds < 0 ? nil : .seconds(min(seconds, 365 * 86_400))
        }
    }

    private static func invalid(_ name: String, _ expected: String) -> CommandError {
        CommandError(.usage, "Bad Request", reason: "\(name) is not \(expected)")
    }
}
