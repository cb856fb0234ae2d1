import CommandLineKit
import OAuth2AccountStore
import StrictJSON

@MainActor
struct TokenCommand {
    enum Input {
        static let expires = Option.flag("expires", "print when it expires instead (RFC 3339)")
        static let introspect = Option.flag("introspect", "print what the provider says about it instead (JSON)")
        static let scope = Option.texts("scope", "SCOPE", "what it must be good for")
    }

    nonisolated static let command = Command(
        "token", "Print a fresh access token.",
        examples: ["curl -H \"Authorization: Bearer $(lodge token)\" https://api.example/"],
        options: [TokenOptions.refresh, Input.expires, Input.introspect, Input.scope], formats: OutputFormat.ofSentences
    ) { try await TokenCommand(context: $0).run() }

    let context: CommandContext

    func run() async throws -> ExitStatus {
        let invocation = context.invocation
        let store = try await context.store(try context.settings())
        let account = try await context.account(store)
        let token = try await context.freshToken(store, of: account, scope: Input.scope)
        if invocation[Input.introspect] {
            guard !invocation[Input.expires] else {
                throw CommandError(
                    .usage, "--introspect and --expires exclude each other", hint: "lodge help token")
            }
            let found = try await store.introspect(token, of: account.id)
            let members: JSONObject = found.isActive ? found.members : ["active": false]
            try context.console.write(.object(members))
            return .done
        }
        guard invocation[Input.expires] else {
            try context.console.writeLine(token.secret.value)
            return .done
        }
        guard let expiry = token.expiry else {
            throw CommandError(.failed, "the expiry is not known", reason: "the provider did not say it")
        }
        try context.console.writeLine(TimeText.rfc3339(expiry))
        return .done
    }
}
