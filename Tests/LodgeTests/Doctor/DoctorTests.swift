import Foundation
import LocalProvider
import OAuth2AccountStore
import StrictJSON
import Testing

@testable import CommandLineKit
@testable import lodge

@MainActor @Suite struct DoctorTests {
    private func found(_ transcript: Terminal.Transcript) throws -> [JSONObject] {
        try #require(try JSONValue(parsing: transcript.output).array).compactMap(\.object)
    }

    @Test func `doctor finds no problems after a sign-in`() async throws {
        let terminal = try await Terminal()
        _ = await terminal.run("sign-in")
        let answer = await terminal.run("doctor")
        #expect(answer.status == 0, "\(answer.output)")
        #expect(answer.lines.first == "CHECK\tSTATE\tOF\tFOUND\tREMEDY")
        #expect(answer.errors == "No problems found.\n", "\(answer.output)")
        for check in ["settings", "store", "key", "locks", "accounts", "redirect", "network", "discovery", "clock"] {
            #expect(answer.output.contains("\n\(check)\tok\t"), "\(check)")
        }
    }

    @Test func `doctor exits with 0 if it finds only warnings`() async throws {
        let terminal = try await Terminal()
        let answer = await terminal.run("doctor", "--offline", "-o", "json")
        #expect(answer.status == 0)
        let warning = try #require(try found(answer).first { $0["state"] == "warning" })
        #expect(warning["check"] == "accounts" && warning["remedy"] == "lodge sign-in")
    }

    @Test func `doctor exits with 7 if the provider is unreachable`() async throws {
        let terminal = try await Terminal()
        terminal.provider.close()
        let answer = await terminal.run("doctor", "-o", "json")
        #expect(answer.status == 7, "\(answer.output)")
        let problem = try #require(try found(answer).first { $0["state"] == "problem" })
        #expect(problem["check"] == "network" && problem["status"] == 7 && problem["remedy"] != nil)
    }

    @Test func `doctor exits with 9 for a store that others can read and suggests the chmod`() async throws {
        let terminal = try await Terminal()
        _ = await terminal.run("sign-in")
        #expect(chmod(terminal.store.path, 0o755) == 0)
        let answer = await terminal.run("doctor", "--offline")
        #expect(answer.status == 9 && answer.output.contains("chmod 700"), "\(answer.output)")
    }

    @Test func `doctor reads the passphrase of a sealed key from its file`() async throws {
        let terminal = try await Terminal()
        let file = terminal.folder.appending(path: "passphrase")
        try "correct horse\n".write(to: file, atomically: true, encoding: .utf8)
        try #require(chmod(file.path, 0o600) == 0)
        terminal.set("LODGE_PASSPHRASE_FILE", file.path)
        _ = await terminal.run("sign-in")
        let moved = await terminal.run("config", "set", "key-custody", "passphrase")
        #expect(moved.status == 0, "\(moved.errors)")
        let answer = await terminal.run("doctor", "--offline")
        #expect(answer.status == 0 && answer.output.contains("sealed with a passphrase"), "\(answer.output)")
        try "wrong horse\n".write(to: file, atomically: true, encoding: .utf8)
        try #require(chmod(file.path, 0o600) == 0)
        #expect(await terminal.run("doctor", "--offline").status == 9)
    }

    @Test func `the other accounts are listed despite a damaged record, which accounts remove removes`() async throws {
        let terminal = try await Terminal()
        _ = await terminal.run("sign-in")
        terminal.person(.approvesAs("li.ming@contoso.example"))
        _ = await terminal.run("sign-in")
        // Change the record of the current account without the store.
        let storage = SQLiteStorage(directory: StoreLocation(terminal.store.path))
        let current = String(
            decoding: try #require(try await storage.value("current:local")), as: UTF8.self)
        var record = try #require(try await storage.record(current))
        record.revision += 1
        _ = try await storage.replace(record, kind: .profile)

        let status = await terminal.run("status", "-o", "json")
        #expect(status.status == 9)
        let accounts = try #require(try JSONValue(parsing: status.output).object?["accounts"]?.array)
        #expect(accounts.map { $0.object?["userName"] } == ["ada@contoso.example"])
        #expect(accounts.map { $0.object?["active"] } == [false])
        let list = await terminal.run("accounts")
        #expect(list.status == 9 && list.output.contains("ada@contoso.example"), "\(list.errors)")
        #expect(await terminal.run("accounts", "show", "ada@contoso.example").status == 0)
        #expect(await terminal.run("doctor", "--offline").output.contains("lodge accounts remove \(current)"))

        let refreshed = await terminal.run("accounts", "refresh", "--all")
        #expect(refreshed.status == 9 && refreshed.errors.contains("cannot read the record of an account"))
        #expect(terminal.provider.tokenRequestCount(grantType: "refresh_token") == 1)

        let removed = await terminal.run("accounts", "remove", current)
        #expect(removed.status == 0, "\(removed.errors)")
        #expect(await terminal.run("status").status == 0)
        #expect(await terminal.run("doctor", "--offline").status == 0)
    }

    @Test func `the device mode of the settings applies to preset types, and config prints it`() async throws {
        let terminal = try await Terminal()
        #expect(await terminal.run("config", "get", "device-mode").output == "private\n")
        try terminal.write(
            settings: terminal.nested.replacing("{\"types\"", with: "{\"deviceMode\": \"shared\", \"types\""))
        #expect(await terminal.run("config", "get", "device-mode").output == "shared\n")
        let complete = ProviderPreset.all.first { $0.isComplete }
        let preset = try #require(complete)
        for words in [["status", "-o", "json"], ["status", "-o", "json", "--type", preset.name]] {
            let status = await terminal.run(words: words)
            #expect(try JSONValue(parsing: status.output).object?["deviceMode"] == "shared", "\(status.errors)")
        }
    }

    @Test func `accounts export exports one account despite another damaged record`() async throws {
        let terminal = try await Terminal()
        _ = await terminal.run("sign-in")
        terminal.person(.approvesAs("li.ming@contoso.example"))
        _ = await terminal.run("sign-in")
        let storage = SQLiteStorage(directory: StoreLocation(terminal.store.path))
        let current = String(
            decoding: try #require(try await storage.value("current:local")), as: UTF8.self)
        var record = try #require(try await storage.record(current))
        record.revision += 1
        _ = try await storage.replace(record, kind: .profile)
        #expect(await terminal.run("accounts", "export", "--reveal-secrets").status == 9)
        let one = await terminal.run("accounts", "export", "--reveal-secrets", "ada@contoso.example")
        #expect(one.status == 0)
        #expect(try JSONValue(parsing: one.output).object?["accounts"]?.array?.count == 1)
    }

    @Test func `doctor exits with 8 for invalid settings and for an unknown type`() async throws {
        let terminal = try await Terminal()
        #expect(await terminal.run("doctor", "--type", "none", "--offline").status == 8)
        try terminal.write(settings: "{")
        let answer = await terminal.run("doctor")
        #expect(answer.status == 8 && answer.output.contains("correct the file"))
    }

    @Test func `doctor exits with 4 if an account needs a sign-in`() async throws {
        let terminal = try await Terminal()
        _ = await terminal.run("sign-in")
        terminal.provider.expireAccessTokens()
        var faults = InjectedErrors()
        try faults.add(parsing: "token-invalid-grant")
        terminal.provider.setInjectedErrors(faults)
        _ = await terminal.run("search", "ada")
        terminal.provider.setInjectedErrors(InjectedErrors())
        let answer = await terminal.run("doctor")
        #expect(answer.status == 4 && answer.output.contains("lodge sign-in local"), "\(answer.output)")
    }
}
