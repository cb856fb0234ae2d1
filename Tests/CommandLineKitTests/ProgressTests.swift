import Testing

@testable import CommandLineKit

@MainActor @Suite struct ProgressTests {
    /// A manual clock.
    private final class Clock {
        var now = ContinuousClock.now
    }

    private let clock = Clock()

    private func line(_ captured: CapturedConsole) -> ProgressLine {
        let clock = clock
        return ProgressLine(captured.console) { clock.now }
    }

    @Test func `progress appears after 200 ms, ten times per second at most, with a rate and a total`() {
        let captured = CapturedConsole(terminal: true)
        let line = line(captured)
        line.show(5, of: 100, "people")
        clock.now += .milliseconds(199)
        line.show(10, of: 100, "people")
        #expect(captured.errorOutput.bytes.isEmpty)
        clock.now += .milliseconds(1)
        line.show(20, of: 100, "people")
        #expect(captured.errorOutput.text == "\r\u{1B}[K20 of 100 people, 20%, 100 a second")
        clock.now += .milliseconds(99)
        line.show(30, of: 100, "people")
        #expect(captured.errorOutput.text.hasSuffix("20%, 100 a second"))
        clock.now += .milliseconds(1)
        line.show(60, "people")
        #expect(captured.errorOutput.text.hasSuffix("\r\u{1B}[K60 people, 200 a second"))
        line.clear()
        #expect(captured.errorOutput.text.hasSuffix("a second\r\u{1B}[K"))
        #expect(captured.output.bytes.isEmpty)
    }

    @Test func `messages replace the progress line, which never exceeds the terminal width`() throws {
        let captured = CapturedConsole(terminal: true, columns: 20)
        let line = line(captured)
        clock.now += .seconds(1)
        line.show { _ in "evil \u{1B}[2J and much too long for this" }
        #expect(captured.errorOutput.text.count <= 4 + 19 && !captured.errorOutput.text.dropFirst(4).contains("\u{1B}"))
        captured.console.note("said")
        #expect(captured.errorOutput.text.hasSuffix("\r\u{1B}[Ksaid\n"))
        clock.now += .seconds(1)
        line.show(1, "people")
        try captured.console.writeLine("answer")
        try captured.console.flush()
        #expect(captured.errorOutput.text.hasSuffix("\r\u{1B}[K"))
        clock.now += .seconds(1)
        line.show(2, "people")
        captured.console.report(CommandError(.failed, "no"))
        #expect(captured.errorOutput.text.hasSuffix("\r\u{1B}[Klodge: no\n"))
    }

    @Test func `a pipe, --quiet and --verbose show no progress`() throws {
        for (isTerminal, words) in [
            (false, "me"), (true, "me --quiet"), (true, "me --verbose"), (true, "me --debug"),
        ] {
            let captured = CapturedConsole(terminal: isTerminal, ConsoleOptions(try parsed(words)))
            let line = line(captured)
            clock.now += .seconds(1)
            line.show(1, "people")
            line.clear()
            #expect(captured.errorOutput.bytes.isEmpty, "\(words)")
        }
    }
}
