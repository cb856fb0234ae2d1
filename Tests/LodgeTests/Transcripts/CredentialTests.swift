import Foundation
import LocalProvider
import StrictJSON
import Testing

@testable import CommandLineKit
@testable import lodge

/// The credential protocols of docker, kubectl, cargo, bazel and keyring, and the ID token.
@MainActor @Suite struct CredentialTests {
    /// Signs in Ada. Her account type also has the host `registry.example`.
    private func signedIn() async throws -> (terminal: Terminal, token: String) {
        let terminal = try await Terminal()
        try terminal.write(
            settings: terminal.nested.replacing(
                "\"scopes\"", with: "\"resourceHosts\": [\"registry.example\", \"dev.example:5000\"], \"scopes\""))
        #expect(await terminal.run("sign-in").status == 0)
        return (terminal, String(await terminal.run("token").output.dropLast()))
    }

    private func object(_ transcript: Terminal.Transcript) throws -> JSONObject {
        try #require(try JSONValue(parsing: transcript.output).object)
    }

    @Test func `token --id-token prints the ID token, and refreshes an expired one`() async throws {
        let (terminal, access) = try await signedIn()
        let printed = await terminal.run("token", "--id-token")
        #expect(printed.status == 0 && printed.output.split(separator: ".").count == 3)
        let first = try object(await terminal.run("token", "--id-token", "--output", "json"))
        #expect(first.members.map(\.name) == ["id_token", "expires_at", "account", "type"])
        #expect(first["id_token"]?.string.map { $0 + "\n" } == printed.output)
        #expect(first["id_token"] != .string(access))
        let header = await terminal.run("token", "--id-token", "--header")
        #expect(header.output == "Authorization: Bearer \(printed.output)")
        #expect(await terminal.run("token", "--id-token").output == printed.output)
        // An ID token is valid for an hour at most, so the command refreshes it.
        let later = await terminal.run("token", "--id-token", "--min-validity", "10h")
        #expect(later.status == 0 && later.output != printed.output)
        #expect(await terminal.run("token", "--id-token", "--refresh").output != later.output)
        for other in [["--introspect"], ["--sasl", "xoauth2"], ["--scope", "User.Read"], ["--exchange"]] {
            #expect(await terminal.run(words: ["token", "--id-token"] + other).status == 2, "\(other)")
        }
    }

