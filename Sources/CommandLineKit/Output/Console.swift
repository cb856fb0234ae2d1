import StrictJSON

package struct ConsoleOptions: Sendable, Equatable {
    /// The amount of messages on standard error in addition to errors.
    package enum Verbosity: Int, Sendable, Comparable {
        case quiet
        case normal
        case verbose
        case debug

        package static func < (left: Verbosity, right: Verbosity) -> Bool { left.rawValue < right.rawValue }
    }

    package var verbosity = Verbosity.normal
    var disablesColor = false
    package var disablesInput = false
    package var reportsJSON = false
    var disablesPager = false
    /// Whether CSV omits the apostrophe before cells that a spreadsheet could treat as formulas.
    var writesRawCSV = false

    package init() {}

    /// Creates the options of a command line.
    ///
    /// `--debug` takes precedence over `--verbose`, and `--verbose` over `--quiet`.
    package init(_ invocation: Invocation) {
        let options = StandardOptions(program: invocation.program)
        if invocation[options.quiet] { verbosity = .quiet }
        if invocation[options.verbose] { verbosity = .verbose }
        if invocation[options.debug] { verbosity = .debug }
        disablesColor = invocation[options.noColor]
        disablesInput = invocation[options.noInput]
        disablesPager = invocation[options.noPager]
        writesRawCSV = invocation[options.csvRaw]
        reportsJSON = OutputFormat(invocation) == .json
    }
}

