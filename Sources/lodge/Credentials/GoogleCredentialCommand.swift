import CommandLineKit
import LodgePlatform
import OAuth2AccountStore
import StrictJSON

/// `credential google`: an executable credential source of Google's client libraries, for workforce and workload identity federation.
@MainActor struct GoogleCredentialCommand: CommandHandler {
    nonisolated static let command = Command(
        "google", "Act as an executable credential source of Google Cloud.",
        discussion: """
            To set it up: lodge help cloud. It prints the ID token of the active account or of --account and --type. Its account \
            type must have the host iam.googleapis.com in resourceHosts.
            """,
        examples: ["lodge credential google --type work"], formats: OutputFormat.ofText
    ) { try await GoogleCredentialCommand(context: $0).run() }

    let context: CommandContext

    static let audience = "GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE"
    static let tokenType = "GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE"
    /// Google's libraries set it to 1 if the user allows executables.
    static let permission = "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES"
    private static let tokenTypes = [
        "urn:ietf:params:oauth:token-type:id_token", "urn:ietf:params:oauth:token-type:jwt",
    ]

    func run() async throws -> ExitStatus {
        do {
            try context.writeCredential(try await response())
        } catch let error where !(error is CancellationError) {
            // Google's libraries show this message only if the status is 0, and read standard error as output.
            try context.writeCredential([
                "version": 1, "success": false, "code": "lodge", "message": .string(context.failureText(error)),
            ])
        }
        return .done
    }

    private func response() async throws -> JSONObject {
        let environment = context.world.environment
        guard environment[Self.permission] == "1", let audience = environment[Self.audience],
            let type = environment[Self.tokenType]
        else {
            throw CommandError(
                .usage, "there is no request of a Google library",
                reason: "\(Self.permission) is not 1, or another variable is not set",
                hint: "let the library run this command: lodge help cloud")
        }
        guard Self.tokenTypes.contains(type) else {
            throw CommandError(
                .usage, "cannot print a token of the type \(UsageError.quoted(type))",
                reason: "lodge prints ID tokens for Google",
                hint: "set subject_token_type to \(Self.tokenTypes[0])")
        }
        guard audience.hasPrefix("//"), let found = try await context.hostAccount(for: "https:\(audience)") else {
            throw CommandError(
                .settings, "no account type has the host of the audience \(UsageError.quoted(audience))",
                reason: "lodge passes a token only to hosts in the settings",
                hint: "lodge help settings resourceHosts")
        }
        let token = try await context.idToken(of: found)
        return [
            "version": 1, "success": true, "token_type": .string(type), "id_token": .string(token.secret.value),
            "expiration_time": .number(JSONNumber(Int64(token.expiry.timeIntervalSince1970))),
        ]
    }
}
