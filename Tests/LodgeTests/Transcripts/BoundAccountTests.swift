import Foundation
import StrictJSON
import Testing

@testable import CommandLineKit
@testable import lodge

/// Accounts whose tokens are bound to a key (DPoP). Other programs cannot use these tokens.
@MainActor @Suite struct BoundAccountTests {
    private static let token = "bound-token-1"

    private func signedIn() async throws -> (terminal: Terminal, provider: ScriptedProvider) {
        let terminal = try await Terminal()
        let provider = try ScriptedProvider()
        provider.describe(#", "dpop_signing_alg_values_supported": ["ES256"]"#)
        provider.answer("/token", #"{"access_token": "\#(Self.token)", "token_type": "DPoP", "expires_in": 3600}"#)
        try terminal.write(
            settings: """
                {"types": {"bound": {"issuer": "\(provider.issuer)", "clientId": "c", "clientSecret": "client-secret-1",
                "redirectUri": "http://127.0.0.1/callback", "dpop": true, "scopes": ["read"],
                "resourceHosts": ["registry.example", "iam.googleapis.com", "sts.amazonaws.com"]}}}
                """)
        let done = await terminal.run("sign-in", "--client-credentials")
        #expect(done.status == 0, "\(done.errors)")
        #expect(await terminal.run("token").output == Self.token + "\n")
        return (terminal, provider)
    }

    private func expectRefusal(_ transcript: Terminal.Transcript, _ output: String = "") {
        #expect(transcript.status == 1 && transcript.output == output, "\(transcript)")
        #expect(transcript.errors.contains("it is bound to a key, which only lodge can use"), "\(transcript)")
        #expect(!transcript.errors.contains(Self.token))
    }

    @Test func `no program gets the token of an account that is bound to a key`() async throws {
        let (terminal, _) = try await signedIn()
        let host = "registry.example"
        expectRefusal(await terminal.run("credential", "docker", "get", input: host))
        expectRefusal(await terminal.run("credential", "bazel", "get", input: #"{"uri": "https://registry.example/"}"#))
        expectRefusal(await terminal.run("credential", "keyring", "get", host, "oauth2"))
        expectRefusal(await terminal.run("credential", "aws", "arn:aws:iam::123456789012:role/reader"))
        for capability in ["", "capability[]=authtype\n"] {
            expectRefusal(
                await terminal.run(
                    "credential", "git", "get", input: "\(capability)protocol=https\nhost=\(host)\n\n"))
        }
        for server in ["", #""cluster": {"server": "https://registry.example"}"#] {
            terminal.set(
                KubectlCredentialCommand.variable,
                #"{"apiVersion": "client.authentication.k8s.io/v1", "spec": {\#(server)}}"#)
            expectRefusal(await terminal.run("credential", "kubectl"))
            expectRefusal(await terminal.run("credential", "kubectl", "--access-token"))
        }
        // No program starts.
        expectRefusal(await terminal.run("exec", "--azure", "--", "upload"))
    }

    @Test func `cargo and Google Cloud get the refusal in their protocols`() async throws {
        let (terminal, _) = try await signedIn()
        let cargo = await terminal.run(
            "credential", "cargo",
            input: #"{"v":1,"kind":"get","operation":"read","registry":{"index-url":"https://registry.example"}}"#
                + "\n")
        #expect(cargo.status == 0 && cargo.lines.count == 2)
        #expect(cargo.lines.last?.contains("it is bound to a key, which only lodge can use") == true, "\(cargo)")
        terminal.set(GoogleCredentialCommand.audience, "//iam.googleapis.com/projects/1/providers/p")
        terminal.set(GoogleCredentialCommand.tokenType, "urn:ietf:params:oauth:token-type:id_token")
        terminal.set(GoogleCredentialCommand.permission, "1")
        let google = await terminal.run("credential", "google")
        let answer = try #require(try JSONValue(parsing: google.output).object)
        #expect(answer["success"] == false && answer["id_token"] == nil)
        #expect(answer["message"]?.string?.contains("it is bound to a key, which only lodge can use") == true)
        #expect(!(cargo.output + google.output).contains(Self.token))
    }
}