/// The output of a command: results on standard output, messages on standard error.
///
/// It runs on the main actor, because writing blocks while a pipe is full, and only the main thread may block. This
/// also limits memory if the reader is slow.
@MainActor package final class Console {
    package var options: ConsoleOptions
    package nonisolated let terminal: TerminalState
    package let environment: [String: String]
    /// The name of the program, the prefix of each error.
    package let program: String
    package let output: any OutputSink
    let errorOutput: any OutputSink
    private var buffer: [UInt8] = []
    private var failure: OutputError?
    var pager: Pager?
    var startPager: @MainActor (_ command: String, _ environment: [String: String]) -> (any Pager.Process)? = {
        PagerProcess($0, environment: $1)
    }
    /// The text of the progress line on standard error. Any other output erases it.
    package var progress = ""

    private static let bufferLimit = 32 * 1024

    /// Creates a console. `NO_COLOR`, `CLICOLOR_FORCE`, `CLICOLOR` and `TERM` of the environment select color.
    package init(
        program: String, output: any OutputSink, errorOutput: any OutputSink, terminal: TerminalState = TerminalState(),
        environment: [String: String] = [:], options: ConsoleOptions = ConsoleOptions()
    ) {
        self.program = program
        self.output = output
        self.errorOutput = errorOutput
        self.terminal = terminal
        self.environment = environment
        self.options = options
    }

    /// Returns the console of this process.
    ///
    /// Prepares the standard streams: see ``TerminalState/prepareStandardStreams()``.
    package static func process(_ program: String, environment: [String: String]) -> Console {
        TerminalState.prepareStandardStreams()
        return Console(
            program: program, output: DescriptorOutput(1), errorOutput: DescriptorOutput(2),
            terminal: .current(environment: environment), environment: environment)
    }

    package var usesColor: Bool { allowsColor(terminal.outputIsTerminal) }
    /// Whether color is used on a terminal other than standard output.
    package var screenUsesColor: Bool { allowsColor(true) }
    package var errorUsesColor: Bool { allowsColor(terminal.errorIsTerminal) }
    /// Whether the console can prompt the user.
    package var canPrompt: Bool { terminal.inputIsTerminal && terminal.errorIsTerminal && !options.disablesInput }

    /// Returns whether color is allowed. `NO_COLOR` takes precedence over `CLICOLOR_FORCE`, and both over the terminal.
    private func allowsColor(_ isTerminal: Bool) -> Bool {
        if options.disablesColor || environment["NO_COLOR"].map({ !$0.isEmpty }) ?? false { return false }
        if let force = environment["CLICOLOR_FORCE"], !force.isEmpty, force != "0" { return true }
        guard isTerminal, environment["CLICOLOR"] != "0" else { return false }
        let name = environment["TERM"] ?? ""
        return !name.isEmpty && name != "dumb"
    }

    /// Writes output unchanged. Untrusted text must be escaped with `String.visible` first.
    ///
    /// Output is buffered. After an error, every write throws the same error.
    package func write(_ text: String) throws(OutputError) {
        buffer += text.utf8
        try flushIfFull()
    }

    package func writeLine(_ text: String = "") throws(OutputError) {
        try write(text)
        try write("\n")
    }

    package func write(bytes: [UInt8]) throws(OutputError) {
        buffer += bytes
        try flushIfFull()
    }

    /// Appends output bytes in place, without a copy.
    package func write(_ body: (inout [UInt8]) -> Void) throws(OutputError) {
        body(&buffer)
        try flushIfFull()
    }

    /// Writes the buffered output. Call it at the end, and when the user should see partial output.
    package func flush() throws(OutputError) {
        if let failure {
            buffer = []
            throw failure
        }
        guard !buffer.isEmpty else { return }
        let bytes = buffer
        buffer.removeAll(keepingCapacity: true)
        if terminal.outputIsTerminal { hideProgress() }
        do throws(OutputError) {
            try (pager ?? output).write(bytes)
        } catch {
            failure = error
            throw error
        }
    }

    /// Prints a message of one sentence, unless `--quiet`.
    package func note(_ sentence: String) { say(sentence, at: .normal) }

    /// Prints advice for a user at a terminal, or with `--verbose`. A scheduled job prints none.
    package func advise(_ sentence: String) { if showsAdvice { note(sentence) } }

    /// Whether advice and waits are printed: on a terminal, unless `--quiet`, and with `--verbose`.
    package var showsAdvice: Bool {
        options.verbosity >= .verbose || options.verbosity == .normal && terminal.errorIsTerminal
    }

    /// Prints what the user must do for the command to continue, even with `--quiet`.
    package func instruct(_ sentence: String) { say(sentence, at: .quiet) }

    /// Prints lines of the program, with terminal escape sequences, to standard error, even with `--quiet`.
    package func draw(_ lines: [String]) { writeErrorOutput(lines.joined(separator: "\n") + "\n") }

    /// Prints a message with `--verbose`.
    package func verbose(_ sentence: String) { say(sentence, at: .verbose) }

    /// Prints a message with `--debug`. The caller redacts secrets.
    package func debug(_ sentence: String) { say(sentence, at: .debug) }

    /// Prints an error, even with `--quiet`: one fact per line, or an object with `--output json`.
    package func report(_ error: CommandError) {
        if options.reportsJSON {
            writeErrorOutput(error.json.text() + "\n")
            return
        }
        var text = ""
        for line in error.lines(program: program) {
            // Bold labels make the hint easy to find.
            if errorUsesColor, let colon = line.firstIndex(of: ":") {
                text += Style.bold(String(line[...colon])) + line[line.index(after: colon)...] + "\n"
            } else {
                text += line + "\n"
            }
        }
        writeErrorOutput(text)
    }

    private func say(_ sentence: String, at verbosity: ConsoleOptions.Verbosity) {
        guard options.verbosity >= verbosity else { return }
        writeErrorOutput(sentence.visible + "\n")
    }

    /// Writes to standard error and ignores failures, which cannot be reported.
    private func writeErrorOutput(_ text: String) {
        // Flush the output first, so that both appear in order on the same terminal.
        try? flush()
        hideProgress()
        // While a pager has the terminal, only the pager writes to it.
        let sink = terminal.errorIsTerminal ? pager ?? errorOutput : errorOutput
        try? sink.write(Array(text.utf8))
    }

    private func flushIfFull() throws(OutputError) {
        if failure != nil || buffer.count >= Self.bufferLimit { try flush() }
    }
}

/// The text attributes used by the command.
package enum Style {
    static let clearLine = "\u{1B}[K"

    package static func bold(_ text: String) -> String { "\u{1B}[1m" + text + "\u{1B}[0m" }
}
