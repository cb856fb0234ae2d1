import LodgePlatform

/// The terminal of the session instead of standard input and output, for a program whose output is piped.
package struct ControllingTerminal: Sendable {
    /// Copies of the standard streams, ordered by descriptor number.
    private let saved: [Int32]

    private static let path = "/dev/tty"

    /// Creates the terminal and connects standard input and output to it.
    ///
    /// - Throws: ``TerminalError`` of the kind `none` if the session has no terminal. `system` if there is no free
    ///   descriptor.
    package init() throws(TerminalError) {
        let terminal = open(Self.path, O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard terminal >= 0 else { throw .none(errno) }
        defer { close(terminal) }
        var saved: [Int32] = []
        for descriptor in [STDIN_FILENO, STDOUT_FILENO] {
            // Close on exec: a program that lodge starts would otherwise keep the pipe of the reader open.
            let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
            guard copy >= 0, dup2(terminal, descriptor) >= 0 else {
                let code = errno
                if copy >= 0 { saved.append(copy) }
                Self.restore(saved)
                throw .system(code)
            }
            saved.append(copy)
        }
        self.saved = saved
    }

    /// Restores standard input and output.
    package func restore() { Self.restore(saved) }

    private static func restore(_ saved: [Int32]) {
        for (descriptor, copy) in saved.enumerated() {
            _ = dup2(copy, Int32(descriptor))
            close(copy)
        }
    }
}
