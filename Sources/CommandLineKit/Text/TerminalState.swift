import LodgePlatform

/// The devices that the standard streams are connected to.
package struct TerminalState: Sendable, Equatable {
    package var inputIsTerminal = false
    package var outputIsTerminal = false
    package var errorIsTerminal = false
    package var columns = 80
    package var rows = 24

    /// Returns the state of this process.
    ///
    /// `COLUMNS` and `LINES` take precedence over the terminal's size. The default is 80 columns and 24 lines.
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

    /// Makes the standard streams safe to use. Call it once, before opening any file.
    ///
    /// A write to a closed pipe then fails instead of raising a signal. If the caller closed a standard stream, it is
    /// opened on the null device so that using it fails. Otherwise the next file, the store's database, would get its
    /// number and receive output meant for the terminal. Child processes inherit the ignored signal unless their start
    /// resets it.
    static func prepareStandardStreams() {
        signal(SIGPIPE, SIG_IGN)
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] {
            guard fcntl(descriptor, F_GETFD) == -1, errno == EBADF else { continue }
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }
}
