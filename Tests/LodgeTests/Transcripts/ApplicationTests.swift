import Foundation
import LocalProvider
import StrictJSON
import Testing

@testable import CommandLineKit
@testable import lodge

/// Accounts of applications without a user, and continuous access evaluation.
@MainActor @Suite struct ApplicationTests {
    /// Returns a terminal with an application that is signed in.
    private func application(_ scope: String = "https://graph.example/.default") async throws -> Terminal {
        let terminal = try await Terminal()
        try terminal.write(
            settings: """
                {"types": {"graph-app": {"authority": "\(terminal.provider.issuer)/contoso.example",
                "clientId": "lodge-confidential", "clientSecret": {"environment": "APP_SECRET"}, "clientCapabilities": ["cp1"],
                "redirectUri": "http://127.0.0.1/callback", "graphAPI": "\(terminal.provider.graphBase)",
                "scopes": ["\(scope)"]}}}
                """)
        terminal.set("APP_SECRET", "not-a-secret")
        let signIn = await terminal.run("sign-in", "--client-credentials")
        #expect(signIn.status == 0, "\(signIn.errors)")
        return terminal
    }

    private func inject(_ errors: String..., into terminal: Terminal) throws {
        var injected = InjectedErrors()
        for error in errors { try injected.add(parsing: error) }
        terminal.provider.setInjectedErrors(injected)
    }

    @Test func `an application searches, shows and looks up users, and synchronizes them`() async throws {
        let terminal = try await application()
        for words in [
            ["search", "ada"], ["show", "ada@contoso.example", "--manager"], ["lookup"], ["sync"],
            ["search", "ada", "--offline"],
        ] {
            let result = await terminal.run(words: words, input: "ada@contoso.example\n")
            #expect(result.status == 0, "\(words): \(result.errors)")
        }
    }

