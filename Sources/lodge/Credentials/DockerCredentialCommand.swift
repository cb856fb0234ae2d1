import CommandLineKit
import LodgePlatform
import StrictJSON

/// `credential docker`: a credential helper of docker. See the protocol of docker-credential-helpers.
@MainActor struct DockerCredentialCommand: CommandHandler {
    enum Input {
        static let operation = Argument.required(
            "OPERATION", "get, store, erase or list", completion: .words(["get", "store", "erase", "list"]))
    }

    nonisolated static let command = Command(
        "docker", "Act as a credential helper of docker.",
        discussion: """
            To set it up: lodge help credentials. get reads the registry from standard input, and prints the token as the password. \
            store and erase do nothing. list prints no registries.
            """,
        examples: ["echo https://registry.example | lodge credential docker get"],
        arguments: [Input.operation], formats: OutputFormat.ofText
    ) { try await DockerCredentialCommand(context: $0).run() }

    let context: CommandContext

    /// docker looks for this line to distinguish a registry without a credential from an error.
    static let notFound = "credentials not found in native keychain"

    func run() async throws -> ExitStatus {
        switch invocation[Input.operation] {
        case "get": return try await get()
        case "list": try context.writeCredential([:])
        case "store", "erase": _ = try context.world.readInput(CommandContext.maximumCredentialRequest)
        case let name:
            throw CommandError(
                .usage, "unknown operation \(UsageError.quoted(name))", reason: "expected get, store, erase or list",
                hint: "lodge credential docker get")
        }
        return .done
    }

    private func get() async throws -> ExitStatus {
        let bytes = try context.world.readInput(CommandContext.maximumCredentialRequest)
        let words = bytes.split { [0x09, 0x0A, 0x0D, 0x20].contains($0) }
        let server = words.count == 1 ? String(decoding: words[0], as: UTF8.self) : ""
        guard let token = try await context.bearerToken(for: server) else {
            try console.writeLine(Self.notFound)
            return .failed
        }
        // A user name of <token> would say that the secret is a refresh token.
        try context.writeCredential([
            "ServerURL": .string(server), "Username": "oauth2", "Secret": .string(token.secret.value),
        ])
        return .done
    }
}
