import Foundation
import LocalProvider
import OAuth2AccountStore
import StrictJSON
import Testing

@testable import directory

@MainActor @Suite struct DoctorTests {
    private func found(_ transcript: Terminal.Transcript) throws -> [JSONObject] {
        try #require(try JSONValue(parsing: transcript.output).array).compactMap(\.object)
    }

    @Test func `all is well after a sign-in`() async throws {
        let terminal = try await Terminal()
        _ = await terminal.run("sign-in")
        let answer = await terminal.run("doctor")
        #expect(answer.status == 0, "\(answer.output)")
        #expect(answer.lines.first == "CHECK\tSTATE\tOF\tFOUND\tREMEDY")
        #expect(answer.errors == "All is well.\n", "\(answer.output)")
        for check in ["settings", "store", "key", "locks", "accounts", "redirect", "network", "discovery", "clock"] {
            #expect(answer.output.contains("\n\(check)\tok\t"), "\(check)")
        }
    }

    @Test func `warnings alone end with 0`() async throws {
        let terminal = try await Terminal()
        let answer = await terminal.run("doctor", "--offline", "-o", "json")
        #expect(answer.status == 0)
        let warning = try #require(try found(answer).first { $0["state"] == "warning" })
        #expect(warning["check"] == "accounts" && warning["remedy"] == "directory sign-in")
    }

    @Test func `a provider that is not there ends with 7`() async throws {
        let terminal = try await Terminal()
        terminal.provider.close()
        let answer = await terminal.run("doctor", "-o", "json")
        #expect(answer.status == 7, "\(answer.output)")
        let problem = try #require(try found(answer).first { $0["state"] == "problem" })
        #expect(problem["check"] == "network" && problem["status"] == 7 && problem["remedy"] != nil)
    }

    @Test func `a store that others can read ends with 9 and the line that mends it`() async throws {
        let terminal = try await Terminal()
        _ = await terminal.run("sign-in")
        #expect(chmod(terminal.store.path, 0o755) == 0)
        let answer = await terminal.run("doctor", "--offline")
        #expect(answer.status == 9 && answer.output.contains("chmod 700"), "\(answer.output)")
    }

    @Test func `wrong settings end with 8, an unknown type too`() async throws {
        let terminal = try await Terminal()
        #expect(await terminal.run("doctor", "--type", "none", "--offline").status == 8)
        try terminal.write(settings: "{")
        let answer = await terminal.run("doctor")
        #expect(answer.status == 8 && answer.errors.contains("hint: "))
    }

    @Test func `a sign-in that is over ends with 4`() async throws {
        let terminal = try await Terminal()
        _ = await terminal.run("sign-in")
        terminal.provider.expireAccessTokens()
        var faults = Faults()
        try faults.add(parsing: "token-invalid-grant")
        terminal.provider.setFaults(faults)
        _ = await terminal.run("search", "ada")
        terminal.provider.setFaults(Faults())
        let answer = await terminal.run("doctor")
        #expect(answer.status == 4 && answer.output.contains("directory sign-in local"), "\(answer.output)")
    }
}
