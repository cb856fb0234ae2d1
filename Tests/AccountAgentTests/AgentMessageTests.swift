import Testing

@testable import AgentProtocol

@Suite struct AgentMessageTests {
    @Test func `each message is the same after it is written and read`() throws {
        let output = RememberedOutput(
            byteCount: 9, validUntil: 1_800_000_000.5, expiry: nil, refreshTime: 1_800_000_000, lifetime: 3600,
            account: "Ada \"\n", type: "graph",
            files: [
                FileStamp(path: "/a b", kind: .database, state: FileStamp.State("1:18446744073709551615:3:4:5")),
                FileStamp(path: "/c", kind: .file, state: nil),
            ])
        for response in [
            WorkerResponse.declined(id: 2), .exit(id: 3, status: 7, output: nil),
            .exit(id: 4, status: 0, output: output),
        ] { #expect(WorkerResponse(response.line.dropLast()) == response) }
        for request in [
            WorkerRequest.run(id: 1, byteCount: 10, validity: nil),
            .run(id: 1, byteCount: 10, validity: 60.5, process: 4711),
            .signal(id: 1, number: 2),
        ] { #expect(WorkerRequest(request.line.dropLast()) == request) }
        for response in [
            AgentResponse.accepted, .output(byteCount: 9), .notMine, .locked, .done,
            .status(["a": 1]),
        ] { #expect(AgentResponse(response.line.dropLast()) == response) }
        let request = CommandLineRequest(
            arguments: ["token", "--account", "ä\n"], environment: ["A=B"], folder: "/", umask: 0o77, terminals: 7,
            identity: ProcessIdentity(program: "1", place: "2"))
        #expect(AgentRequest(request.line.dropLast()) == .run(request))
        #expect(
            AgentRequest(request.listenLine(path: "/run/a \"b\".sock", until: 1.5).dropLast())
                == .listen(request, path: "/run/a \"b\".sock", until: 1.5))
        #expect(AgentRequest(AgentRequest.unlockLine(store: "x").dropLast()) == .unlock(store: "x"))
        #expect(AgentRequest(AgentRequest.line("unlock").dropLast()) == .unlock(store: nil))
        #expect(request.line.filter { $0 == UInt8(ascii: "\n") }.count == 1)
    }

    @Test(arguments: [
        #"{"exit":0}"#, #"{"output":8193}"#, #"{"accepted":false}"#, "{}", "", "[]",
        #"{"output":1e9}"#,
    ]) func `an invalid response is not understood`(line: String) {
        #expect(AgentResponse(Array(line.utf8)) == nil)
    }

    @Test func `the options of the agent are the same after they are written and read`() {
        var options = AgentOptions()
        #expect(AgentOptions(options.text) == options)
        options.lockAfter = 1800
        options.locksOnSleep = true
        options.files = ["/run/a \"b\"", "/c"]
        options.filesCommand = ["credential", "files"]
        options.listeners = [AgentOptions.Listener(descriptor: 5, path: "/d", arguments: ["credential", "oidc-agent"])]
        #expect(AgentOptions(options.text) == options)
        #expect(AgentOptions("[]") == nil && AgentOptions(#"{"listeners": [{}]}"#) == nil)
    }
}
