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

    init(_ context: CommandContext) {
        self.context = context
        invocation = context.invocation
    }

    func run() async throws -> ExitStatus {
        let settings = try context.settings()
        let type = invocation.argument("TYPE") ?? context.typeName(settings)
        let store = try await context.store(settings)
        let account =
            if invocation.flag("with-token") {
                try await store.add(try tokenAnswer(), toType: type)
            } else {
                try await signIn(to: type, store)
            }
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

    private func signIn(to type: String, _ store: AccountStore) async throws -> Account {
        var options = SignInOptions()
        if !invocation.strings("scope").isEmpty {
            options.scope = Scope(parsing: invocation.strings("scope").joined(separator: " "))
        }
        options.prompt = invocation.strings("prompt").flatMap { $0.split(separator: " ").map(String.init) }
        options.loginHint = invocation.string("login-hint")
        options.claims = invocation.string("claims")
        for text in invocation.strings("param") {
            guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
                throw CommandError(
                    .usage, "wrong value of --param", reason: "expected NAME=VALUE", hint: "directory help sign-in")
            }
            options.parameters[String(text[..<equals])] = String(text[text.index(after: equals)...])
        }
        if let timeout = invocation.duration("timeout") { options.timeout = timeout }
        let console = context.console
        let opensBrowser = !invocation.flag("no-browser")
        let open = store.surroundings.openBrowser
        return try await store.signIn(
            to: type,
            by: .browser { url in
                await console.note(
                    opensBrowser
                        ? "Opening the browser. If it does not open, go to:"
                        : "To sign in, open this address in a browser on this machine:")
                await console.note(url.absoluteString)
                guard opensBrowser else { return }
                do {
                    try await open(url)
                } catch {
                    await console.note(
                        "The browser did not open: \(error). Open the address yourself; this goes on waiting.")
                }
            }, options: options)
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
