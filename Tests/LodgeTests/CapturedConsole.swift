@testable import CommandLineKit
@testable import lodge

/// A console that captures both streams.
@MainActor struct CapturedConsole {
    let output = CapturedOutput()
    let errorOutput = CapturedOutput()
    let console: Console

    init(
        terminal isTerminal: Bool = false, columns: Int = 80, rows: Int = 24, environment: [String: String] = [:],
        _ options: ConsoleOptions = ConsoleOptions()
    ) {
        console = Console(
            program: "lodge", output: output, errorOutput: errorOutput,
            terminal: TerminalState(
                inputIsTerminal: isTerminal, outputIsTerminal: isTerminal, errorIsTerminal: isTerminal,
                columns: columns,
                rows: rows),
            environment: environment, options: options)
    }
}
