import Foundation
import LodgePlatform
import Testing

@testable import lodge

@Suite struct ForegroundProcessTests {
    private static let environment = ["PATH": "/usr/bin:/bin"]

    private func run(_ script: String, _ process: ForegroundProcess = ForegroundProcess()) async throws -> Int32 {
        try await process.run(["sh", "-c", script], environment: Self.environment).get()
    }

    @Test func `the exit status of the program is passed on, or 128 and its signal`() async throws {
        #expect(try await run("exit 0") == 0)
        #expect(try await run("exit 42") == 42)
        #expect(try await run("kill -TERM $$") == 143)
        #expect(try await run("kill -KILL $$") == 137)
        #expect(try await run(#"test "$PATH" = /usr/bin:/bin && test -z "$HOME""#) == 0)
    }

    @Test func `a program that cannot start is an error`() async {
        let process = ForegroundProcess()
        for (program, code) in [("no-such-program", ENOENT), ("/tmp", EACCES)] {
            let result = await process.run([program], environment: Self.environment)
            #expect(result == .failure(SystemError(code)))
            #expect(!process.receive(SIGTERM))
        }
    }

    @Test(arguments: [SIGTERM, SIGHUP, SIGUSR1]) func `the program gets the signals of its parent`(number: Int32)
        async throws
    {
        let process = ForegroundProcess()
        #expect(!process.receive(number))
        let interruption = Interruption(stores: OpenStores(), program: process) { _ in
            Issue.record("the parent ends")
        } cancel: {
            Issue.record("the parent cancels the command")
        }
        async let status = process.run(["sleep", "600"], environment: Self.environment)
        while !process.receive(0) { await Task.yield() }
        interruption.receive(number)
        #expect(try await status.get() == 128 + number)
        #expect(!process.receive(number))
    }
}