    @Test func `me of an application sends no request and names commands that work`() async throws {
        let terminal = try await application()
        let before = terminal.provider.requestCount()
        let me = await terminal.run("me")
        #expect(me.status == 2)
        #expect(
            me.errors == """
                lodge: cannot show me: graph-app is an application
                hint: to show a user, run: lodge show USER
                hint: to show the application, run: lodge status

                """)
        #expect(terminal.provider.requestCount() == before)
        let json = await terminal.run("me", "--output", "json")
        #expect(json.status == 2 && json.errors.contains(#""otherHint""#), "\(json.errors)")
    }

    @Test(arguments: [
        ("User.Read.All", "/contoso.example", #"found "User.Read.All""#),
        ("", "/contoso.example", "found no scope"),
        ("https://a.example/.default https://b.example/.default", "/contoso.example", "found 2 scopes"),
        ("https://graph.example/.default", "/common", #"found "common""#),
    ])
    func `an application of Entra needs a tenant and exactly one .default scope`(
        scope: String, path: String, found: String
    ) async throws {
        let terminal = try await application()
        let settings = try String(contentsOf: terminal.settings, encoding: .utf8)
        try terminal.write(
            settings: settings.replacing("/contoso.example", with: path)
                .replacing("https://graph.example/.default", with: scope))
        let before = terminal.provider.requestCount()
        let signIn = await terminal.run("sign-in", "--client-credentials")
        #expect(signIn.status == 8 && signIn.errors.contains(found), "\(signIn.errors)")
        #expect(terminal.provider.requestCount() == before)
    }

    @Test func `status and accounts show the application and its tenant`() async throws {
        let terminal = try await application()
        for words in [["status"], ["accounts"], ["accounts", "show", "lodge-confidential"]] {
            let result = await terminal.run(words: words)
            #expect(
                result.status == 0 && result.output.contains("application lodge-confidential in contoso.example"),
                "\(result.output)")
        }
        let json = await terminal.run("accounts", "--output", "json")
        #expect(
            json.output.contains(#""application": "application lodge-confidential in contoso.example""#)
                || json.output.contains(#""application":"application lodge-confidential in contoso.example""#))
    }

    /// Returns a terminal with the type `vm`, whose tokens come from the platform of the local provider.
    private func machine(_ environment: [String: String], _ identity: String = "{}") async throws -> Terminal {
        let terminal = try await Terminal()
        try terminal.write(
            settings: """
                {"types": {"vm": {"provider": "entra", "grant": "managedIdentity", "managedIdentity": \(identity),
                "graphAPI": "\(terminal.provider.graphBase)"}}}
                """)
        for (name, value) in environment {
            terminal.set(name, value.replacing("HOST", with: "127.0.0.1:\(terminal.provider.port)"))
        }
        let signIn = await terminal.run("sign-in", "vm")
        #expect(signIn.status == 0, "\(signIn.errors)")
        return terminal
    }

    @Test func `status, providers show and providers check show a managed identity and its source`() async throws {
        let terminal = try await machine(["AZURE_POD_IDENTITY_AUTHORITY_HOST": "HOST"])
        for words in [["status"], ["accounts"]] {
            let result = await terminal.run(words: words)
            #expect(result.output.contains("managed identity system-assigned of imds"), "\(result.output)")
            #expect(!result.output.contains("common"))
        }
        let show = await terminal.run("providers", "show", "vm")
        #expect(show.output.contains("Grant\tmanagedIdentity\nSource\tdetected\n"), "\(show.output)")
        #expect(!show.output.contains("Redirect URI") && !show.output.contains("login.microsoftonline.com"))
        let json = await terminal.run("providers", "show", "vm", "--output", "json")
        let object = try JSONValue(parsing: json.output).object
        #expect(
            object?["grant"] == "managedIdentity" && object?["clientId"] == .null && object?["redirectUri"] == .null)
        let check = await terminal.run("providers", "check", "vm")
        #expect(check.status == 0, "\(check.errors)")
        #expect(check.output.contains("detected imds at http://127.0.0.1:\(terminal.provider.port)/metadata/identity/"))
        #expect(check.output.contains("system-assigned identity; it responds"))
        let doctor = await terminal.run("doctor")
        #expect(doctor.status == 0 && doctor.output.contains("detected imds"), "\(doctor.output)")
        #expect(!doctor.output.contains("uses a free port"))
        let offline = await terminal.run("doctor", "--offline")
        #expect(offline.status == 0 && offline.output.contains("only a request can detect the source"))
    }

    @Test func `the tokens of Cloud Shell have a user, so that me shows it`() async throws {
        let terminal = try await machine(["MSI_ENDPOINT": "http://HOST/cloudshell/oauth2/token"])
        let me = await terminal.run("me")
        #expect(me.status == 0 && me.output.contains("Ada Lovelace"), "\(me.errors)")
        #expect(await terminal.run("status").output.contains("user of cloudShell"))
        let denied = try await machine(["AZURE_POD_IDENTITY_AUTHORITY_HOST": "HOST"])
        #expect(await denied.run("me").status == 2)
    }

    @Test func `--timeout ends the attempts at a metadata service`() async throws {
        let terminal = try await machine(["AZURE_POD_IDENTITY_AUTHORITY_HOST": "HOST"], #"{"source": "imds"}"#)
        try inject("metadata-500", into: terminal)
        for words in [["sign-in", "vm", "--timeout", "0.5"], ["token", "--refresh", "--timeout", "0.5"]] {
            let before = terminal.provider.requestCount()
            let result = await terminal.run(words: words)
            #expect(result.status == 7 && result.errors.contains("--timeout"), "\(result.errors)")
            // There would be four requests. The delay before the second one is a second.
            #expect(terminal.provider.requestCount() <= before + 1)
        }
    }

    @Test func `a 403 names the application permission that an administrator must grant`() async throws {
        let terminal = try await application()
        try inject("directory-403", into: terminal)
        let search = await terminal.run("search", "ada")
        #expect(search.status == 5 && search.errors.contains("the application permission User.Read.All"))
        #expect(
            search.errors.contains(
                "hint: ask an administrator to grant the application permission User.Read.All, then run: "
                    + "lodge accounts refresh"), "\(search.errors)")
    }

    @Test func `an application gets one new token after a challenge, and is then blocked by policy`() async throws {
        let terminal = try await application()
        try inject("directory-token-revoked:1", into: terminal)
        let search = await terminal.run("search", "ada")
        #expect(search.status == 0, "\(search.errors)")
        #expect(terminal.provider.tokenRequestCount(grantType: "client_credentials") == 2)
        try inject("directory-401-claims", into: terminal)
        let blocked = await terminal.run("search", "ada")
        #expect(blocked.status == 5 && blocked.errors.contains("blocked by policy"), "\(blocked.errors)")
        #expect(blocked.errors.contains("hint: ask an administrator"), "\(blocked.errors)")
        #expect(terminal.provider.tokenRequestCount(grantType: "client_credentials") == 3)
        try inject(into: terminal)
        #expect(await terminal.run("search", "ada").status == 0)
    }

    /// Returns a terminal with a user who is signed in to a type that declares cp1.
    private func user() async throws -> Terminal {
        let terminal = try await Terminal()
        try terminal.write(
            settings: terminal.nested.replacing(#""pushedAuth"#, with: #""clientCapabilities": ["cp1"], "pushedAuth"#))
        #expect(await terminal.run("sign-in").status == 0)
        return terminal
    }

    @Test func `a revoked access token is replaced without the user`() async throws {
        let terminal = try await user()
        try inject("directory-token-revoked:1", into: terminal)
        let search = await terminal.run("search", "ada")
        #expect(search.status == 0 && search.output.contains("Ada Lovelace"), "\(search.errors)")
        #expect(terminal.provider.tokenRequestCount(grantType: "refresh_token") == 1)
    }

    @Test func `a revoked session needs a sign-in, which requests the claims of the challenge`() async throws {
        let terminal = try await user()
        try inject("directory-session-revoked:1", into: terminal)
        let search = await terminal.run("search", "ada")
        #expect(search.status == 4 && search.errors.contains("hint: lodge sign-in local"), "\(search.errors)")
        #expect(await terminal.run("status").status == 4)
        #expect(await terminal.run("search", "ada").status == 4)
        #expect(terminal.provider.tokenRequestCount(grantType: "refresh_token") == 1)
        let signIn = await terminal.run("sign-in", "--no-browser", "--timeout", "1")
        #expect(signIn.errors.contains("claims=") && signIn.errors.contains("nbf"), "\(signIn.errors)")
        #expect(await terminal.run("sign-in").status == 0)
        #expect(await terminal.run("search", "ada").status == 0)
        let after = await terminal.run("sign-in", "--no-browser", "--timeout", "1")
        #expect(!after.errors.contains("nbf"), "\(after.errors)")
    }

    @Test func `claims that require the user are an error with the sign-in command`() async throws {
        let terminal = try await user()
        try inject("directory-token-revoked:1", "token-interaction-required:1", into: terminal)
        let search = await terminal.run("search", "ada")
        #expect(search.status == 4 && search.errors.contains("--claims '{\"access_token\""), "\(search.errors)")
    }
}

/// Workloads that authenticate with the JWT of another issuer.
@MainActor @Suite struct WorkloadTests {
    private static let requestToken = "not-a-secret-request"

    @Test(arguments: [
        ("github", #"{"githubActions":{}}"#), ("github=api://own", #"{"githubActions":{"audience":"api://own"}}"#),
        ("gitlab", #"{"environment":"GITLAB_OIDC_TOKEN"}"#), ("gitlab=MY_TOKEN", #"{"environment":"MY_TOKEN"}"#),
        ("kubernetes", #"{"file":{"environment":"AZURE_FEDERATED_TOKEN_FILE"}}"#),
        ("kubernetes=/run/token", #"{"file":"/run/token"}"#), ("file=/run/token", #"{"file":"/run/token"}"#),
        ("azure-pipelines=connection", #"{"azurePipelines":{"serviceConnection":"connection"}}"#),
        ("environment=MY_TOKEN", #"{"environment":"MY_TOKEN"}"#),
    ])
    func `providers add --federated writes the source of the assertions`(source: String, expected: String) async throws
    {
        let terminal = try await Terminal()
        let added = await terminal.run(
            "providers", "add", "entra-workload", "--federated", source, "--client-id", "app", "--set",
            "tenant=contoso.com")
        #expect(added.status == 0, "\(added.errors)")
        let settings = try JSONValue(parsing: Data(contentsOf: terminal.settings), options: .init(allowsComments: true))
        let type = settings.object?["types"]?.object?["entra-workload"]?.object
        #expect(type?["clientAssertion"]?.text() == expected)
        #expect(type?["clientId"] == "app" && type?["tenant"] == "contoso.com")
    }

    @Test(arguments: [
        ("githab", "did you mean github?"), ("azure-pipelines", "requires the identifier"), ("file", "requires a file"),
    ])
    func `a wrong source of assertions is a usage error`(source: String, words: String) async throws {
        let terminal = try await Terminal()
        let added = await terminal.run(
            "providers", "add", "entra-workload", "--federated", source, "--client-id", "app", "--set",
            "tenant=contoso.com")
        #expect(added.status == 2 && added.errors.contains(words), "\(added.errors)")
    }

    @Test func `entra-workload can be added without the variables of a pod, and names them when it is used`()
        async throws
    {
        let terminal = try await Terminal()
        let added = await terminal.run("providers", "add", "entra-workload")
        #expect(added.status == 0, "\(added.errors)")
        let signIn = await terminal.run("sign-in", "entra-workload", "--client-credentials")
        #expect(signIn.status == 8, "\(signIn.errors)")
        for name in ["AZURE_CLIENT_ID", "AZURE_TENANT_ID", "AZURE_FEDERATED_TOKEN_FILE"] {
            #expect(signIn.errors.contains(name), "\(signIn.errors)")
        }
    }

    @Test func `a job signs in with the token service of GitHub, and doctor shows the values to register`() async throws
    {
        let terminal = try await Terminal()
        let graph = terminal.provider.graphBase
        try terminal.write(
            settings: """
                {"types": {"ci": {"authority": "\(terminal.provider.issuer)/contoso.example", "clientId": "lodge-workload",
                "redirectUri": "http://127.0.0.1/callback", "graphAPI": "\(graph)", "clientCapabilities": ["cp1"],
                "scopes": ["https://graph.example/.default"], "clientAssertion": {"githubActions": {}}}}}
                """)
        let without = await terminal.run("sign-in", "--client-credentials")
        #expect(without.status == 8 && without.errors.contains("id-token: write"), "\(without.errors)")
        for (name, value) in terminal.provider.gitHubEnvironment { terminal.set(name, value) }
        let before = terminal.provider.requestCount("GET /github/token")
        for words in [["sign-in", "--client-credentials"], ["search", "ada"], ["status"], ["doctor"]] {
            let result = await terminal.run(words: words)
            #expect(result.status == 0, "\(words): \(result.errors)\(result.output)")
            let shown = result.output + result.errors
            #expect(!shown.contains("eyJ") && !shown.contains(Self.requestToken))
        }
        // One for the sign-in, and one for doctor.
        #expect(terminal.provider.requestCount("GET /github/token") == before + 2)
        let doctor = await terminal.run("doctor")
        for value in ["/github", "repo:contoso/app:ref:refs/heads/main", "api://AzureADTokenExchange"] {
            #expect(doctor.output.contains(value), "\(doctor.output)")
        }
    }
}
