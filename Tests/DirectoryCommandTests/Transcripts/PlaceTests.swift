import Foundation
import LocalProvider
import OAuth2AccountStore
import StrictJSON
import Testing

@testable import directory

/// Where settings and accounts are looked for, and that a look makes neither.
@MainActor @Suite struct PlaceTests {
    // MARK: Without a home

    @Test(arguments: [nil, "", "relative/home"])
    func `without an absolute HOME there is no settings file of one's own`(home: String?) async throws {
        let terminal = try await Terminal()
        terminal.set("DIRECTORY_SETTINGS", nil)
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
        // What needs no settings file works as before.
        #expect(await terminal.run("providers").status == 0)
        let list = await terminal.run("config", "list")
        #expect(list.status == 0 && list.output.contains("settings\t\t\(words)"), "\(list)")
        for place in [".config", "relative"] { #expect(!FileManager.default.fileExists(atPath: place)) }
    }
}
