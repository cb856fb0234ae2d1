import LocalProvider
import OAuth2AccountStore
import StrictJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// `serve`
@MainActor
struct ServeCommand {
    private let context: CommandContext

    init(_ context: CommandContext) { self.context = context }

    func run() async throws -> ExitStatus {
        let invocation = context.invocation
        var configuration = LoopbackProvider.Configuration()
        configuration.port = UInt16(clamping: invocation.integer("port") ?? 0)
        if let users = invocation.integer("users") { configuration.people = users }
        if let lifetime = invocation.duration("token-lifetime") { configuration.accessTokenLifetime = lifetime }
        for text in invocation.strings("fault") {
            do throws(FaultError) {
                try configuration.faults.add(parsing: text)
            } catch {
                throw CommandError(
                    .usage, "wrong value of --fault", reason: error.description, hint: "directory help serve")
            }
        }
        let provider: LoopbackProvider
        do {
            provider = try await LoopbackProvider(configuration: configuration)
        } catch {
            throw CommandError(
                .failed, "the local provider did not start", reason: "\(error)", hint: "name another port with --port")
        }
        if let path = invocation.string("port-file") {
            do {
                // Written under another name first: who waits for the file never reads half of it.
                try Data("\(provider.port)\n".utf8).write(to: URL(filePath: path), options: .atomic)
            } catch {
                await provider.shutDown()
                throw CommandError(.failed, "cannot write \(path)", reason: "the file cannot be made")
            }
        }
        try context.console.writeLine("\(provider.issuer.absoluteString)")
        try context.console.flush()
        context.console.note(
            "A provider and a directory of \(provider.peopleCount) invented people, until Ctrl-C. Settings for it:")
        context.console.note(settings(provider).text())
        // Until a signal cancels the command.
        while !Task.isCancelled { try? await Task.sleep(for: .seconds(3600)) }
        await provider.shutDown()
        context.console.note("Stopped.")
        return .done
    }

    /// Settings with which the command signs in to it.
    private func settings(_ provider: LoopbackProvider) -> JSONValue {
        [
            "types": [
                "local": [
                    "issuer": .string(provider.issuer.absoluteString), "clientId": .string(provider.clientID),
                    "redirectUri": "http://127.0.0.1/callback",
                    "scopes": ["openid", "profile", "offline_access", "User.Read", "User.ReadBasic.All"],
                    "graphAPI": .string(provider.graphBase.absoluteString),
                ]
            ]
        ]
    }
}
