import CommandLineKit
import LodgePlatform
import HTTPExchange
import OAuth2Protocol
import OAuth2AccountStore
import StrictJSON

@MainActor struct SignInCommand: CommandHandler {
    enum Input {
        static let type = Argument.optional(
            "TYPE", "account type to sign in to, or https URL of an API", completion: .type)
        static let yes = Option.flag(
            "yes", "with a URL: add its account type without confirmation")
        static let device = Option.flag("device", "show a code to enter on another device")
        static let noBrowser = Option.flag("no-browser", "print the URL and wait")
        static let qr = Option.flag("qr", "draw the URL as a QR code, too")
        static let paste = Option.flag("paste", "print the URL, and read the code or the redirect URL")
        static let clientCredentials = Option.flag(
            "client-credentials", "sign in as the client itself, without a user")
        static let withToken = Option.flag(
            "with-token", "read a token or its JSON from standard input")
        static let username = Option.text(
            "username", "NAME", "sign in with the password on standard input (legacy servers)")
        static let scope = Option.texts("scope", "SCOPE", "request this scope instead of the scopes of the type")
        static let addScope = Option.texts(
            "add-scope", "SCOPE", "request this scope in addition to the scopes of the type and the account")
        static let name = Option.text("name", "LABEL", "label of the account, valid for --account")
        static let prompt = Option.texts(
            "prompt", "WORD", "login, consent, select_account, create or none",
            completion: .words(["login", "consent", "select_account", "create", "none"]))
        static let loginHint = Option.text("login-hint", "NAME", "user name to suggest to the provider")
        static let domainHint = Option.text("domain-hint", "DOMAIN", "domain of the user's organization")
        static let policy = Option.text("policy", "NAME", "policy of Azure AD B2C, by its name in the settings")
        static let claims = Option.text("claims", "JSON", "claims to request")
        static let param = Option.texts("param", "NAME=VALUE", "an additional parameter of the request")
    }

    nonisolated static let command = Command(
        "sign-in", aliases: ["login"], "Sign in to an account.",
        discussion: """
            lodge opens the browser and receives the redirect on this machine. Without a display, or over SSH, lodge shows a code to enter on another \
            device. --with-token reads a token or a token response (JSON) from standard input, or prompts for it; a type without a \
            provider needs this. With the URL of an API instead of TYPE, lodge finds the provider (RFC 9728), shows the issuer, the \
            scopes and the token hosts, registers a client if necessary, and adds an account type.
            """,
        examples: [
            "lodge sign-in graph", "lodge sign-in --device", "lodge sign-in https://api.example/mcp",
            "lodge sign-in hr --with-token < token.txt",
        ],
        arguments: [Input.type],
        options: [
            Input.device, Input.noBrowser, Input.qr, Input.paste, Input.clientCredentials, Input.withToken,
            Input.username, Input.scope, Input.addScope, Input.name, Input.prompt, Input.loginHint, Input.domainHint,
            Input.policy,
            Input.claims,
            Input.param, Input.yes,
        ], formats: OutputFormat.ofSentences, json: AccountRecord.shape, timeoutUse: .signIn
    ) { try await SignInCommand(context: $0.limitingPrompts()).run() }

    let context: CommandContext
    /// Whether this is a `sign-in` command line with its options. Other commands use the default flow.
    var hasOwnOptions = true

    private static let maximumResponse = 1 << 20
    private nonisolated static let maximumLine = 64 * 1024

    func run() async throws -> ExitStatus {
        var options = try options()
        let addedScope = try invocation.scope(Input.addScope)
        var named = invocation[Input.type]
        if let address = named, ResourceSignIn.isAddress(address) {
            try checkResourceFlow()
            named = try await ResourceSignIn(context: context, scope: options.scope, confirms: !invocation[Input.yes])
                .accountType(for: address)
        } else if let named {
            try ResourceSignIn.checkType(named, context)
        }
        let settings = try context.settings(for: named)
        let type = named ?? context.typeName(settings)
        // Before prompting or reading standard input.
        _ = try settings.type(named: type)
        let store = try await context.store(settings, makesStore: true)
        if let addedScope {
            // A sign-in replaces the scopes of the account, so include the scopes that were added earlier.
            let present = try await store.currentAccount(ofType: type)?.scope ?? Scope()
            let requested = options.scope ?? settings[type].map { $0.scope.union(present) } ?? present
            options.scope = requested.union(addedScope)
        }
        let label = invocation[Input.name]
        if let label {
            try await AccountsTransfer.withUsageErrors { try await store.checkName(label, forSignInTo: type) }
        }
        var account = try await signIn(to: type, options, store)
        if let label { account = try await name(account, label, store) }
        await context.writeTokenFiles(of: account.type, store)
        if console.options.reportsJSON {
            try show(AccountRecord(account, isActive: true, in: store))
        }
        return .done
    }

