import Platform
import CommandLineKit
import TerminalBrowser

extension CommandError {
    /// The browser without a terminal to be in.
    static func notTerminal(_ terminal: TerminalState) -> CommandError {
        let which =
            switch (terminal.inputIsTerminal, terminal.outputIsTerminal) {
            case (false, false): "neither standard input nor standard output is one"
            case (false, true): "standard input is none"
            default: "standard output is none"
            }
        return CommandError(
            .usage, "browse needs a terminal", reason: which, hint: "\(run: "search") ada works without one")
    }

    init(_ error: TerminalError) {
        switch error {
        case .unusable(let name):
            self.init(
                .usage, "browse cannot use this terminal",
                reason: name.isEmpty
                    ? "TERM is not set"
                    : "TERM is \(name.debugDescription), which cannot move its cursor or is not known here",
                hint:
                    "set TERM to the name of your terminal, such as xterm-256color; \(run: "search") ada works without it"
            )
        case .background:
            self.init(
                .usage, "browse needs the terminal for itself",
                reason: "it runs in the background, with no shell that could bring it to the foreground",
                hint: "start it in the foreground, without &; \(run: "search") ada works in the background")
        case .system(let code):
            self.init(.failed, "browse cannot begin", reason: String(cString: strerror(code)))
        }
    }
}
