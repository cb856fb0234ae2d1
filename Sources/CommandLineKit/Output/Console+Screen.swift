// Output for terminals: the pager for long tables and the progress line.

extension Console {
    /// The pager: the program's own variable, such as `$LODGE_PAGER`, otherwise `$PAGER`.
    ///
    /// `nil` if neither is set, or if standard input or output is not a terminal.
    var pagerCommand: String? {
        let names = [program.uppercased() + "_PAGER", "PAGER"]
        // The first variable that is set takes precedence, so that an empty `LODGE_PAGER` disables `PAGER`.
        let command = names.lazy.compactMap { self.environment[$0] }.first ?? ""
        guard !command.isEmpty, command != "cat", terminal.inputIsTerminal, terminal.outputIsTerminal,
            !options.disablesPager, !options.disablesInput, options.verbosity <= .normal
        else { return nil }
        return command
    }

    /// Starts buffering output for the pager, up to ``endPaging()``.
    func beginPaging() throws(OutputError) {
        guard pager == nil, let command = pagerCommand else { return }
        try flush()
        let environment = environment
        let start = startPager
        pager = Pager(before: output, terminal) { start(command, environment) }
    }

    /// Finishes the output of ``beginPaging()`` and waits until the user quits the pager, if it was started.
    package func endPaging() throws(OutputError) {
        guard let pager else { return }
        defer { self.pager = nil }
        try flush()
        try pager.finish()
    }

    /// Whether progress is shown: on a terminal, with normal verbosity, without a pager.
    var showsProgress: Bool { terminal.errorIsTerminal && options.verbosity == .normal && pager == nil }

    /// Shows the progress on one line, which the next call replaces. Does nothing unless ``showsProgress``.
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
