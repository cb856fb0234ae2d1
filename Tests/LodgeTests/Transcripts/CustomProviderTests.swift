import Foundation
import HTTPExchange
import LoopbackHTTP
import StrictJSON
import TestSupport
import Testing

@testable import CommandLineKit
@testable import lodge

// A newcomer adds a company's provider with the help alone.
@MainActor @Suite struct CustomProviderTests {
    private func newcomer() async throws -> Terminal {
        let terminal = try await Terminal()
        terminal.set("LODGE_SETTINGS", nil)
        return terminal
    }

    /// Starts a provider with wrong metadata, on a free port.
    private func server(_ respond: @escaping @Sendable (_ path: String, _ base: String) -> LoopbackResponse) throws -> (
        LoopbackListener, String
    ) {
        let listener = try LoopbackListener(host: "127.0.0.1", port: 0) { request in
            return respond(request.path, "http://\(request.host)")
        }
        return (listener, "http://127.0.0.1:\(listener.port)")
    }

    private nonisolated static func metadata(_ issuer: String) -> LoopbackResponse {
        let text = """
            {"issuer":"\(issuer)","authorization_endpoint":"\(issuer)/a","token_endpoint":"\(issuer)/t",
            "jwks_uri":"\(issuer)/k","response_types_supported":["code"]}
            """
        return LoopbackResponse(status: 200, fields: ["Content-Type": "application/json"], body: Data(text.utf8))
    }

    @Test func `each example in the help of providers add works`() async throws {
        let terminal = try await newcomer()
        let issuer = "\(terminal.provider.issuer)"
        let secret = terminal.folder.appending(path: "secret")
        try "s".write(to: secret, atomically: true, encoding: .utf8)
        let certificate = try SampleCertificate.path("app.pem")
        #expect(ProviderAddition.command.spec.examples.count >= 4)
        for example in ProviderAddition.command.spec.examples {
            let words = example.line.split(separator: " ").dropFirst().map { word -> String in
                switch word {
                case "https://id.example": issuer
                case "URL": "\(issuer)/scim/v2"
                case "FILE": secret.path
                case "app.pem": certificate
                case "ID": "lodge"
                default: String(word)
                }
            }
            let added = await terminal.run(words: words)
            #expect(added.status == 0, "\(example.line): \(added.errors)")
            let name = try #require(added.errors.firstMatch(of: /To sign in: lodge sign-in (\S+)/)).output.1
            if name == "company" {
                #expect(await terminal.run("sign-in", "company").status == 0)
                let me = await terminal.run("me", "--type", "company")
                #expect(me.status == 0 && me.output.contains("Ada Lovelace"), "\(example.line): \(me.errors)")
                #expect(await terminal.run("sign-out", "--type", "company").status == 0)
            }
            if name == "hr" {
                let token = await terminal.run("sign-in", "hr", "--with-token", input: "token\n")
                #expect(token.status == 0, "\(example.line): \(token.errors)")
                #expect(await terminal.run("accounts", "remove", "hr").status == 0)
            }
            #expect(await terminal.run("providers", "remove", String(name)).status == 0)
        }
    }