    /// Labels the new account.
    ///
    /// Another account of the type may already have the name: only the sign-in shows that they differ.
    private func name(_ account: Account, _ label: String, _ store: AccountStore) async throws -> Account {
        do {
            let named = try await store.rename(account.id, to: label)
            console.note("The account is called \(named.label).")
            return named
        } catch var error as AccountStoreError where error.kind == .settings {
            error.hint = "you are signed in; for another name, run: \(run: "accounts rename") \(account.id) NAME"
            throw CommandError(.usage, error.what, reason: error.reason, hint: error.hint)
        }
    }

    /// Checks that the selected flow can sign in to a resource, before the first request.
    private func checkResourceFlow() throws {
        let flow = try SignInFlow.named(by: invocation)
        if console.options.disablesInput, flow?.needsUser ?? true {
            throw Self.inputNeeded(hint: "lodge help sign-in")
        }
        switch flow {
        case .clientCredentials, .token, .password:
            throw CommandError(
                .usage, "this sign-in cannot use a URL", reason: "a user must approve the client that lodge registers",
                hint: "use the browser or --device, or add the type first: \(run: "providers add") NAME")
        case nil, .browser, .device, .paste: break
        }
    }

    private static func inputNeeded(hint: Hint) -> CommandError {
        CommandError(
            .signInNeeded, "this sign-in needs a user", reason: "--no-input forbids waiting for input", hint: hint)
    }

    /// Signs in with the selected or the default flow and reports the result.
    func signIn(to type: String, _ options: SignInOptions, _ store: AccountStore) async throws -> Account {
        let flow = try await flow(type, store)
        var options = options
        if options.claims == nil { options.claims = try await requiredClaims(type, options.loginHint, store) }
        let account = try await signIn(to: type, flow, options, store)
        let name = account.displayName.map { name in account.userName.map { "\(name) (\($0))" } ?? name }
        console.note(
            store.settings[type]?.provider == .staticToken
                ? "Saved the token of \(type)." : "Signed in to \(type) as \(name ?? account.label).")
        // With --with-token, the user chose the tokens.
        if flow != .token { noteGrant(of: account, options, store) }
        try await noteTwins(of: account, store)
        return account
    }

    /// Returns the claims that a resource requires of the account that signs in again.
    private func requiredClaims(_ type: String, _ userName: String?, _ store: AccountStore) async throws -> String? {
        try await store.accounts(ofType: type)
            .last { $0.requiredClaims != nil && (userName == nil || $0.userName == userName) }?.requiredClaims
    }

    /// Reports requested scopes that the provider did not grant.
    private func noteGrant(of account: Account, _ options: SignInOptions, _ store: AccountStore) {
        guard let type = store.settings[account.type], !account.isClient else { return }
        if account.subject == nil, type.scope.contains("openid") {
            console.note(
                "The provider did not identify the user. The account is unverified, and the next sign-in of another user to "
                    + "\(account.type) replaces it.")
        }
        let missing = store.scopeNotGranted(to: account, of: options.scope)
        if !missing.isEmpty { console.note("The provider did not grant: \(missing.text.visible).") }
        guard !account.canRefresh, (options.scope ?? type.scope).contains("offline_access") else { return }
        let remedy =
            options.prompt.contains(.consent)
            ? "Ask the provider's administrator to allow refresh tokens for this client."
            : context.text("To get one: \(RefreshTokenAdvice.signIn(to: account.type))")
        console.note("The provider issued no refresh token, although offline_access was requested. \(remedy)")
    }

    /// Reports that the sign-in took over an imported account. If several match, the user decides.
    private func noteTwins(of account: Account, _ store: AccountStore) async throws {
        guard account.subject != nil, let name = account.userName?.lowercased() else { return }
        for other in try await store.accounts(ofType: account.type)
        where other.id != account.id && other.subject == nil && other.userName?.lowercased() == name {
            console.note(
                "Another account has this name, and its owner was never verified: \(other.id). If it belongs to the same user, "
                    + context.text("\(run: "accounts remove") \(other.id)"))
        }
    }

    private func flow(_ type: String, _ store: AccountStore) async throws -> SignInFlow {
        if hasOwnOptions, let flow = try SignInFlow.named(by: invocation) { return flow }
        // Without a provider there is no other flow.
        if store.settings[type]?.provider == .staticToken { return .token }
        if store.settings[type]?.grant.isOfApplication == true { return .clientCredentials }
        return try await .byItself(type, store, context.world)
    }

    private func signIn(
        to type: String, _ flow: SignInFlow, _ options: SignInOptions, _ store: AccountStore
    ) async throws -> Account {
        if console.options.disablesInput, flow.needsUser, options.prompt != [.none] {
            throw Self.inputNeeded(
                hint: "\(run: "sign-in") \(type), or --client-credentials or --with-token for programs")
        }
        let method: SignInMethod
        switch flow {
        case .token: return try await store.add(try await suppliedToken(type), toType: type)
        case .browser(let opens, let reason):
            method = instructions.browser(opens: opens, because: reason, store.dependencies.openBrowser)
        case .device(let reason): method = instructions.device(because: reason)
        case .paste: method = paste(type, store)
        case .clientCredentials: method = .clientCredentials
        case .password(let username): method = .password(username, try await password(of: username, type, store))
        }
        do {
            return try await store.signIn(to: type, by: method, options: options)
        } catch let error as AccountStoreError {
            throw flow.explaining(error, type: type)
        }
    }

