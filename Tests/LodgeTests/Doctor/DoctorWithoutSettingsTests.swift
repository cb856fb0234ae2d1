import Foundation
import LocalProvider
import OAuth2AccountStore
import StrictJSON
import Testing

@testable import CommandLineKit
@testable import lodge

/// Tests `doctor` with incomplete settings.
@MainActor @Suite struct DoctorWithoutSettingsTests {
    private func found(_ transcript: Terminal.Transcript) throws -> [JSONObject] {
        try #require(try JSONValue(parsing: transcript.output).array).compactMap(\.object)
    }

    @Test func `doctor reports unreadable settings and continues with the other checks`() async throws {
        let terminal = try await Terminal()
        _ = await terminal.run("sign-in")
        try terminal.write(settings: #"{"types": {"local": {"#)
        let answer = await terminal.run("doctor", "-o", "json")
        #expect(answer.status == 8, "\(answer.errors)")
        let findings = try found(answer)
        #expect(findings.map { $0["check"]?.string } == ["settings", "proxy", "store", "key", "locks", "accounts"])
        #expect(findings.first?["found"]?.string?.contains("ends inside an object") == true)
        #expect(findings.first?["remedy"] != nil && findings.first?["status"] == 8)
        #expect(findings.last?["of"] == "ada@contoso.example" && findings.last?["state"] == "ok")
    }

    @Test func `without settings doctor reports the same error as every command`() async throws {
        let terminal = try await Terminal()
        terminal.set("LODGE_SETTINGS", nil)
        let search = await terminal.run("search", "ada", "-o", "json")
        let told = try #require(try JSONValue(parsing: search.errors).object?["error"]?.object)
        let answer = await terminal.run("doctor", "-o", "json")
        let first = try #require(try found(answer).first)
        #expect(first["found"] == told["reason"] && first["remedy"] == told["hint"] && answer.status == 8)
        let sync = await terminal.run("sync", "-o", "json")
        #expect(sync.errors == search.errors)
    }

    @Test func `doctor names a port in use and the command that shows its process`() async throws {
        let terminal = try await Terminal()
        let port = terminal.provider.port
        try terminal.write(
            settings: terminal.nested.replacing("127.0.0.1/callback", with: "127.0.0.1:\(port)/callback"))
        let answer = await terminal.run("doctor")
        #expect(
            answer.status == 8 && answer.output.contains("redirect\tproblem\tlocal\tport \(port)"), "\(answer.output)")
        let line = try #require(answer.lines.first { $0.hasPrefix("redirect") })
        #if os(Linux)
            #expect(line.contains("ss -ltnp 'sport = :\(port)'"))
        #endif
        let signIn = await terminal.run("sign-in")
        #expect(signIn.status == 8 && signIn.errors.contains(":\(port)"), "\(signIn.errors)")
    }

    @Test func `doctor names the variable of an invalid proxy URL`() async throws {
        let terminal = try await Terminal()
        terminal.set("https_proxy", "http://")
        let answer = await terminal.run("doctor", "--offline")
        #expect(answer.status == 8 && answer.output.contains("unset https_proxy"), "\(answer.output)")
    }

    @Test func `with an unavailable keyring the key remains in its file`() async throws {
        let terminal = try await Terminal()
        terminal.set("DBUS_SESSION_BUS_ADDRESS", nil)
        _ = await terminal.run("sign-in")
        let moved = await terminal.run("config", "set", "key-custody", "secret-service")
        #expect(moved.status == 9, "\(moved.errors)")
        #expect(!moved.errors.contains("key-custody key-file"), "\(moved.errors)")
        #expect(await terminal.run("accounts").status == 0)
        let slip = await terminal.run("config", "set", "key-custody", "keyrng")
        #expect(slip.status == 2 && slip.errors.contains("hint: did you mean "), "\(slip.errors)")
    }
}

@MainActor @Suite struct SalvageTests {
    private func damage(_ terminal: Terminal, at offset: UInt64, _ count: Int) throws {
        let file = try FileHandle(forWritingTo: terminal.store.appending(path: "accounts.sqlite"))
        try file.seek(toOffset: offset)
        try file.write(contentsOf: Data(repeating: 0xEE, count: count))
        try file.close()
    }

    @Test func `salvage copies no undamaged store and creates no missing one`() async throws {
        let terminal = try await Terminal()
        #expect(await terminal.run("accounts", "salvage").status == 3)
        #expect(!FileManager.default.fileExists(atPath: terminal.store.path))
        _ = await terminal.run("sign-in")
        let whole = await terminal.run("accounts", "salvage", "--replace")
        #expect(whole.status == 0 && whole.errors.contains("nothing to salvage"), "\(whole.errors)")
    }

