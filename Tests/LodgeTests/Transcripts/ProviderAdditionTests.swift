import Foundation
import HTTPExchange
import LocalProvider
import OAuth2AccountStore
import StrictJSON
import TestSupport
import Testing

@testable import CommandLineKit
@testable import lodge

@MainActor @Suite struct ProviderAdditionTests {
    private func text(_ url: URL) throws -> String { try String(contentsOf: url, encoding: .utf8) }

    private func mode(_ url: URL) throws -> Int {
        try #require(
            try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? Int)
    }

    // MARK: add

    @Test func `the first type creates the settings file`() async throws {
        let terminal = try await Terminal()
        terminal.set("LODGE_SETTINGS", nil)
        let file = terminal.folder.appending(path: ".config/lodge/settings.json")
        let add = await terminal.run(
            "providers", "add", "mine", "--issuer", "\(terminal.provider.issuer)", "--client-id", "lodge")
        #expect(add.status == 0, "\(add.errors)")
        #expect(add.errors == "Added mine to \(file.path). To sign in: lodge sign-in mine\n")
        #expect(try mode(file) == 0o600)
        #expect(await terminal.run("sign-in").status == 0)
        #expect(await terminal.run("status").output.contains("mine"))
    }

    @Test(arguments: [("v1.0", ["--directory", "graph"]), ("v1.0/", []), ("beta", [])])
    func `the version in the URL of Graph becomes the version of the type`(
        version: String, words: [String]
    ) async throws {
        let terminal = try await Terminal()
        let add = await terminal.run(
            words: ["providers", "add", "mine", "--issuer", "\(terminal.provider.issuer)", "--client-id", "lodge"]
                + words
                + ["--directory-base", "\(terminal.provider.graphBase)\(version)", "--scope", "openid User.Read.All"])
        #expect(add.status == 0, "\(add.errors)")
        let type = try #require(try Settings(contentsOf: terminal.settings)["mine"])
        #expect(type.graphAPI == terminal.provider.graphBase && type.graphVersion == version.replacing("/", with: ""))
        #expect(await terminal.run("sign-in", "mine").status == 0)
        let search = await terminal.run("search", "ada", "--limit", "1")
        #expect(search.status == 0, "\(search.errors)")
    }

    @Test func `adding a type keeps the comments and layout of the settings file`() async throws {
        let terminal = try await Terminal()
        let old = """
            {
              // Ours. {"types": {}}
              "types": {
                "local": { "issuer": "\(terminal.provider.issuer)", "clientId": "lodge", /* the demo's */
                           "redirectUri": "http://127.0.0.1/callback" } // the last one
              },
              "defaultType": "local" // stays
            }
            """
        try terminal.write(settings: old)
        let add = await terminal.run(
            "providers", "add", "company", "--provider", "entra-tenant", "--set", "tenant=contoso.com", "--client-id",
            "c1", "--scope", "openid User.Read", "--redirect-uri", "http://127.0.0.1:8400/x")
        #expect(add.status == 0, "\(add.errors)")
        let new = try text(terminal.settings)
        for comment in [#"// Ours. {"types": {}}"#, "/* the demo's */", "// the last one", "// stays"] {
            #expect(new.contains(comment), "\(new)")
        }
        let settings = try Settings(contentsOf: terminal.settings)
        #expect(settings.types.map(\.name) == ["local", "company"] && settings.defaultType == "local")
        let type = try #require(settings["company"])
        #expect(type.provider == .authority("https://login.microsoftonline.com/contoso.com"))
        #expect(type.scope.tokens == ["openid", "User.Read"] && type.redirectURI.text == "http://127.0.0.1:8400/x")
        let again = await terminal.run("providers", "add", "company", "--provider", "google", "--client-id", "c1")
        #expect(again.status == 8 && again.errors.contains("expected no type of this name"))
        #expect(try text(terminal.settings) == new)

        let remove = await terminal.run("providers", "remove", "company")
        #expect(remove.status == 0, "\(remove.errors)")
        let back = try text(terminal.settings)
        #expect(back.contains("// the last one") && back.contains("// stays"))
        #expect(try Settings(contentsOf: terminal.settings).types.map(\.name) == ["local"])
    }

    @Test func `a preset name as the type name selects the preset`() async throws {
        let terminal = try await Terminal()
        let add = await terminal.run(
            "providers", "add", "github", "--client-id", "c1", "--client-secret-env", "GITHUB_SECRET", "-o", "json")
        #expect(add.status == 0, "\(add.errors)")
        #expect(try JSONValue(parsing: add.output).object?["preset"] == "github")
        let type = try #require(try Settings(contentsOf: terminal.settings)["github"])
        #expect(type.preset == "github" && type.clientSecret == .environment("GITHUB_SECRET"))
        #expect(try mode(terminal.settings) == 0o644, "the name of a variable is not a secret")
    }

    @Test func `providers add --certificate writes the paths, and prints the thumbprint to compare`() async throws {
        let terminal = try await Terminal()
        let words = ["providers", "add", "entra-workload", "--set", "tenant=contoso.com", "--client-id", "c1"]
        let pem = try SampleCertificate.path("app.pem")
        let add = await terminal.run(words: words + ["--certificate", pem, "--chain"])
        #expect(add.status == 0, "\(add.errors)")
        #expect(add.errors.contains(try SampleCertificate.thumbprint("app.pem", "sha1")), "\(add.errors)")
        let type = try #require(try Settings(contentsOf: terminal.settings)["entra-workload"])
        var credential = CertificateCredential(files: .pem(certificate: pem, key: nil))
        credential.includesChain = true
        #expect(type.clientAssertion == .certificate(credential) && type.clientSecret == nil)
        #expect(type.provider == .authority("https://login.microsoftonline.com/contoso.com"))
        #expect(type.scope.tokens == ["https://graph.microsoft.com/.default"])
        #expect(await terminal.run("providers", "remove", "entra-workload").status == 0)

        let pfx = try SampleCertificate.path("app.pfx")
        let protected = await terminal.run(
            words: words + ["--certificate", pfx, "--certificate-password-env", "APP_PASSWORD"])
        #expect(protected.status == 0 && !protected.errors.contains("thumbprint"), "\(protected.errors)")
        let second = try #require(try Settings(contentsOf: terminal.settings)["entra-workload"])
        var file = CertificateCredential(files: .pkcs12(pfx))
        file.password = .environment("APP_PASSWORD")
        #expect(second.clientAssertion == .certificate(file))
        #expect(await terminal.run("providers", "remove", "entra-workload").status == 0)

        for (options, status, reason) in [
            (["--certificate", try SampleCertificate.path("expired.pem")], Int32(8), "expired at 2021-01-01"),
            (["--certificate", try SampleCertificate.path("weak.pem")], 8, "1024 bits"),
            (["--certificate", pfx], 8, "a PKCS #12 file with a password"), (["--chain"], 2, "requires --certificate"),
            (["--certificate", pfx, "--key", pem], 2, "--key cannot be combined with a PKCS #12 file"),
        ] {
            let rejected = await terminal.run(words: words + options)
            #expect(rejected.status == status && rejected.errors.contains(reason), "\(rejected.errors)")
            #expect(try Settings(contentsOf: terminal.settings)["entra-workload"] == nil)
        }
    }

    @Test(arguments: [
        (["add", "mine"], 2, "neither --issuer nor --provider"),
        (["add", "mine", "--issuer", "https://id.example"], 2, "--client-id was not given"),
        (["add", "mine", "--provider", "gihtub", "--client-id", "c"], 2, "did you mean github?"),
        (["add", "mine", "--issuer", "https://id.example", "--client-id", "c", "--register"], 2, "--register"),
        (
            ["add", "mine", "--issuer", "https://id.example", "--client-id", "c", "--register-with", "{}"], 2,
            "--register"
        ),
        (["add", "mine", "--issuer", "http://id.example", "--client-id", "c"], 2, "wrong value of --issuer"),
        (
            ["add", "mine", "--issuer", "id.example", "--client-id", "c"], 2,
            "hint: write --issuer 'https://id.example'"
        ),
        (
            ["add", "mine", "--provider", "keycloak", "--client-id", "c"], 2,
            "--set host is missing: Keycloak requires the host"
        ),
        (["add", "mine", "--provider", "gitlab", "--set", "hots=x", "--client-id", "c"], 2, "unknown key hots"),
        (
            ["add", "github", "--client-id", "c"], 2,
            "hint: lodge providers add github --client-id ID --client-secret-file FILE"
        ),
        (["add", "a b", "--issuer", "https://id.example", "--client-id", "c"], 2, "a name without spaces"),
        (["add", "mine", "--issuer", "https://id.example", "--register", "--offline"], 2, "--offline"),
        (["remove", "company"], 3, "settings.json does not contain it"),
        (["remove", "github"], 3, "is a built-in preset"),
    ])
    func `an invalid providers command is an error and does not change the settings`(
        words: [String], status: Int32, reason: String
    ) async throws {
        let terminal = try await Terminal()
        let old = try text(terminal.settings)
        let answer = await terminal.run(words: ["providers"] + words)
        #expect(answer.status == status, "\(answer.errors)")
        #expect(answer.errors.contains(reason) && answer.errors.contains("\nhint: "), "\(answer.errors)")
        #expect(try text(terminal.settings) == old)
    }

    @Test func `property lists and flat settings are not edited`() async throws {
        let terminal = try await Terminal()
        let flat =
            #"{"authority": "https://login.microsoftonline.com/common", "clientId": "a", "redirectUri": "http://localhost/x", "scopes": "openid"}"#
        try terminal.write(settings: flat)
        let add = await terminal.run("providers", "add", "gitlab", "--client-id", "c")
        #expect(add.status == 8 && add.errors.contains("flat form"), "\(add.errors)")
        #expect(try text(terminal.settings) == flat)
        terminal.set("LODGE_SETTINGS", nil)
        let folder = terminal.folder.appending(path: ".config/lodge")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try "<plist/>".write(to: folder.appending(path: "settings.plist"), atomically: true, encoding: .utf8)
        let shaded = await terminal.run("providers", "add", "gitlab", "--client-id", "c")
        #expect(shaded.status == 8 && shaded.errors.contains("cannot edit property lists"))
        #expect(!FileManager.default.fileExists(atPath: folder.appending(path: "settings.json").path))
    }

    @Test func `a type with accounts is not removed`() async throws {
        let terminal = try await Terminal()
        _ = await terminal.run("sign-in")
        let used = await terminal.run("providers", "remove", "local")
        #expect(used.status == 1 && used.errors.contains("hint: lodge sign-out --all --type local"))
        #expect(try Settings(contentsOf: terminal.settings)["local"] != nil)
        #expect(await terminal.run("sign-out", "--all", "--type", "local").status == 0)
        #expect(await terminal.run("providers", "remove", "local").status == 0)
        #expect(!FileManager.default.fileExists(atPath: terminal.settings.path), "no type remains in the file")
    }

    // MARK: register

    private static let registered = """
        {"client_id": "s6", "client_secret": "cf136dc3c1fc93f31185e5885805d", "client_secret_expires_at": 0,
        "redirect_uris": ["http://127.0.0.1/callback"], "token_endpoint_auth_method": "client_secret_post",
        "scope": "openid profile", "registration_client_uri": "ISSUER/register/s6",
        "registration_access_token": "reg-23410913-abewfq.123483"}
        """
    private static let secrets = ["cf136dc3c1fc93f31185e5885805d", "reg-23410913-abewfq.123483"]

    private func files(_ folder: URL) throws -> [URL] {
        try FileManager.default.subpathsOfDirectory(atPath: folder.path).map { folder.appending(path: $0) }
    }

    @Test func `a registered client is saved and later deleted`() async throws {
        let terminal = try await Terminal()
        let provider = try ScriptedProvider()
        provider.describe()
        provider.answer("/register", 201, Self.registered)
        provider.answer("DELETE /register/s6", 204, "")
        let add = await terminal.run(
            "providers", "add", "company", "--issuer", provider.issuer, "--register", "--register-with",
            #"{"client_confidential": false, "contacts": ["ada@x.example"]}"#, "--debug")
        #expect(add.status == 0, "\(add.errors)")
        #expect(add.errors.contains("Registered the client s6 at \(provider.issuer).\n"))
        #expect(add.errors.contains("The provider did not register the scopes offline_access: lodge omits them.\n"))
        let request = try #require(provider.requests("/register").first)
        let asked = try #require(try JSONValue(parsing: request.body).object)
        #expect(asked["redirect_uris"] == ["http://127.0.0.1/callback"] && asked["application_type"] == "native")
        #expect(asked["scope"] == "openid profile offline_access" && asked["client_confidential"] == false)
        #expect(request.fields["Authorization"] == nil)

        let type = try #require(try Settings(contentsOf: terminal.settings)["company"])
        #expect(type.clientID == "s6" && type.clientAuthentication == .clientSecretPost)
        #expect(type.scope.text == "openid profile")
        #expect(try mode(terminal.settings) == 0o600)
        for secret in Self.secrets { #expect(!add.errors.contains(secret) && !add.output.contains(secret)) }
        // No file contains the registration access token in clear text.
        for file in try files(terminal.folder) where !file.hasDirectoryPath {
            let bytes = (try? Data(contentsOf: file)) ?? Data()
            #expect(bytes.range(of: Data("reg-23410913".utf8)) == nil, "\(file.path)")
        }

        let remove = await terminal.run("providers", "remove", "company", "--debug")
        #expect(remove.status == 0, "\(remove.errors)")
        #expect(remove.errors.contains("Deleted the client s6 at \(provider.issuer).\n"))
        let deletion = try #require(provider.requests("/register/s6").first)
        #expect(deletion.method == .delete && deletion.fields["Authorization"] == "Bearer reg-23410913-abewfq.123483")
        for secret in Self.secrets { #expect(!remove.errors.contains(secret)) }
        #expect(try Settings(contentsOf: terminal.settings).types.map(\.name) == ["local"])
    }

    @Test func `a registration omits scopes that the provider does not list, and so does the new type`() async throws {
        let terminal = try await Terminal()
        let provider = try ScriptedProvider()
        provider.describe(#", "scopes_supported": ["openid", "profile", "email"]"#)
        provider.answer("/register", 201, #"{"client_id": "s6", "client_secret": "cf136dc3c1fc93f31185e5885805d"}"#)
        let add = await terminal.run("providers", "add", "company", "--issuer", provider.issuer, "--register")
        #expect(add.status == 0, "\(add.errors)")
        #expect(add.errors.contains("The provider does not list the scopes offline_access: lodge omits them.\n"))
        let request = try #require(provider.requests("/register").first)
        #expect(try JSONValue(parsing: request.body).object?["scope"] == "openid profile")
        let type = try #require(try Settings(contentsOf: terminal.settings)["company"])
        #expect(type.scope.text == "openid profile")
    }

    @Test(arguments: [
        (#"["client_secret_post", "none"]"#, "none"),
        (#"["client_secret_basic", "client_secret_post"]"#, "client_secret_post"),
        (#"["client_secret_basic"]"#, "client_secret_basic"),
        (#"["private_key_jwt", "client_secret_post"]"#, "client_secret_post"), (#"["private_key_jwt"]"#, "none"),
        (nil, "client_secret_basic"),
    ])
    func `a client is registered with an authentication method that the provider lists`(
        listed: String?, requested: String
    ) async throws {
        let terminal = try await Terminal()
        let provider = try ScriptedProvider()
        provider.describe(listed.map { #", "token_endpoint_auth_methods_supported": "# + $0 } ?? "")
        provider.answer("/register", 201, #"{"client_id": "s6", "client_secret": "cf136dc3c1fc93f31185e5885805d"}"#)
        for words in [[], ["--register-with", #"{"token_endpoint_auth_method": "none"}"#]] {
            let add = await terminal.run(
                words: ["providers", "add", "company\(words.count)", "--issuer", provider.issuer, "--register"] + words)
            #expect(add.status == 0, "\(add.errors)")
        }
        let methods = try provider.requests("/register").map {
            try JSONValue(parsing: $0.body).object?["token_endpoint_auth_method"]?.string
        }
        #expect(methods == [requested, "none"])
        // The response has a secret but no authentication method.
        let type = try #require(try Settings(contentsOf: terminal.settings)["company0"])
        #expect(type.clientAuthentication?.rawValue == (requested == "none" ? "client_secret_basic" : requested))
    }

    @Test func `a public client is registered with an initial access token`() async throws {
        let terminal = try await Terminal()
        let provider = try ScriptedProvider()
        provider.describe()
        // Glewlwyd responds with 200 instead of 201, and with an authentication method that requires a secret.
        provider.answer("/register", 200, #"{"client_id": "p1", "token_endpoint_auth_method": "client_secret_basic"}"#)
        let token = terminal.folder.appending(path: "token")
        try "initial-token\n".write(to: token, atomically: true, encoding: .utf8)
        let add = await terminal.run(
            "providers", "add", "mine", "--provider", "glewlwyd", "--issuer", provider.issuer, "--register",
            "--registration-token-file", token.path)
        #expect(add.status == 0, "\(add.errors)")
        let request = try #require(provider.requests("/register").first)
        #expect(request.fields["Authorization"] == "Bearer initial-token")
        #expect(try JSONValue(parsing: request.body).object?["client_confidential"] == false)
        let type = try #require(try Settings(contentsOf: terminal.settings)["mine"])
        #expect(
            type.clientID == "p1" && type.clientSecret == nil
                && type.clientAuthentication == AccountType.AuthenticationMethod.none)
        let remove = await terminal.run("providers", "remove", "mine")
        #expect(remove.status == 0 && remove.errors.contains("does not support deletion"), "\(remove.errors)")
    }

    @Test(arguments: [
        (
            400, #"{"error": "invalid_redirect_uri", "error_description": "no loopback here"}"#, 1, "no loopback here",
            "--redirect-uri"
        ),
        (400, #"{"error": "invalid_client_metadata"}"#, 1, "invalid_client_metadata", "--register-with"),
        (401, "", 5, "HTTP status 401", "--registration-token-file"), (503, "", 6, "HTTP status 503", "--client-id"),
        (201, "{}", 1, "client_id is missing", "--client-id"),
        (
            201, #"{"client_id": "s6", "registration_access_token": "x"}"#, 1, "registration_client_uri",
            "has the client s6 now"
        ),
        (
            201, #"{"client_id": "s6", "token_endpoint_auth_method": "tls_client_auth"}"#, 1, "tls_client_auth",
            "--register-with"
        ),
        (
            201, #"{"client_id": "s6", "token_endpoint_auth_method": "tls_client_auth"}"#, 1, "tls_client_auth",
            "keeps the client s6"
        ),
    ])
    func `a rejected registration changes no settings`(
        answer: Int, body: String, status: Int32, reason: String, hint: String
    ) async throws {
        let terminal = try await Terminal()
        let old = try text(terminal.settings)
        let provider = try ScriptedProvider()
        provider.describe()
        provider.answer("/register", answer, body)
        let add = await terminal.run("providers", "add", "company", "--issuer", provider.issuer, "--register")
        #expect(add.status == status, "\(add.errors)")
        let error = add.errors.split(separator: "\n", maxSplits: 1).map(String.init)
        #expect(error[0].contains(reason) && error[1].contains(hint), "\(add.errors)")
        #expect(try text(terminal.settings) == old)
    }

    @Test func `a registered client is deleted if its type cannot be saved`() async throws {
        let terminal = try await Terminal()
        let provider = try ScriptedProvider()
        provider.describe()
        provider.answer("/register", 201, Self.registered)
        provider.answer("DELETE /register/s6", 204, "")
        // This store cannot be opened.
        terminal.set("LODGE_STORE", terminal.settings.path)
        let old = try text(terminal.settings)
        let add = await terminal.run("providers", "add", "company", "--issuer", provider.issuer, "--register")
        #expect(add.status == 9, "\(add.errors)")
        #expect(add.errors.contains("has been deleted again"))
        #expect(provider.requests("/register/s6").map(\.method) == [.delete])
        #expect(try text(terminal.settings) == old)
    }

    @Test(arguments: [(204, 0), (200, 0), (401, 0), (404, 0), (403, 5), (503, 6), (500, 6), (302, 1)])
    func `a type remains until the provider has deleted its client`(answer: Int, status: Int32) async throws {
        let terminal = try await Terminal()
        let provider = try ScriptedProvider()
        provider.describe()
        provider.answer("/register", 201, Self.registered)
        #expect(
            await terminal.run("providers", "add", "company", "--issuer", provider.issuer, "--register").status == 0)
        provider.answer("DELETE /register/s6", answer, "")
        let remove = await terminal.run("providers", "remove", "company")
        #expect(remove.status == status, "\(remove.errors)")
        #expect((try Settings(contentsOf: terminal.settings)["company"] == nil) == (status == 0))
        if status != 0 {
            #expect(remove.errors.contains("--local"))
            let local = await terminal.run("providers", "remove", "company", "--local")
            #expect(local.status == 0 && local.errors.contains("remains registered"), "\(local.errors)")
        }
    }

    @Test func `a provider without client registration is an error before any change`() async throws {
        let terminal = try await Terminal()
        let provider = try ScriptedProvider()
        provider.answer(
            ScriptedProvider.metadata,
            #"{"issuer": "ISSUER", "authorization_endpoint": "ISSUER/authorize", "token_endpoint": "ISSUER/token"}"#)
        let add = await terminal.run("providers", "add", "company", "--issuer", provider.issuer, "--register")
        #expect(add.status == 8 && add.errors.contains("does not offer client registration"))
        #expect(add.errors.contains("--client-id"))
    }
}