    private var instructions: SignInInstructions {
        let drawsCode = hasOwnOptions && invocation[Input.qr]
        return SignInInstructions(console: console, makeCode: drawsCode ? context.world.qrCode : nil)
    }

    private func paste(_ type: String, _ store: AccountStore) -> SignInMethod {
        let isCode = store.settings[type]?.redirectURI.text == RedirectURI.outOfBand
        let read = context.world.readLine
        return instructions.paste(type, isCode: isCode) { try await read(Self.maximumLine) }
    }

    /// Returns the options of the sign-in. They are checked before any request or prompt.
    private func options() throws -> SignInOptions {
        var options = SignInOptions()
        options.scope = try invocation.scope(Input.scope)
        options.prompt = invocation[Input.prompt].flatMap { words in
            words.split(separator: " ").map { SignInOptions.Prompt(rawValue: String($0)) }
        }
        options.policy = invocation[Input.policy]
        options.loginHint = invocation[Input.loginHint]
        options.domainHint = invocation[Input.domainHint]
        options.claims = try invocation[Input.claims].map(claims)
        for text in invocation[Input.param] {
            guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
                throw CommandError(
                    .usage, "wrong value of --param", reason: "expected NAME=VALUE", hint: "lodge help sign-in")
            }
            let (name, value) = (String(text[..<equals]), String(text[text.index(after: equals)...]))
            try check(parameter: name, value)
            options.parameters[name] = value
        }
        options.timeout = invocation[GlobalOptions.timeout]
        return options
    }

    private func claims(_ text: String) throws -> String {
        func invalid(_ reason: String) -> CommandError {
            CommandError(
                .usage, "wrong value of --claims", reason: reason,
                hint: "--claims '{\"id_token\": {\"email\": null}}', quoted for the shell")
        }
        do {
            if try JSONValue(parsing: text).object != nil { return text }
        } catch {
            throw invalid("expected a JSON object: \(error)")
        }
        throw invalid("expected a JSON object")
    }

    /// Throws for a parameter that the sign-in or another option sets.
    private func check(parameter name: String, _ value: String) throws {
        let options: [String: any DeclaredOption] = [
            "scope": Input.scope, "prompt": Input.prompt, "login_hint": Input.loginHint, "claims": Input.claims,
        ]
        let option = options[name]
        if AuthorizationRequest.protocolParameters.contains(name)
            || option.map({ invocation.source(of: $0) != nil }) ?? false
        {
            throw CommandError(
                .usage, "--param cannot set \(name)",
                reason: option.map { "it is what --\($0.spec.name) sets" } ?? "the sign-in sets it itself",
                hint: option.map { "use only --\($0.spec.name)" } ?? "omit it")
        }
        guard name != "max_age" || Int(value).map({ (0...1_000_000_000).contains($0) }) ?? false else {
            throw CommandError(
                .usage, "wrong value of --param max_age", reason: "expected a whole number of seconds",
                hint: "--param max_age=3600")
        }
    }

    /// Reads the password from standard input, with a prompt on a terminal.
    private func password(of username: String, _ type: String, _ store: AccountStore) async throws -> Secret {
        let isTyped = console.terminal.inputIsTerminal
        guard !isTyped || !console.options.disablesInput else {
            throw CommandError(
                .signInNeeded, "no password", reason: "--no-input forbids asking for it",
                hint: "pass it on standard input: \(run: "sign-in") \(type) --username NAME < FILE")
        }
        // Do not prompt if the sign-in fails anyway.
        if let known = store.settings[type], !known.allowsPasswordGrant { return Secret("") }
        if isTyped { console.note("Password of \(username), which is not shown while you type:") }
        guard let line = try await context.world.readHiddenLine(Self.maximumLine) else {
            throw CommandError(
                .usage, "no password", reason: "standard input is empty",
                hint: "pass the password on standard input: \(run: "sign-in") \(type) --username NAME < FILE")
        }
        return Secret(line.last == "\r" ? String(line.dropLast()) : line)
    }

    /// Reads the token from standard input, with a prompt on a terminal.
    private func suppliedToken(_ type: String) async throws -> TokenResponse {
        guard console.terminal.inputIsTerminal else {
            return try SuppliedToken.read(try context.world.readInput(Self.maximumResponse), type)
        }
        guard !console.options.disablesInput else {
            throw CommandError(
                .signInNeeded, "no token", reason: "--no-input forbids asking for it",
                hint: "\(run: "sign-in") \(type) --with-token < FILE")
        }
        console.instruct("Token of \(type), which is not shown while you type:")
        let line = try await context.world.readHiddenLine(Self.maximumLine) ?? ""
        return try SuppliedToken.read(Array(line.utf8), type)
    }
}
