import CommandLineKit
import LodgePlatform
import OAuth2AccountStore
import StrictJSON

/// `credential cargo`: a credential provider of cargo, which sends one request per line.
@MainActor struct CargoCredentialCommand: CommandHandler {
    enum Input {
        static let plugin = Option.flag("cargo-plugin", "the option that cargo adds")
    }

    nonisolated static let command = Command(
        "cargo", "Act as a credential provider of cargo.",
        discussion: """
            To set it up: lodge help credentials. The token of a registry is the value of its Authorization field: Bearer and the \
            access token. lodge does not save tokens of cargo login.
            """,
        examples: ["lodge credential cargo --cargo-plugin < requests.jsonl"],
        options: [Input.plugin], formats: OutputFormat.ofText
    ) { try await CargoCredentialCommand(context: $0).run() }

    let context: CommandContext

    func run() async throws -> ExitStatus {
        try context.writeCredential(["v": [1]])
        try console.flush()
        let requests = context.world.inputLines()
        while let line = try await requests.next() {
            try context.writeCredential(try await response(to: line))
            try console.flush()
        }
        return .done
    }

    private func response(to line: String) async throws -> JSONObject {
        let request = try context.credentialRequest(line)
        guard request["v"] == 1, request["kind"]?.string == "get" else {
            return Self.failure("operation-not-supported")
        }
        var index = request["registry"]?.object?["index-url"]?.string ?? ""
        if index.hasPrefix("sparse+") { index.removeFirst("sparse+".count) }
        do {
            guard let token = try await context.bearerToken(for: index) else {
                return Self.failure("url-not-supported")
            }
            var value: JSONObject = ["kind": "get", "token": .string("Bearer \(token.secret.value)")]
            if let expiry = token.expiry {
                value.append("cache", "expires")
                value.append("expiration", .number(JSONNumber(Int64(expiry.timeIntervalSince1970))))
            } else {
                value.append("cache", "session")
            }
            value.append("operation_independent", true)
            return ["Ok": .object(value)]
        } catch let error where !(error is CancellationError) {
            // cargo shows this message, and not standard error.
            return [
                "Err": .object(["kind": "other", "message": .string(context.failureText(error)), "caused-by": []])
            ]
        }
    }

    private static func failure(_ kind: String) -> JSONObject { ["Err": .object(["kind": .string(kind)])] }
}
