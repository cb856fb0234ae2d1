// What only a terminal has: long tables in a pager, and a line of progress.

extension Console {
    /// The pager: the variable of the program, such as `$LODGE_PAGER`, else `$PAGER`; nil if neither is set, without a terminal, and
    /// without input.
    var pagerCommand: String? {
        let names = [program.uppercased() + "_PAGER", "PAGER"]
        // The first that is set decides, so that an empty variable of the program takes PAGER back.
        let command = names.lazy.compactMap { self.environment[$0] }.first ?? ""
        guard !command.isEmpty, command != "cat", terminal.inputIsTerminal, terminal.outputIsTerminal,
            !options.disablesPager, !options.disablesInput, options.verbosity <= .normal
        else { return nil }
        return command
    }

    /// What is written from here on may be shown in a pager, up to ``endPaging()``.
    func beginPaging() throws(OutputError) {
        guard pager == nil, let command = pagerCommand else { return }
        try flush()
        let environment = environment
        let start = startPager
        pager = Pager(before: output, terminal) { start(command, environment) }
    }

    /// Ends what began with ``beginPaging()``: waits for the person to leave the pager, if there was need of one.
    package func endPaging() throws(OutputError) {
        guard let pager else { return }
        defer { self.pager = nil }
        try flush()
        try pager.finish()
    }

    /// Whether progress is shown: on a terminal, where nothing else is said there.
    var showsProgress: Bool { terminal.errorIsTerminal && options.verbosity == .normal && pager == nil }

    /// Shows how far something is, on one line that the next one replaces. Only where ``showsProgress``.
    package func showProgress(_ text: String) {
        guard showsProgress else { return }
        let line = TerminalText.truncated(text.visible, to: max(1, terminal.columns - 1))
        guard line != progress else { return }
        try? errorOutput.write(Array(("\r" + Style.clearLine + line).utf8))
        progress = line
    }

    package func hideProgress() {
        guard !progress.isEmpty else { return }
        progress = ""
        try? errorOutput.write(Array(("\r" + Style.clearLine).utf8))
    }
}
