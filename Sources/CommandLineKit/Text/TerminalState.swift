import Platform

/// What the three standard streams are connected to.
package struct TerminalState: Sendable, Equatable {
    package var inputIsTerminal = false
    package var outputIsTerminal = false
    package var errorIsTerminal = false
    package var columns = 80
    package var rows = 24

    /// The state of this process. `COLUMNS` and `LINES` win over what the terminal says; without either there are 80 columns and
    /// 24 lines.
    package static func current(environment: [String: String]) -> TerminalState {
        var state = TerminalState(
            inputIsTerminal: isatty(STDIN_FILENO) == 1, outputIsTerminal: isatty(STDOUT_FILENO) == 1,
            errorIsTerminal: isatty(STDERR_FILENO) == 1)
        func number(_ name: String) -> Int? {
            environment[name].flatMap { Int($0) }.flatMap { (1...10_000).contains($0) ? $0 : nil }
        }
        var size = winsize()
        if ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) != 0 { size = winsize() }
        state.columns = number("COLUMNS") ?? (size.ws_col > 0 ? Int(size.ws_col) : state.columns)
        state.rows = number("LINES") ?? (size.ws_row > 0 ? Int(size.ws_row) : state.rows)
        return state
    }

    /// Makes the standard streams safe to use; called once, before any file is opened.
    ///
    /// A write to a reader that went away becomes an error in place of a signal. A standard stream that was closed by the
    /// caller is opened on the null device in a way that using it fails: otherwise the next file opened, the store's
    /// database, would take its number and receive what was meant for the terminal. Programs that are started from here
    /// inherit the ignored signal unless their start resets it.
    static func prepareStandardStreams() {
        signal(SIGPIPE, SIG_IGN)
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] {
            guard fcntl(descriptor, F_GETFD) == -1, errno == EBADF else { continue }
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }
}
