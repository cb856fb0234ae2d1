import HTTPTransport
import OAuth2
import OAuth2AccountStore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// `sign-in`
@MainActor
struct SignInCommand {
    private let context: CommandContext
    private let invocation: Invocation

    /// The largest token answer that is read, in bytes.
    private static let maximumAnswer = 1 << 20
    /// The longest line that is pasted, in bytes.
    private nonisolated static let maximumLine = 64 * 1024

    init(_ context: CommandContext) {
        self.context = context
        invocation = context.invocation
    }

    func run() async throws -> ExitStatus {
        let settings = try context.settings()
        let type = invocation.argument("TYPE") ?? context.typeName(settings)
        let store = try await context.store(settings)
        let account = try await signIn(to: type, try await way(type, store), store)
        let name = account.displayName.map { name in
            account.userName.map { "\(name) (\($0))" } ?? name
        }
        context.console.note("Signed in to \(type) as \(name ?? account.label).")
        try await tellOfTwins(of: account, store)
        if context.console.options.reportsJSON {
            let record = AccountRecord(account: account, isCurrent: true, now: store.surroundings.now())
            try OutputFormat(invocation).show(record, context.console)
        }
        return .done
    }

    /// An imported account of the same name became this one where only one could be meant. Of several the person decides.
    private func tellOfTwins(of account: Account, _ store: AccountStore) async throws {
        guard account.subject != nil, let name = account.userName?.lowercased() else { return }
        for other in try await store.accounts(ofType: account.type)
        where other.id != account.id && other.subject == nil && other.userName?.lowercased() == name {
            context.console.note(
                "Another account of this name is kept whose owner was never verified: \(other.id). If it is the same person's, "
                    + "directory accounts remove \(other.id)")
        }
    }

    /// The way to go.
    private func way(_ type: String, _ store: AccountStore) async throws -> SignInWay {
        if let way = try SignInWay.named(by: invocation) { return way }
        return try await .byItself(type, store, context.world)
    }

    private func signIn(to type: String, _ way: SignInWay, _ store: AccountStore) async throws -> Account {
        let method: SignInMethod
        switch way {
        case .token: return try await store.add(try tokenAnswer(), toType: type)
        case .browser(let opens, let reason):
            method = instructions.browser(opens: opens, because: reason, store.surroundings.openBrowser)
        case .device(let reason): method = instructions.device(because: reason)
        case .paste: method = try paste(type, store)
        case .clientCredentials: method = .clientCredentials
        case .password(let username): method = .password(username, try await password(of: username, type, store))
        }
        do {
            return try await store.signIn(to: type, by: method, options: try options())
        } catch let error as AccountStoreError {
            throw way.explaining(error, type: type)
        }
    }

    /// What the person is told to do.
    private var instructions: SignInInstructions {
        SignInInstructions(
            console: context.console, makeCode: invocation.flag("qr") ? context.world.qrCode : nil)
    }

    private func paste(_ type: String, _ store: AccountStore) throws -> SignInMethod {
        guard !context.console.options.refusesInput else {
            throw CommandError(
                .usage, "--paste and --no-input exclude each other", reason: "what is pasted has to be read",
                hint: "directory sign-in \(type) --device")
        }
        let isCode = store.settings[type]?.redirectURI.text == RedirectURI.outOfBand
        let read = context.world.readLine
        return instructions.paste(type, isCode: isCode) { try await read(Self.maximumLine) }
    }

    private func options() throws -> SignInOptions {
        var options = SignInOptions()
        if !invocation.strings("scope").isEmpty {
            options.scope = Scope(parsing: invocation.strings("scope").joined(separator: " "))
        }
        options.prompt = invocation.strings("prompt").flatMap { words in
            words.split(separator: " ").map { SignInOptions.Prompt(rawValue: String($0)) }
        }
        options.policy = invocation.string("policy")
        options.loginHint = invocation.string("login-hint")
        options.domainHint = invocation.string("domain-hint")
        options.claims = invocation.string("claims")
        for text in invocation.strings("param") {
            guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
                throw CommandError(
                    .usage, "wrong value of --param", reason: "expected NAME=VALUE", hint: "directory help sign-in")
            }
            options.parameters[String(text[..<equals])] = String(text[text.index(after: equals)...])
        }
        options.timeout = invocation.duration("timeout")
        return options
    }

    /// The password, from standard input. It is asked for only where a terminal is there to ask.
    private func password(of username: String, _ type: String, _ store: AccountStore) async throws -> Secret {
        let isTyped = context.console.terminal.inputIsTerminal
        guard !isTyped || !context.console.options.refusesInput else {
            throw CommandError(
                .usage, "no password", reason: "--no-input forbids asking for it",
                hint: "give it on standard input: directory sign-in \(type) --username NAME < FILE")
        }
        // Nobody types a password for nothing.
        if let known = store.settings[type], !known.allowsPasswordGrant { return Secret("") }
        if isTyped { context.console.note("Password of \(username), which is not shown while you type:") }
        guard let line = try await context.world.readHiddenLine(Self.maximumLine) else {
            throw CommandError(
                .usage, "no password", reason: "standard input is empty",
                hint: "give the password on standard input: directory sign-in \(type) --username NAME < FILE")
        }
        return Secret(line.last == "\r" ? String(line.dropLast()) : line)
    }

    private func tokenAnswer() throws -> TokenResponse {
        let bytes = try context.world.readInput(Self.maximumAnswer)
        let response = HTTPResponse(status: 200, fields: ["Content-Type": "application/json"], body: Data(bytes))
        do throws(OAuth2Error) {
            return try TokenResponse.read(response)
        } catch {
            throw CommandError(
                .usage, "standard input has no token answer", reason: "\(error)",
                hint:
                    "expected JSON such as {\"access_token\": \"…\", \"token_type\": \"Bearer\", \"refresh_token\": \"…\"}"
            )
        }
    }
}
