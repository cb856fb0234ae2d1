import CommandLineKit
import OAuth2AccountStore
import StrictJSON

/// `token`
@MainActor
struct TokenCommand {
    private let context: CommandContext

    init(_ context: CommandContext) { self.context = context }

    func run() async throws -> ExitStatus {
        let invocation = context.invocation
        let store = try await context.store(try context.settings())
        let account = try await context.account(store)
        let token = try await context.freshToken(store, of: account)
        if invocation.flag("introspect") {
            guard !invocation.flag("expires") else {
                throw CommandError(
                    .usage, "--introspect and --expires exclude each other", hint: "lodge help token")
            }
            let found = try await store.introspect(token, of: account.id)
            let members: JSONObject = found.isActive ? found.members : ["active": false]
            try context.console.write(.object(members))
            return .done
        }
        guard invocation.flag("expires") else {
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
