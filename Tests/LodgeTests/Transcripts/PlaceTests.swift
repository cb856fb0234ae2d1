import FleetStorage
import Foundation
import LocalProvider
import OAuth2AccountStore
import StrictJSON
import Testing

@testable import CommandLineKit
@testable import lodge

/// The locations of settings and accounts, and that reading creates neither.
@MainActor @Suite struct PlaceTests {
    // MARK: Without a home

    @Test(arguments: [nil, "", "relative/home"])
    func `without an absolute HOME there is no default settings file`(home: String?) async throws {
        let terminal = try await Terminal()
        terminal.set("LODGE_SETTINGS", nil)
        terminal.set("HOME", home)
        let words = "HOME is not set to an absolute path"
        let path = await terminal.run("config", "path")
        #expect(path.status == 8 && path.output.isEmpty && path.errors.contains(words), "\(path)")
        #expect(path.errors.contains("hint: ") && path.errors.contains("--settings"))
        let add = await terminal.run("providers", "add", "mine", "--issuer", "http://127.0.0.1:1", "--client-id", "c")
        #expect(add.status == 8 && add.errors.contains(words), "\(add)")
        let remove = await terminal.run("providers", "remove", "mine")
        #expect(remove.status == 8 && remove.errors.contains(words), "\(remove)")
        let me = await terminal.run("me")
        #expect(me.status == 8 && me.errors.contains(words), "\(me)")
        // Commands without a settings file still work.
        #expect(await terminal.run("providers").status == 0)
        let list = await terminal.run("config", "list")
        #expect(list.status == 0 && list.output.contains("settings\t\t\(words)"), "\(list)")
        for location in [".config", "relative"] { #expect(!FileManager.default.fileExists(atPath: location)) }
    }

    // MARK: With PostgreSQL

    @Test func `a password in --store is rejected and never printed`() async throws {
        guard (try? PostgreSQLStorage(connection: "")) != nil else { return }
        let terminal = try await Terminal()
        for words in [["status"], ["config"], ["doctor", "--offline"], ["sign-in"], ["accounts", "salvage"]] {
            let answer = await terminal.run(words: words + ["--store", "postgresql://ada:geheim@127.0.0.1:1/db"])
            #expect(answer.status == 2 && answer.errors.contains("--store contains a password"), "\(answer)")
            #expect(!(answer.output + answer.errors).contains("geheim"))
        }
        terminal.set("LODGE_STORE", "postgresql://ada:geheim@127.0.0.1:1/db")
        let answer = await terminal.run("config", "get", "store")
        #expect(answer.output == "postgresql://ada@127.0.0.1:1/db (schema oauth2_accounts)\n", "\(answer)")
        let status = await terminal.run("status")
        #expect(status.status == 9 && status.errors.contains("check that the server is running"), "\(status)")
        #expect(!(status.output + status.errors).contains("geheim"))
    }

    // MARK: Without a store

    @Test func `commands that only read create no store`() async throws {
        let terminal = try await Terminal()
        for (words, status) in [
            (["doctor", "--offline"], 0), (["accounts"], 3), (["accounts", "show", "nobody"], 3), (["status"], 0),
            (["token"], 4), (["me"], 4), (["accounts", "use", "ada"], 3), (["sign-out"], 4),
            (["accounts", "export"], 2),
            (["accounts", "remove", "ada"], 3), (["token", "--header"], 4), (["request", "GET", "/me"], 4),
            (["search", "ada", "-o", "mutt"], 4), (["sync"], 4), (["lookup"], 4),
        ] as [([String], Int32)] {
            let answer = await terminal.run(words: words, input: "ada")
            #expect(!FileManager.default.fileExists(atPath: terminal.store.path), "\(words)")
            #expect(answer.status == status, "\(words): \(answer)")
        }
        let doctor = await terminal.run("doctor", "--offline")
        #expect(doctor.output.contains("no store yet") && doctor.output.contains(terminal.store.path), "\(doctor)")
        let status = await terminal.run("status")
        #expect(status.output.contains("\(terminal.store.path)/accounts.sqlite"), "\(status.output)")
        #expect(await terminal.run("sign-in").status == 0)
        #expect(await terminal.run("status").status == 0)
        #expect(await terminal.run("doctor", "--offline").errors == "No problems found.\n")
    }

    @Test func `doctor reports why a store cannot be created`() async throws {
        let terminal = try await Terminal()
        try "a file".write(to: terminal.store, atomically: true, encoding: .utf8)
        let file = await terminal.run("doctor", "--offline")
        #expect(file.status == 9 && file.output.contains("not a directory"), "\(file.output)")
        terminal.set("LODGE_STORE", nil)
        terminal.set("HOME", nil)
        let nowhere = await terminal.run("doctor", "--offline")
        #expect(nowhere.status == 9 && nowhere.output.contains("HOME is not set"), "\(nowhere.output)")
        #expect(await terminal.run("token").status == 9)
    }

    // MARK: Hints

    @Test func `a hint repeats --store and --settings`() async throws {
        let terminal = try await Terminal()
        let store = terminal.folder.appending(path: "other").path
        let settings = terminal.settings.path
        terminal.set("LODGE_SETTINGS", nil)
        let me = await terminal.run("me", "--store", store, "--settings", settings)
        #expect(
            me.errors.contains("hint: lodge sign-in --store=\(store) --settings=\(settings) local\n"),
            "\(me.errors)")
        let status = await terminal.run("status", "--store", store, "--settings", settings)
        #expect(
            status.errors.contains("To sign in: lodge sign-in --store=\(store) --settings=\(settings)\n"),
            "\(status.errors)")
        terminal.set("LODGE_SETTINGS", settings)
        #expect(await terminal.run("sign-in", "--store", store).status == 0)
        terminal.set("LODGE_KEY_CUSTODY", "passphrase")
        let custody = await terminal.run("--store", store, "status")
        #expect(
            custody.status == 9
                && custody.errors.contains("lodge config set --store=\(store) key-custody passphrase"),
            "\(custody.errors)")
        terminal.set("LODGE_KEY_CUSTODY", nil)
        let nobody = await terminal.run("--store", store, "accounts", "show", "nobody")
        #expect(nobody.errors.contains("hint: lodge accounts --store=\(store)\n"), "\(nobody.errors)")
        // Without the options, the hint does not contain them.
        #expect(await terminal.run("me").errors.contains("hint: lodge sign-in local\n"))
    }

    @Test(
        arguments: [
            (
                "\(AccountRemedy.removeAccount(id: "a1")) and \(AccountRemedy.signIn(type: "graph"))",
                "lodge accounts remove --store=/s a1 and lodge sign-in --store=/s graph"
            ),
            ("\(StorageRemedy.chooseStore(.other))", "choose another folder with --store"),
            ("\(StorageRemedy.chooseStore(.any))", "choose a folder with --store or LODGE_STORE"),
            ("lodge help sign-in", "lodge help sign-in"),
            (
                "\(run: "sync") --forget, then \(run: "sync")",
                "lodge sync --store=/s --forget, then lodge sync --store=/s"
            ),
            (
                "to move it: \(KeyRemedy.moveKey(to: .passphrase)); or ask for key-file",
                "to move it: lodge config set --store=/s key-custody passphrase; or ask for key-file"
            ),
            ("\(KeyRemedy.nameDescriptor)", "set LODGE_KEY_CUSTODY=fd:3"),
            ("\(KeyRemedy.namePassphraseFile)", "set LODGE_PASSPHRASE_FILE to a file that contains it"),
            (
                "try again; if the error remains: \(run: "doctor")",
                "try again; if the error remains: lodge doctor --store=/s"
            ),
            ("echo ada@contoso.com | \(run: "lookup")", "echo ada@contoso.com | lodge lookup --store=/s"),
            ("\(SettingsRemedy.listPresets)", "to list the presets, run: lodge providers list"),
            ("\(SettingsRemedy.showPreset("github"))", "for all required values, run: lodge providers show github"),
            ("\(SettingsRemedy.removeType("work"))", "remove the type: lodge providers remove work"),
            ("\(SettingsRemedy.chooseFile)", "use another file with --settings"),
            ("\(StorageRemedy.salvage)", "lodge accounts salvage --store=/s"),
            ("\(AccountRemedy.checkProvider(type: "graph"))", "lodge providers check graph"),
            ("\(AccountRemedy.nameCertificateFile)", "pass its certificate file with --ca-file"),
            ("\(AccountRemedy.extendTimeLimit)", "allow more time with --timeout"),
            (
                "\(AccountRemedy.signIn(type: nil, parameters: [.init(name: "acr_values", value: "gold x")]))",
                "lodge sign-in --store=/s --param 'acr_values=gold x'"
            ),
        ] as [(Hint, String)])
    func `a remedy becomes a command with the store of the command line`(hint: Hint, expected: String) {
        #expect(RemedyText(store: "/s").hint(hint).description == expected)
    }

    @Test func `a sign-in hint without a type gets the type of the command line`() {
        let text = RemedyText(store: "/s", settings: "/t u", type: "graph")
        #expect(
            text.hint("\(AccountRemedy.signIn(type: nil))").description
                == "lodge sign-in --store=/s --settings='/t u' graph")
        #expect(text.hint("\(SettingsRemedy.listPresets)").actions.count == 1)
    }

    // MARK: Tokens that cannot be refreshed

    @Test func `a rejected token without a refresh token needs a sign-in in every command`() async throws {
        let terminal = try await Terminal()
        let added = await terminal.run(
            "sign-in", "--with-token", input: #"{"access_token": "x", "token_type": "Bearer"}"#)
        #expect(added.status == 0, "\(added.errors)")
        // A failed forced refresh is not a rejection: the token remains valid.
        #expect(await terminal.run("token", "--refresh").status == 4)
        #expect(await terminal.run("token").output == "x\n")
        #expect(await terminal.run("status").status == 0)
        #expect(await terminal.run("me").status == 4)
        let status = await terminal.run("status")
        #expect(status.status == 4 && status.output.contains("sign-in needed"), "\(status.output)")
        #expect(await terminal.run("doctor", "--offline").status == 4)
        let token = await terminal.run("token")
        #expect(token.status == 4 && token.output.isEmpty)
        #expect(await terminal.run("sign-in").status == 0)
        #expect(await terminal.run("me").status == 0)
    }

    @Test func `only Microsoft account types suggest Microsoft Graph`() async throws {
        let terminal = try await Terminal()
        try terminal.write(
            settings: """
                {"types": {"local": {"issuer": "\(terminal.provider.issuer)", "clientId": "\(terminal.provider.clientID)",
                "redirectUri": "http://127.0.0.1/callback", "scopes": ["openid", "profile", "offline_access"]},
                "entra": {"authority": "https://login.microsoftonline.com/common", "clientId": "c", "scopes": "openid",
                "redirectUri": "http://127.0.0.1/callback"}}}
                """)
        #expect(await terminal.run("sign-in", "local").status == 0)
        let other = await terminal.run("search", "ada")
        #expect(other.status == 8 && !other.errors.contains("graph.microsoft.com"), "\(other.errors)")
        #expect(
            other.errors.contains(#"add "directory" (graph, scim or google)"#)
                && other.errors.contains(#""directoryBase""#))
        let answer = #"{"access_token": "AT", "token_type": "Bearer"}"#
        #expect(await terminal.run("accounts", "import", "--type", "entra", input: answer).status == 0)
        let entra = await terminal.run("search", "ada", "--type", "entra")
        #expect(entra.status == 8 && entra.errors.contains("https://graph.microsoft.com/"), "\(entra.errors)")
    }
}