    @Test func `token --id-token explains why there is no ID token`() async throws {
        let terminal = try await Terminal()
        try terminal.write(settings: terminal.nested.replacing("\"openid\", \"profile\", ", with: ""))
        #expect(await terminal.run("sign-in").status == 0)
        let missing = await terminal.run("token", "--id-token")
        #expect(missing.status == 1 && missing.output.isEmpty)
        #expect(
            missing.errors == """
                lodge: no ID token: the provider of local sent none
                hint: lodge sign-in local --add-scope openid

                """)
    }

    @Test func `docker gets the token of a known registry, and its own message for another one`() async throws {
        let (terminal, token) = try await signedIn()
        for registry in [
            "https://registry.example", "registry.example", "registry.example/", "https://dev.example:5000/v2/",
        ] {
            let answer = await terminal.run("credential", "docker", "get", input: registry + "\n")
            #expect(answer.status == 0, "\(answer)")
            #expect(
                try object(answer) == [
                    "ServerURL": .string(registry), "Username": "oauth2", "Secret": .string(token),
                ])
        }
        for registry in [
            "https://other.example", "dev.example", "http://registry.example", "https://registry.example@other.example",
            "https://other.example\\@registry.example", "registry.example other.example", "", "ftp://registry.example",
        ] {
            let answer = await terminal.run("credential", "docker", "get", input: registry)
            #expect(answer.status == 1 && answer.output == "credentials not found in native keychain\n", "\(registry)")
            #expect(answer.errors.isEmpty)
        }
        #expect(await terminal.run("credential", "docker", "list").output == "{}\n")
        for operation in ["store", "erase"] {
            let answer = await terminal.run("credential", "docker", operation, input: "registry.example")
            #expect(answer.status == 0 && answer.output.isEmpty)
        }
        #expect(await terminal.run("credential", "docker", "gett").status == 2)
        #expect(await terminal.run("sign-out").status == 0)
        let needed = await terminal.run("credential", "docker", "get", input: "registry.example")
        #expect(needed.status == 4 && needed.errors.hasSuffix("hint: lodge sign-in local\n"), "\(needed)")
    }

    @Test func `kubectl gets the ID token, and only for a cluster of the settings`() async throws {
        let (terminal, access) = try await signedIn()
        func run(_ request: String?) async -> Terminal.Transcript {
            terminal.set(KubectlCredentialCommand.variable, request)
            return await terminal.run("credential", "kubectl")
        }
        func request(_ version: String, _ cluster: String = "") -> String {
            """
            {"apiVersion":"client.authentication.k8s.io/\(version)","kind":"ExecCredential","spec":{\(cluster)"interactive":false}}
            """
        }
        let idToken = String(await terminal.run("token", "--id-token").output.dropLast())
        for version in ["v1", "v1beta1"] {
            let answer = try object(await run(request(version)))
            #expect(answer["apiVersion"]?.string == "client.authentication.k8s.io/\(version)")
            #expect(answer["kind"] == "ExecCredential")
            let status = answer["status"]?.object
            #expect(status?["token"] == .string(idToken))
            #expect(status?["expirationTimestamp"]?.string?.hasSuffix("Z") == true)
        }
        let withAccess = try object(await terminal.run("credential", "kubectl", "--access-token"))
        #expect(withAccess["status"]?.object?["token"] == .string(access))
        let known = await run(request("v1", #""cluster":{"server":"https://registry.example"},"#))
        #expect(known.status == 0, "\(known)")
        let unknown = await run(request("v1", #""cluster":{"server":"https://evil.example"},"#))
        #expect(unknown.status == 8 && unknown.output.isEmpty, "\(unknown)")
        #expect(unknown.errors.contains("hint: lodge help settings resourceHosts"))
        for wrong in [nil, "", "[]", "{}", request("v2")] as [String?] {
            let answer = await run(wrong)
            #expect(answer.status == 2 && answer.output.isEmpty && answer.errors.contains("lodge help credentials"))
        }
    }

    @Test func `cargo gets a token for each request of a registry`() async throws {
        let (terminal, token) = try await signedIn()
        func get(_ index: String) -> String {
            #"{"v":1,"kind":"get","operation":"read","registry":{"index-url":"\#(index)"},"args":[]}"# + "\n"
        }
        let requests =
            get("sparse+https://registry.example/index/") + get("https://other.example/")
            + #"{"v":1,"kind":"login","registry":{"index-url":"https://registry.example"}}"# + "\n"
        let answer = await terminal.run("credential", "cargo", "--cargo-plugin", input: requests)
        func response(_ transcript: Terminal.Transcript) throws -> JSONObject {
            let line = try #require(transcript.lines.dropFirst().first)
            return try #require(try JSONValue(parsing: line).object)
        }
        #expect(answer.status == 0 && answer.lines.first == #"{"v":[1]}"#, "\(answer)")
        let found = try #require(try response(answer)["Ok"]?.object, "\(answer)")
        #expect(found["token"] == .string("Bearer \(token)"))
        #expect(found["kind"] == "get" && found["cache"] == "expires" && found["operation_independent"] == true)
        #expect(found["expiration"]?.number != nil)
        #expect(
            answer.lines.dropFirst(2) == [
                #"{"Err":{"kind":"url-not-supported"}}"#, #"{"Err":{"kind":"operation-not-supported"}}"#,
            ])
        #expect(await terminal.run("sign-out").status == 0)
        let needed = await terminal.run("credential", "cargo", input: get("https://registry.example"))
        let failure = try response(needed)["Err"]?.object
        #expect(failure?["message"]?.string?.hasSuffix("lodge sign-in local") == true, "\(needed)")
        #expect(await terminal.run("credential", "cargo", input: "no JSON\n").status == 2)
    }

    @Test func `bazel gets header fields for a URL`() async throws {
        let (terminal, token) = try await signedIn()
        let answer = await terminal.run(
            "credential", "bazel", "get", input: #"{"uri":"https://registry.example/cache/a?b=c"}"#)
        let found = try object(answer)
        #expect(found["headers"] == .object(["Authorization": [.string("Bearer \(token)")]]))
        #expect(found["expires"]?.string?.hasSuffix("Z") == true)
        let unknown = await terminal.run("credential", "bazel", "get", input: #"{"uri":"https://other.example"}"#)
        #expect(unknown.status == 0 && unknown.output == #"{"headers":{}}"# + "\n")
        for wrong in ["", "{}", #"{"uri":1}"#] {
            #expect(await terminal.run("credential", "bazel", "get", input: wrong).status == 2)
        }
        #expect(await terminal.run("credential", "bazel", "set").status == 2)
    }

    @Test func `pip and uv get the token as the password of a package index`() async throws {
        let (terminal, token) = try await signedIn()
        let index = "https://registry.example/simple/"
        #expect(await terminal.run("credential", "keyring", "get", index, "oauth2").output == token + "\n")
        #expect(
            await terminal.run("credential", "keyring", "get", "registry.example", "ada@contoso.example").status == 0)
        let both = await terminal.run("credential", "keyring", "get", index, "--mode", "creds")
        #expect(both.lines == ["oauth2", token])
        // The words of pip.
        let pip = try object(
            await terminal.run("credential", "keyring", "--mode=creds", "--output=json", "get", index))
        #expect(pip == ["username": "oauth2", "password": .string(token)])
        let unknown = await terminal.run("credential", "keyring", "get", "https://other.example", "oauth2")
        #expect(unknown.status == 1 && unknown.output.isEmpty && unknown.errors.isEmpty)
        let stranger = await terminal.run("credential", "keyring", "get", index, "eve@contoso.example")
        #expect(stranger.status == 4 && stranger.output.isEmpty)
        #expect(await terminal.run("credential", "keyring", "set", index, "oauth2").status == 2)
    }

    @Test func `Google Cloud gets the ID token, or an error as JSON`() async throws {
        let terminal = try await Terminal()
        try terminal.write(
            settings: terminal.nested.replacing(
                "\"scopes\"", with: "\"resourceHosts\": [\"iam.googleapis.com\"], \"scopes\""))
        func failure() async throws -> String {
            let answer = await terminal.run("credential", "google")
            #expect(answer.status == 0 && answer.errors.isEmpty)
            let found = try object(answer)
            #expect(found["version"] == 1 && found["success"] == false && found["code"]?.string != nil)
            return found["message"]?.string ?? ""
        }
        #expect(try await failure().contains("lodge help cloud"))
        terminal.set(GoogleCredentialCommand.audience, "//iam.googleapis.com/projects/1/providers/p")
        terminal.set(GoogleCredentialCommand.tokenType, "urn:ietf:params:oauth:token-type:id_token")
        terminal.set(GoogleCredentialCommand.permission, "0")
        #expect(try await failure().contains("\(GoogleCredentialCommand.permission) is not 1"))
        terminal.set(GoogleCredentialCommand.permission, "1")
        #expect(try await failure().hasSuffix("lodge sign-in local"))
        #expect(await terminal.run("sign-in").status == 0)
        let found = try object(await terminal.run("credential", "google"))
        let idToken = String(await terminal.run("token", "--id-token").output.dropLast())
        #expect(found["success"] == true && found["id_token"] == .string(idToken))
        #expect(found["token_type"]?.string == "urn:ietf:params:oauth:token-type:id_token")
        #expect(found["expiration_time"]?.number != nil)
        for audience in ["//evil.example/projects/1", "iam.googleapis.com", "", "//user@iam.googleapis.com/"] {
            terminal.set(GoogleCredentialCommand.audience, audience)
            #expect(try await failure().contains("resourceHosts"), "\(audience)")
        }
        terminal.set(GoogleCredentialCommand.tokenType, "urn:ietf:params:oauth:token-type:access_token")
        #expect(try await failure().contains("subject_token_type"))
    }

    @Test(arguments: [
        "registry.example", "https://registry.example/", "https://registry.example:443", "HTTPS://REGISTRY.EXAMPLE",
        "http://127.0.0.1:5000/v2/", "http://localhost:5000",
    ]) func `an address with a clear host can get a token`(address: String) {
        #expect(CommandContext.tokenHost(address) != nil)
    }

    @Test(arguments: [
        // Control characters, spaces, backslashes and other letters.
        "https://registry.example\n", "https://registry.example\u{0}.other.example", "https://registry.example\t",
        "https://registry.example\r\n", "https://registry.example\u{7F}", "https://registry.example /",
        " registry.example",
        "registry.example other.example", "https://other.example\\@registry.example", "https:\\\\registry.example",
        "https://rëgistry.example", "https://registry.example\u{3002}other.example", "https://registry.example/ä",
        "https://registry\u{200B}.example", "https://registry.example\u{FF0F}",
        // Names of users, other schemes, and plain http to another machine.
        "https://user@registry.example", "https://user:password@registry.example", "ftp://registry.example",
        "http://registry.example", "file:///registry.example", "https://", "",
    ]) func `an address that programs read differently gets no token`(address: String) async throws {
        #expect(CommandContext.tokenHost(address) == nil)
        let (terminal, _) = try await signedIn()
        let uri = String(decoding: JSONValue.object(["uri": .string(address)]).serialized(), as: UTF8.self)
        let bazel = await terminal.run("credential", "bazel", "get", input: uri)
        #expect(bazel.status == 0 && bazel.output == #"{"headers":{}}"# + "\n", "\(bazel)")
        let keyring = await terminal.run("credential", "keyring", "get", address)
        #expect(keyring.status == 1 && keyring.output.isEmpty, "\(keyring)")
    }
}
