import StrictJSON

package struct ConsoleOptions: Sendable, Equatable {
    /// How much is said on standard error beside errors.
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
    /// Whether CSV has no apostrophe before the cells that a spreadsheet could read as formulas.
    var writesRawCSV = false

    package init() {}

    /// What the command line says. `--debug` says more than `--verbose`, which says more than `--quiet`.
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

/// The output of a command: results on standard output, sentences on standard error.
///
/// On the main actor, because writing waits while a pipe is full, and only the main thread may wait. That wait also keeps a fast
/// provider from filling memory when the reader is slow.
@MainActor package final class Console {
    package var options: ConsoleOptions
    package nonisolated let terminal: TerminalState
    package let environment: [String: String]
    /// The name of the program, which begins each error.
    package let program: String
    package let output: any OutputSink
    let errorOutput: any OutputSink
    private var buffer: [UInt8] = []
    private var failure: OutputError?
    var pager: Pager?
    var startPager: @MainActor (_ command: String, _ environment: [String: String]) -> (any Pager.Process)? = {
        PagerProcess($0, environment: $1)
    }
    /// What stands on the last line of the terminal of standard error, and goes when something else is written.
    package var progress = ""

    private static let bufferLimit = 32 * 1024

    /// Creates a console. The environment decides on color: `NO_COLOR`, `CLICOLOR_FORCE`, `CLICOLOR`, `TERM`.
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

    /// The console of this process. Prepares the standard streams: see ``TerminalState/prepareStandardStreams()``.
    package static func process(_ program: String, environment: [String: String]) -> Console {
        TerminalState.prepareStandardStreams()
        return Console(
            program: program, output: DescriptorOutput(1), errorOutput: DescriptorOutput(2),
            terminal: .current(environment: environment), environment: environment)
    }

    package var usesColor: Bool { allowsColor(terminal.outputIsTerminal) }
    /// Whether the screen of a terminal has color if it is not standard output.
    package var screenUsesColor: Bool { allowsColor(true) }
    package var errorUsesColor: Bool { allowsColor(terminal.errorIsTerminal) }
    /// Whether a question can be asked and its answer read.
    package var canPrompt: Bool { terminal.inputIsTerminal && terminal.errorIsTerminal && !options.disablesInput }

    /// Refusal wins over force, force over what the terminal is.
    private func allowsColor(_ isTerminal: Bool) -> Bool {
        if options.disablesColor || environment["NO_COLOR"].map({ !$0.isEmpty }) ?? false { return false }
        if let force = environment["CLICOLOR_FORCE"], !force.isEmpty, force != "0" { return true }
        guard isTerminal, environment["CLICOLOR"] != "0" else { return false }
        let name = environment["TERM"] ?? ""
        return !name.isEmpty && name != "dumb"
    }

    /// Writes a part of the answer as it is: text from elsewhere must have passed `String.visible`.
    ///
    /// The answer is gathered and written in pieces. After a failure every write throws the same error.
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

    /// Lets somebody append bytes of the answer in place, without a copy.
    package func write(_ body: (inout [UInt8]) -> Void) throws(OutputError) {
        body(&buffer)
        try flushIfFull()
    }

    /// Hands on all that was written. Called at the end, and wherever a person should see what there is so far.
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

    /// Says what happened, in one sentence, unless `--quiet`.
    package func note(_ sentence: String) { say(sentence, at: .normal) }

    /// Prints advice for a user at a terminal, or with `--verbose`. A scheduled job prints none.
    package func advise(_ sentence: String) { if showsAdvice { note(sentence) } }

    /// Whether advice and waits are printed: on a terminal, unless `--quiet`, and with `--verbose`.
    package var showsAdvice: Bool {
        options.verbosity >= .verbose || options.verbosity == .normal && terminal.errorIsTerminal
    }

    /// Says what the person must do for the command to go on. `--quiet` does not silence it.
    package func instruct(_ sentence: String) { say(sentence, at: .quiet) }

    /// Draws lines of the program's own on standard error, attributes of terminals in them. `--quiet` does not silence it.
    package func draw(_ lines: [String]) { writeErrorOutput(lines.joined(separator: "\n") + "\n") }

    /// Says what is done, if `--verbose`.
    package func verbose(_ sentence: String) { say(sentence, at: .verbose) }

    /// Says how it is done, if `--debug`. The caller masks secrets.
    package func debug(_ sentence: String) { say(sentence, at: .debug) }

    /// Shows an error: a line each, or an object with `--output json`. `--quiet` does not silence it.
    package func report(_ error: CommandError) {
        if options.reportsJSON {
            writeErrorOutput(error.json.text() + "\n")
            return
        }
        var text = ""
        for line in error.lines(program: program) {
            // The label in bold, so that the eye finds the hint.
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

    /// There is nobody left to tell when this fails.
    private func writeErrorOutput(_ text: String) {
        // What was answered before stands before what is said now, where both are seen together.
        try? flush()
        hideProgress()
        // While a pager has the screen or will have it, nobody else writes there.
        let sink = terminal.errorIsTerminal ? pager ?? errorOutput : errorOutput
        try? sink.write(Array(text.utf8))
    }

    private func flushIfFull() throws(OutputError) {
        if failure != nil || buffer.count >= Self.bufferLimit { try flush() }
    }
}

/// The few attributes of text that the command uses.
package enum Style {
    static let clearLine = "\u{1B}[K"

    package static func bold(_ text: String) -> String { "\u{1B}[1m" + text + "\u{1B}[0m" }
}
