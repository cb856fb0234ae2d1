import Testing

@testable import LodgeAgent

/// Tests which command lines of `exec` the launcher runs itself.
@Suite struct DelegatedExecTests {
    @Test func `simple options select the variable and the token`() throws {
        let plain = try #require(DelegatedExec(["exec", "--", "env", "-i"]))
        #expect(plain.variable == "OAUTH2_ACCESS_TOKEN" && plain.words == ["env", "-i"])
        #expect(plain.token == ["token", "--output", "json"])
        let words = ["exec", "--env", "T", "--account=ada", "--type", "graph", "--", "a", "--", "b"]
        let chosen = try #require(DelegatedExec(words))
        #expect(chosen.variable == "T" && chosen.words == ["a", "--", "b"])
        #expect(chosen.token == ["token", "--output", "json", "--account=ada", "--type=graph"])
    }

    @Test(arguments: [
        ["exec"], ["exec", "env"], ["exec", "--"], ["exec", "--", ""], ["exec", "--azure", "--", "a"],
        ["exec", "--refresh", "--", "a"], ["exec", "--scope", "x", "--", "a"], ["exec", "--env", "--", "a"],
        ["exec", "--env=", "--", "a"], ["exec", "--env", "1A", "--", "a"], ["exec", "--env", "A-B", "--", "a"],
        ["exec", "--debug", "--", "a"], ["exec", "x", "--", "a"], ["--quiet", "exec", "--", "a"], ["token"], [],
    ]) func `the complete program runs all other command lines`(words: [String]) {
        #expect(DelegatedExec(words) == nil)
    }
}
