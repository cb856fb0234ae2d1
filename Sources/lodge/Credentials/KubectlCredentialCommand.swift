import CommandLineKit
import LodgePlatform
import OAuth2AccountStore
import StrictJSON

/// `credential kubectl`: an exec plugin of kubectl and other Kubernetes clients (client.authentication.k8s.io).
@MainActor struct KubectlCredentialCommand: CommandHandler {
    enum Input {
        static let accessToken = Option.flag("access-token", "print the access token instead of the ID token")
    }

    nonisolated static let command = Command(
        "kubectl", "Act as an exec plugin of kubectl.",
        discussion: """
            To set it up: lodge help credentials. It prints the ID token, which most clusters require, of the active account or of \
            --account and --type. If kubectl passes the cluster (provideClusterInfo), the account type must have its host.
            """,
        examples: ["lodge credential kubectl --type cluster"],
        options: [Input.accessToken], formats: OutputFormat.ofText
    ) { try await KubectlCredentialCommand(context: $0).run() }

    let context: CommandContext

    static let variable = "KUBERNETES_EXEC_INFO"
    private static let versions = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"]

    func run() async throws -> ExitStatus {
        guard let text = context.world.environment[Self.variable] else {
            throw CommandError(
                .usage, "there is no request of kubectl", reason: "the variable \(Self.variable) is not set",
                hint: "let kubectl run this command: lodge help credentials")
        }
        let request = try context.credentialRequest(text)
        guard let version = request["apiVersion"]?.string, Self.versions.contains(version) else {
            throw CommandError(
                .usage, "cannot read the request of kubectl",
                reason: "expected the apiVersion \(OptionSpec.list(Self.versions)), found "
                    + UsageError.quoted(request["apiVersion"]?.string ?? ""),
                hint: "set apiVersion in the configuration of kubectl: lodge help credentials")
        }
        let (token, expiry) = try await credential(for: request["spec"]?.object?["cluster"]?.object?["server"]?.string)
        var status: JSONObject = ["token": .string(token)]
        if let expiry { status.append("expirationTimestamp", .string(expiry.rfc3339)) }
        try context.writeCredential([
            "apiVersion": .string(version), "kind": "ExecCredential", "status": .object(status),
        ])
        return .done
    }

    private func credential(for server: String?) async throws -> (token: String, expiry: Date?) {
        let found: HostAccount
        if let server {
            guard let account = try await context.hostAccount(for: server) else {
                throw CommandError(
                    .settings, "no account type has the host of \(server.debugDescription)",
                    reason: "kubectl passes a token only to hosts in the settings",
                    hint: "lodge help settings resourceHosts")
            }
            found = account
        } else {
            let (store, account) = try await context.storeAndAccount()
            found = HostAccount(store: store, account: account)
        }
        guard invocation[Input.accessToken] else {
            let token = try await context.idToken(of: found)
            return (token.secret.value, token.expiry)
        }
        let token = try await context.bearerToken(of: found)
        return (token.secret.value, token.expiry)
    }
}
