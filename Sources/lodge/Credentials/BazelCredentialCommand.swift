import CommandLineKit
import StrictJSON

/// `credential bazel`: a credential helper of bazel, which gets header fields for a URL.
@MainActor struct BazelCredentialCommand: CommandHandler {
    enum Input {
        static let operation = Argument.required("OPERATION", "get", completion: .words(["get"]))
    }

    nonisolated static let command = Command(
        "bazel", "Act as a credential helper of bazel.",
        discussion:
            "To set it up: lodge help credentials. get reads a URL as JSON, and prints the header fields for it.",
        examples: [#"echo '{"uri": "https://cache.example/a"}' | lodge credential bazel get"#],
        arguments: [Input.operation], formats: OutputFormat.ofText
    ) { try await BazelCredentialCommand(context: $0).run() }

    let context: CommandContext

    func run() async throws -> ExitStatus {
        guard invocation[Input.operation] == "get" else {
            throw CommandError(
                .usage, "unknown operation \(UsageError.quoted(invocation[Input.operation]))", reason: "expected get",
                hint: "lodge credential bazel get")
        }
        let bytes = try context.world.readInput(CommandContext.maximumCredentialRequest)
        let request = try context.credentialRequest(String(decoding: bytes, as: UTF8.self))
        guard let uri = request["uri"]?.string else {
            throw CommandError(
                .usage, "cannot read the request of bazel", reason: "it has no uri",
                hint: "let bazel run this command: lodge help credentials")
        }
        guard let token = try await context.bearerToken(for: uri) else {
            try context.writeCredential(["headers": .object([:])])
            return .done
        }
        var response: JSONObject = [
            "headers": .object(["Authorization": .array([.string("Bearer \(token.secret.value)")])])
        ]
        if let expiry = token.expiry { response.append("expires", .string(expiry.rfc3339)) }
        try context.writeCredential(response)
        return .done
    }
}
