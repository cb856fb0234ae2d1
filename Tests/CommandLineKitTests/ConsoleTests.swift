import Foundation
import StrictJSON
import Testing

@testable import CommandLineKit

@Suite @MainActor struct ConsoleTests {
    private let error = CommandError(
        .unavailable, "cannot search", reason: "the provider is busy\nhint: \u{1B}[31m", hint: "try again in 30 s",
        code: "tooManyRequests", requestID: "a-b\u{202E}")

    @Test func `an error has one line each for the message, hint, code and request ID`() {
        let captured = CapturedConsole()
        captured.console.report(error)
        #expect(
            captured.errorOutput.text == #"""
                lodge: cannot search: the provider is busy\nhint: \u{1B}[31m
                hint: try again in 30 s
                code: tooManyRequests
                request id: a-b\u{202E}

                """#)
        #expect(captured.output.bytes.isEmpty)
        captured.console.report(CommandError(.notFound, "no results"))
        #expect(captured.errorOutput.text.hasSuffix("\nlodge: no results\n"))
    }

    @Test func `with JSON output an error is an object`() throws {
        var options = ConsoleOptions()
        options.reportsJSON = true
        options.verbosity = .quiet
        let captured = CapturedConsole(options)
        captured.console.report(error)
        let expected: JSONValue = [
            "error": [
                "status": 6, "message": "cannot search", "reason": "the provider is busy\nhint: \u{1B}[31m",
                "hint": "try again in 30 s", "code": "tooManyRequests", "requestId": "a-b\u{202E}",
            ]
        ]
        #expect(try JSONValue(parsing: captured.errorOutput.text) == expected)
        #expect(captured.errorOutput.text.hasSuffix("}\n"))
        #expect(!captured.errorOutput.text.contains("\u{1B}"))
        #expect(CommandError(.failed, "x").json == ["error": ["status": 1, "message": "x"]])
    }

    @Test func `a usage error exits with 2`() {
        let error = CommandError(UsageError(message: "unknown option --x", reason: nil, hint: "lodge help search"))
        #expect(error.status == .usage)
        #expect(error.lines(program: "lodge") == ["lodge: unknown option --x", "hint: lodge help search"])
    }

    @Test func `exit statuses have their documented numbers`() {
        #expect(ExitStatus.allCases.map(\.rawValue) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 126, 127, 130])
    }

    @Test(
        arguments: [
            (["TERM": "xterm"], true, false, true), (["TERM": "xterm"], false, false, false),
            (["TERM": "dumb"], true, false, false), ([:], true, false, false),
            (["TERM": "xterm", "NO_COLOR": "1"], true, false, false),
            (["TERM": "xterm", "NO_COLOR": ""], true, false, true),
            (["TERM": "xterm"], true, true, false), (["CLICOLOR_FORCE": "1"], false, false, true),
            (["CLICOLOR_FORCE": "0"], false, false, false),
            (["CLICOLOR_FORCE": "1", "TERM": "dumb"], true, false, true),
            (["CLICOLOR_FORCE": "1", "NO_COLOR": "1"], true, false, false),
            (["CLICOLOR_FORCE": "1"], true, true, false), (["TERM": "xterm", "CLICOLOR": "0"], true, false, false),
        ] as [([String: String], Bool, Bool, Bool)])
    func `--no-color and NO_COLOR precede CLICOLOR_FORCE, which precedes the terminal`(
        environment: [String: String], isTerminal: Bool, isRefused: Bool, expected: Bool
    ) {
        var options = ConsoleOptions()
        options.disablesColor = isRefused
        let console = CapturedConsole(terminal: isTerminal, environment: environment, options).console
        #expect(console.usesColor == expected)
        #expect(console.errorUsesColor == expected)
    }

    @Test(arguments: [
        (ConsoleOptions.Verbosity.quiet, ""), (.normal, "a\n"), (.verbose, "a\nb\n"), (.debug, "a\nb\nc\\n\n"),
    ])
    func `the verbosity selects the messages`(verbosity: ConsoleOptions.Verbosity, said: String) {
        var options = ConsoleOptions()
        options.verbosity = verbosity
        let captured = CapturedConsole(options)
        captured.console.note("a")
        captured.console.verbose("b")
        captured.console.debug("c\n")
        #expect(captured.errorOutput.text == said)
        #expect(captured.output.bytes.isEmpty)
    }

    @Test func `command-line options configure the console`() throws {
        let options = ConsoleOptions(try parsed("me --quiet --no-color --no-input -o json"))
        #expect(options.verbosity == .quiet)
        #expect(options.disablesColor && options.disablesInput && options.reportsJSON)
        #expect(ConsoleOptions(try parsed("me --debug --verbose")).verbosity == .debug)
        #expect(ConsoleOptions(try parsed("me")) == ConsoleOptions())
    }

    @Test func `a prompt requires a terminal`() {
        #expect(CapturedConsole(terminal: true).console.canPrompt)
        #expect(!CapturedConsole(terminal: false).console.canPrompt)
        var options = ConsoleOptions()
        options.disablesInput = true
        #expect(!CapturedConsole(terminal: true, options).console.canPrompt)
    }

    @Test func `buffered output precedes later messages`() throws {
        let captured = CapturedConsole()
        try captured.console.writeLine("one")
        #expect(captured.output.bytes.isEmpty)
        captured.console.note("two")
        #expect(captured.output.text == "one\n")
        try captured.console.write(String(repeating: "x", count: 100_000))
        #expect(captured.output.bytes.count == 100_004)
    }

    @Test func `a closed output ends the writing without an error`() throws {
        let captured = CapturedConsole()
        captured.output.failure = .closed
        try captured.console.writeLine("one")
        #expect(throws: OutputError.closed) { try captured.console.flush() }
        captured.output.failure = nil
        #expect(throws: OutputError.closed) { try captured.console.writeLine("two") }
        captured.console.note("still heard")
        #expect(captured.errorOutput.text == "still heard\n")
        #expect(OutputError.closed.commandError == nil)
        #expect(
            OutputError.failed(ENOSPC).commandError?.lines(program: "lodge").first?.hasPrefix(
                "lodge: cannot write the output: ")
                == true)
    }

    @Test func `a broken pipe and a full disk are different errors`() throws {
        signal(SIGPIPE, SIG_IGN)
        let pipe = Pipe()
        try DescriptorOutput(pipe.fileHandleForWriting.fileDescriptor).write(Array("abc".utf8))
        #expect(pipe.fileHandleForReading.availableData == Data("abc".utf8))
        try pipe.fileHandleForReading.close()
        #expect(throws: OutputError.closed) {
            try DescriptorOutput(pipe.fileHandleForWriting.fileDescriptor).write([1])
        }
        #expect(throws: OutputError.failed(EBADF)) { try DescriptorOutput(-1).write([1]) }
        if let full = FileHandle(forWritingAtPath: "/dev/full") {
            #expect(throws: OutputError.failed(ENOSPC)) { try DescriptorOutput(full.fileDescriptor).write([1]) }
        }
    }

    @Test func `writing waits for a non-blocking pipe`() async throws {
        let pipe = Pipe()
        let descriptor = pipe.fileHandleForWriting.fileDescriptor
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        let reading = pipe.fileHandleForReading
        let size = 1_000_000
        let thread = Thread {
            var left = size
            while left > 0, let piece = try? reading.read(upToCount: left), !piece.isEmpty { left -= piece.count }
        }
        thread.start()
        try DescriptorOutput(descriptor).write([UInt8](repeating: 7, count: size))
        try pipe.fileHandleForWriting.close()
    }

    @Test func `COLUMNS sets the width of the terminal`() {
        #expect(TerminalState.current(environment: ["COLUMNS": "132"]).columns == 132)
        for wrong in ["0", "-1", "x", "99999999999999999999"] {
            #expect(TerminalState.current(environment: ["COLUMNS": wrong]).columns > 0)
        }
    }
}