    @Test func `the hint to repair a store names the store`() async throws {
        let terminal = try await Terminal()
        let store = terminal.folder.appending(path: "Ada's store").path
        #expect(await terminal.run("sign-in", "--store", store).status == 0)
        try Data("this is not a database, but a file of the user".utf8).write(
            to: URL(filePath: store + "/accounts.sqlite"))
        let word = "--store='" + store.replacing("'", with: "'\\''") + "'"
        let accounts = await terminal.run("accounts", "--store", store)
        #expect(
            accounts.status == 9 && accounts.errors.contains("lodge accounts salvage \(word)"), "\(accounts.errors)"
        )
        let doctor = await terminal.run("doctor", "--offline", "--store", store)
        #expect(doctor.status == 9 && doctor.output.contains("lodge accounts salvage \(word)"), "\(doctor.output)")
        terminal.set("LODGE_STORE", store)
        let other = await terminal.run("accounts")
        #expect(
            other.errors.contains("lodge accounts salvage") && !other.errors.contains("--store="), "\(other.errors)"
        )
        #expect(RemedyText(store: "/a/b-1").hint("\(run: "doctor")").description == "lodge doctor --store=/a/b-1")
    }

    @Test func `salvage copies the readable records, and --replace uses the copy as the store`() async throws {
        let terminal = try await Terminal()
        _ = await terminal.run("sign-in")
        // Find a page whose header can be lost without the account: an index page or a list of free pages.
        let location = terminal.store.appending(path: "accounts.sqlite").path
        let pages = try Data(contentsOf: URL(filePath: location)).count / 4096
        var isDamaged = false
        for page in stride(from: pages - 1, through: 1, by: -1) where !isDamaged {
            let whole = try Data(contentsOf: URL(filePath: location))
            try damage(terminal, at: UInt64(page * 4096), 16)
            let copy = await terminal.run("accounts", "salvage", "-o", "json")
            let report = try? JSONValue(parsing: copy.output).object
            isDamaged = copy.status == 0 && report?["opening"] == 1
            if !isDamaged {
                try? FileManager.default.removeItem(at: terminal.store.appending(path: "accounts.salvaged.sqlite"))
                try whole.write(to: URL(filePath: location))
                try #require(chmod(location, 0o600) == 0)
            }
        }
        try #require(isDamaged, "no page could be damaged so that the account stays")
        let doctor = await terminal.run("doctor", "--offline")
        #expect(doctor.status == 9 && doctor.output.contains("lodge accounts salvage"), "\(doctor.output)")
        // An existing copy is not overwritten.
        let again = await terminal.run("accounts", "salvage", "--replace")
        #expect(again.status == 9 && again.errors.contains("not overwritten"), "\(again.errors)")
        try FileManager.default.removeItem(at: terminal.store.appending(path: "accounts.salvaged.sqlite"))
        // With the key of another store the record is copied, but its account cannot be opened.
        let other = terminal.folder.appending(path: "other")
        #expect(await terminal.run("sign-in", "--store", other.path).status == 0)
        let key = terminal.store.appending(path: "accounts.key")
        let own = try Data(contentsOf: key)
        try Data(contentsOf: other.appending(path: "accounts.key")).write(to: key)
        try #require(chmod(key.path, 0o600) == 0)
        let lost = await terminal.run("accounts", "salvage", "--quiet")
        #expect(lost.status == 1 && lost.errors == "1 account is lost. To restore it, sign in again.\n", "\(lost)")
        try own.write(to: key)
        try #require(chmod(key.path, 0o600) == 0)
        try FileManager.default.removeItem(at: terminal.store.appending(path: "accounts.salvaged.sqlite"))
        let damaged = try Data(contentsOf: URL(filePath: location))
        let used = await terminal.run("accounts", "salvage", "--replace", "-o", "json")
        let report = try #require(try JSONValue(parsing: used.output).object)
        #expect(used.status == 0 && report["file"]?.string == location && report["records"] == 1, "\(used.output)")
        let kept = try #require(report["damaged"]?.string)
        #expect(try Data(contentsOf: URL(filePath: kept)) == damaged)
        #expect(await terminal.run("accounts").output.contains("ada@contoso.example"))
        #expect(await terminal.run("doctor", "--offline").status == 0)
        #expect(await terminal.run("token").status == 0)
    }
}
