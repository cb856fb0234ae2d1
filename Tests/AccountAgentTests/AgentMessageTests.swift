import Testing

@testable import AgentProtocol

@Suite struct AgentMessageTests {
    @Test func `each message is the same after it is written and read`() throws {
        let output = RememberedOutput(
            byteCount: 9, validUntil: 1_800_000_000.5, expiry: nil, refreshTime: 1_800_000_000, lifetime: 3600,
            account: "Ada \"\n", type: "graph", files: [FileStamp(path: "/a b", kind: .database, state: "1:2")])
        for response in [
            WorkerResponse.declined(id: 2), .exit(id: 3, status: 7, output: nil),
            .exit(id: 4, status: 0, output: output),
        ] { #expect(WorkerResponse(response.line.dropLast()) == response) }
        for request in [
            WorkerRequest.run(id: 1, byteCount: 10, validity: nil), .run(id: 1, byteCount: 10, validity: 60.5),
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
        #expect(request.line.filter { $0 == UInt8(ascii: "\n") }.count == 1)
    }

    @Test(arguments: [
        #"{"exit":0}"#, #"{"output":8193}"#, #"{"accepted":false}"#, "{}", "", "[]",
        #"{"output":1e9}"#,
    ]) func `an invalid response is not understood`(line: String) {
        #expect(AgentResponse(Array(line.utf8)) == nil)
    }
}