    @Test func `me without a directory prints the claims of userinfo`() async throws {
        let terminal = try await newcomer()
        let added = await terminal.run(
            "providers", "add", "company", "--issuer", "\(terminal.provider.issuer)", "--register")
        #expect(added.status == 0, "\(added.errors)")
        #expect(await terminal.run("sign-in").status == 0)
        let me = await terminal.run("me")
        #expect(me.status == 0 && me.errors.isEmpty, "\(me.errors)")
        #expect(me.lines.prefix(2) == ["Name\tAda Lovelace", "User name\tada@contoso.example"], "\(me.output)")
        let object = try #require(try JSONValue(parsing: await terminal.run("me", "-o", "json").output).object)
        #expect(object["name"] == "Ada Lovelace" && object["sub"]?.string?.isEmpty == false)
        let csv = await terminal.run("me", "-o", "csv").output.split(whereSeparator: \.isNewline)
        #expect(csv.first?.hasPrefix("sub,name,") == true && csv.count == 2, "\(csv)")
        #expect(await terminal.run("me", "-o", "vcard").output.contains("FN:Ada Lovelace"))
        let search = await terminal.run("search", "ada")
        #expect(search.status == 8 && search.errors.contains("the account type company has no directory"))
        #expect(search.errors.contains("run: lodge me"), "\(search.errors)")
        #expect(
            search.errors.contains("\"directory\" (graph, scim or google) and \"directoryBase\""), "\(search.errors)")
        // Without the userinfo endpoint, the claims of the ID token.
        let file = terminal.folder.appending(path: ".config/lodge/settings.json")
        let text = try String(contentsOf: file, encoding: .utf8)
        try text.replacing(
            "\"issuer\":", with: "\"userinfoEndpoint\": \"\(terminal.provider.issuer)/none\", \"issuer\":"
        ).write(to: file, atomically: false, encoding: .utf8)
        let claims = await terminal.run("me")
        #expect(claims.status == 0 && claims.output.contains("Name\tAda Lovelace"), "\(claims.errors)")
        #expect(claims.errors.contains("These are the claims of the ID token."), "\(claims.errors)")
    }

    @Test func `an issuer that the metadata spells differently is suggested, and the settings do not change`()
        async throws
    {
        let (listener, base) = try server { path, base in
            path.hasPrefix("/realm/") ? Self.metadata(base + "/realm/") : LoopbackResponse(status: 404)
        }
        defer { listener.close() }
        let terminal = try await newcomer()
        for issuer in ["\(base)/realm", "\(base)/realm/.well-known/openid-configuration", "\(base)/realm/login"] {
            for words in [["--register"], ["--client-id", "c"]] {
                let added = await terminal.run(words: ["providers", "add", "company", "--issuer", issuer] + words)
                #expect(added.status == 1, "\(added.errors)")
                #expect(added.errors.hasPrefix("lodge: cannot use the issuer \(issuer): "), "\(added.errors)")
                #expect(
                    added.errors.contains("hint: this issuer works: --issuer '\(base)/realm/'\n"), "\(added.errors)")
            }
            let check = await terminal.run("providers", "check", "--issuer", issuer)
            #expect(check.errors.contains("hint: lodge providers check --issuer '\(base)/realm/'\n"), "\(check.errors)")
        }
        #expect(!FileManager.default.fileExists(atPath: terminal.folder.path + "/.config"))
        let added = await terminal.run("providers", "add", "company", "--issuer", "\(base)/realm/", "--client-id", "c")
        #expect(added.status == 0, "\(added.errors)")
    }

    @Test func `the error for an unusable issuer does not name a settings file`() async throws {
        let (listener, base) = try server { path, base in
            if path.hasPrefix("/page") {
                return LoopbackResponse(
                    status: 200, fields: ["Content-Type": "text/html"], body: Data("<html><p>Welcome</p></html>".utf8))
            }
            return path.hasPrefix("/evil") ? Self.metadata(base + "/none") : LoopbackResponse(status: 404)
        }
        defer { listener.close() }
        let terminal = try await newcomer()
        let rows: [(issuer: String, status: Int32, reason: String)] = [
            ("\(base)/nothing", 1, "HTTP status 404"), ("\(base)/page", 7, "A web page"),
            ("\(base)/evil", 1, "belongs to the issuer"),
            ("http://127.0.0.1:1", 7, "No server accepted the connection"),
        ]
        for row in rows {
            let added = await terminal.run("providers", "add", "company", "--issuer", row.issuer, "--client-id", "c")
            #expect(added.status == row.status && added.errors.contains(row.reason), "\(added.errors)")
            #expect(
                added.errors.contains("cannot use the issuer") && added.errors.contains("\nhint: "), "\(added.errors)")
            #expect(
                !added.errors.contains("settings.json") && !added.errors.contains("issuer works"), "\(added.errors)")
        }
        #expect(!FileManager.default.fileExists(atPath: terminal.folder.path + "/.config"))
        let offline = await terminal.run(
            "providers", "add", "company", "--issuer", "http://127.0.0.1:1", "--client-id", "c", "--offline")
        #expect(offline.status == 0, "\(offline.errors)")
    }

    @Test func `me names the missing scope if the provider requires openid for userinfo`() async throws {
        let terminal = try await Terminal()
        let type = terminal.nested.replacing("\"openid\", \"profile\", ", with: "")
        try terminal.write(settings: type.replacing("\"graphAPI\": \"\(terminal.provider.graphBase)\",", with: ""))
        #expect(await terminal.run("sign-in").status == 0)
        let me = await terminal.run("me")
        #expect(me.status == 4 && me.output.isEmpty)
        #expect(me.errors.contains("the provider requires the scope openid, which the account does not have"), "\(me)")
        #expect(me.errors.contains("hint: lodge sign-in local --scope 'offline_access"), "\(me)")
        #expect(me.errors.contains(" openid'\n"), "\(me)")
    }
}
