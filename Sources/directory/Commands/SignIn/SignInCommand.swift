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
        if context.console.options.reportsJSON {
            let record = AccountRecord(account: account, isCurrent: true, now: store.surroundings.now())
            try OutputFormat(invocation).show(record, context.console)
        }
        return .done
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
        case .browser(let opens, let reason): method = browser(opens: opens, because: reason, store)
        case .device(let reason): method = device(because: reason)
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

    private func browser(opens: Bool, because reason: String?, _ store: AccountStore) -> SignInMethod {
        let console = context.console
        let open = store.surroundings.openBrowser
        return .browser { url in
            if let reason {
                await console.note(
                    "No browser is opened: \(reason), and the provider offers no sign-in on another device.")
            }
            await console.note(
                opens
                    ? "Opening the browser. If it does not open, go to:"
                    : "To sign in, open this address in a browser on this machine:")
            await console.note(url.absoluteString)
            guard opens else { return }
            do {
                try await open(url)
            } catch {
                await console.note(
                    "The browser did not open: \(error). Open the address yourself; this goes on waiting.")
            }
        }
    }

    private func device(because reason: String?) -> SignInMethod {
        let console = context.console
        return .device { prompt in
            if let reason { await console.note("Signing in with another device: \(reason).") }
            await console.note("On any device with a browser, open:")
            await console.note("    \(prompt.verificationURI.absoluteString)")
            await console.note("and enter the code:")
            await console.note("    \(prompt.userCode)")
            // Whoever comes by this address compares the code (RFC 8628 section 3.3.1).
            if let complete = prompt.verificationURIComplete {
                await console.note("Or open this address, and see that it shows the same code:")
                await console.note("    \(complete.absoluteString)")
            }
            let minutes = max(1, prompt.expiresIn / 60)
            await console.note("Waiting. The code is good for \(minutes) \(minutes == 1 ? "minute" : "minutes").")
        }
    }

    private func paste(_ type: String, _ store: AccountStore) throws -> SignInMethod {
        let console = context.console
        guard !console.options.refusesInput else {
            throw CommandError(
                .usage, "--paste and --no-input exclude each other", reason: "what is pasted has to be read",
                hint: "directory sign-in \(type) --device")
        }
        let isCode = store.settings[type]?.redirectURI.text == RedirectURI.outOfBand
        let read = context.world.readLine
        return .paste { url in
            await console.note("To sign in, open this address in any browser:")
            await console.note(url.absoluteString)
            await console.note(
                isCode
                    ? "Then paste the code that it shows, and press Enter:"
                    : "Then paste the whole address at which it ends, even if the page there does not open, and press Enter:"
            )
            guard let line = try await read(Self.maximumLine) else {
                throw CommandError(
                    .signInNeeded, "the sign-in was not finished",
                    reason: "standard input ended before anything was pasted",
                    hint: "directory sign-in \(type) --paste")
            }
            return line
        }
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
