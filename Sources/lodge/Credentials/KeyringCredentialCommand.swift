import CommandLineKit
import StrictJSON

/// `credential keyring`: the command `keyring get` of Python, which pip and uv run for the password of a package index.
@MainActor struct KeyringCredentialCommand: CommandHandler {
    enum Input {
        static let operation = Argument.required("OPERATION", "get", completion: .words(["get"]))
        static let service = Argument.required("SERVICE", "URL or host of the package index")
        static let user = Argument.optional("USER", "user name in the URL")
        static let mode = Option.choice(
            "mode", "MODE", "print password (the default), or creds: user name and password", of: Mode.self)
    }

    enum Mode: String, CaseIterable {
        case password, creds
    }

    nonisolated static let command = Command(
        "keyring", "Act as the program keyring, for pip and uv.",
        discussion: """
            To set it up: lodge help credentials. get prints the token as the password. For a host that no account type has, it \
            prints nothing and ends with 1.
            """,
        examples: ["lodge credential keyring get https://packages.example/simple/ oauth2"],
        arguments: [Input.operation, Input.service, Input.user], options: [Input.mode],
        formats: OutputFormat.ofSentences,
        json: .object(["username": "with --mode creds", "password": "the access token"])
    ) { try await KeyringCredentialCommand(context: $0).run() }

    let context: CommandContext

    func run() async throws -> ExitStatus {
        guard invocation[Input.operation] == "get" else {
            throw CommandError(
                .usage, "unknown operation \(UsageError.quoted(invocation[Input.operation]))", reason: "expected get",
                hint: "lodge credential keyring get SERVICE")
        }
        let user = invocation[Input.user]
        guard let token = try await context.bearerToken(for: invocation[Input.service], userName: user) else {
            return .failed
        }
        let name = invocation[Input.mode] == .creds ? user ?? "oauth2" : nil
        if format == .json {
            var credential = JSONObject()
            if let name { credential.append("username", .string(name)) }
            credential.append("password", .string(token.secret.value))
            try context.writeCredential(credential)
        } else {
            if let name { try console.writeLine(name) }
            try console.writeLine(token.secret.value)
        }
        return .done
    }
}
