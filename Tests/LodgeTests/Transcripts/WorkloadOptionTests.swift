import CurlHTTP
import Foundation
import HTTPExchange
import StrictJSON
import TestSupport
import Testing

@testable import lodge

/// Tests the options for clients without a secret.
@MainActor @Suite struct WorkloadOptionTests {
    private func type(_ name: String, _ terminal: Terminal) throws -> JSONObject? {
        let settings = try JSONValue(parsing: Data(contentsOf: terminal.settings), options: .init(allowsComments: true))
        return settings.object?["types"]?.object?[name]?.object
    }

    @Test func `providers add --certificate writes the files of the certificate and shows its thumbprint`() async throws
    {
        let terminal = try await Terminal()
        let (certificate, key) = (
            try SampleCertificate.path("app-certificate.pem"), try SampleCertificate.path("app-key.pem")
        )
        let added = await terminal.run(
            "providers", "add", "entra-workload", "--client-id", "app", "--set", "tenant=contoso.com", "--certificate",
            certificate, "--key", key, "--chain")
        #expect(added.status == 0, "\(added.errors)")
        #expect(added.errors.contains(try SampleCertificate.thumbprint("app.pem", "sha1")), "\(added.errors)")
        let written = try type("entra-workload", terminal)?["clientAssertion"]?.object?["certificate"]?.object
        #expect(written?["certificate"] == .string(certificate) && written?["key"] == .string(key))
        #expect(written?["chain"] == true)
    }

    @Test func `providers add --key writes the URI of a key in a device unchanged`() async throws {
        let terminal = try await Terminal()
        let words = [
            "providers", "add", "entra-workload", "--client-id", "app", "--set", "tenant=contoso.com", "--certificate",
            try SampleCertificate.path("app-certificate.pem"), "--key",
        ]
        let uri = "pkcs11:token=lodge-no-such-token;object=none"
        // Without the value of the password, the key is not used.
        let added = await terminal.run(words: words + [uri, "--certificate-password-env", "TOKEN_PIN"])
        #expect(added.status == 0, "\(added.errors)")
        let written = try type("entra-workload", terminal)?["clientAssertion"]?.object?["certificate"]?.object
        #expect(written?["key"] == .string(uri))
        #expect(await terminal.run("providers", "remove", "entra-workload").status == 0)

        for (key, status, reason) in [
            (uri, Int32(8), uri), ("pkcs11:object=app?pin-value=8231", 2, "use --certificate-password-env"),
            ("handle:0x81000001?pass", 2, "use --certificate-password-env"), ("handle:1", 2, "handle:0x81000001"),
        ] {
            let rejected = await terminal.run(words: words + [key])
            #expect(rejected.status == status && rejected.errors.contains(reason), "\(rejected.errors)")
            #expect(!rejected.errors.contains("8231") && !rejected.errors.contains("No such file"))
            #expect(try type("entra-workload", terminal) == nil)
        }
    }

    @Test(arguments: [
        ["--federated", "github"], ["--certificate", "app.pem"], ["--client-secret-file", "secret.txt"], ["--chain"],
    ])
    func `--managed-identity cannot be combined with the authentication of a client`(words: [String]) async throws {
        let terminal = try await Terminal()
        let added = await terminal.run(
            words: ["providers", "add", "vm", "--provider", "entra", "--managed-identity"] + words)
        #expect(added.status == 2, "\(added.errors)")
        #expect(added.errors.contains("--managed-identity cannot be combined with \(words[0])"), "\(added.errors)")
        #expect(try type("vm", terminal) == nil)
    }

    @Test func `the password of a certificate stays in its variable`() async throws {
        let terminal = try await Terminal()
        terminal.set("APP_PASSWORD", SampleCertificate.password)
        let file = try SampleCertificate.path("app.pfx")
        let added = await terminal.run(
            "providers", "add", "entra-workload", "--client-id", "app", "--set", "tenant=contoso.com", "--certificate",
            file, "--certificate-password-env", "APP_PASSWORD")
        #expect(added.status == 0, "\(added.errors)")
        let written = try type("entra-workload", terminal)?["clientAssertion"]?.object?["certificate"]?.object
        #expect(written?["pkcs12"] == .string(file))
        #expect(written?["password"]?.object?["environment"] == "APP_PASSWORD")
        let text = try String(contentsOf: terminal.settings, encoding: .utf8)
        #expect(!(text + added.errors).contains(SampleCertificate.password))
    }

    @Test func `providers add --managed-identity needs no client, and takes no secret`() async throws {
        let terminal = try await Terminal()
        let added = await terminal.run("providers", "add", "entra-workload", "--managed-identity")
        #expect(added.status == 0, "\(added.errors)")
        #expect(try type("entra-workload", terminal)?["grant"] == "managedIdentity")
        let wrong = await terminal.run(
            "providers", "add", "entra-workload", "--managed-identity", "--client-secret-env", "SECRET")
        #expect(wrong.status == 2 && wrong.errors.contains("cannot be combined"), "\(wrong.errors)")
    }

    @Test func `serve accepts a client certificate and a service account`() async throws {
        let terminal = try await Terminal()
        let (port, account) = (
            terminal.folder.appending(path: "port"), terminal.folder.appending(path: "account.json")
        )
        let key = try String(decoding: SampleCertificate.bytes("app-key.pem"), as: UTF8.self)
        let content: JSONObject = ["client_email": "app@project.example", "private_key": .string(key)]
        try Data(JSONValue.object(content).text().utf8).write(to: account)
        let client = "app=" + (try SampleCertificate.path("app-certificate.pem"))
        let serving = Task {
            await terminal.run(
                "serve", "--client-certificate", client, "--service-account", account.path, "--port-file", port.path)
        }
        try await until { FileManager.default.fileExists(atPath: port.path) }
        serving.cancel()
        #expect(await serving.value.status == 0)
        let wrong = await terminal.run("serve", "--client-certificate", "app=\(account.path)")
        #expect(wrong.status == 2 && wrong.errors.contains("not a readable PEM file"), "\(wrong.errors)")
        let empty = await terminal.run("serve", "--service-account", port.path)
        #expect(empty.status == 2 && empty.errors.contains("wrong value of --service-account"), "\(empty.errors)")
    }
}
