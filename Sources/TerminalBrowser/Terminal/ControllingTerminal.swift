import Platform

/// The terminal of the session in place of standard input and output, for a program whose output another program reads.
package struct ControllingTerminal: Sendable {
    /// Copies of the standard streams, in the order of their numbers.
    private let saved: [Int32]

    private static let path = "/dev/tty"

    /// Connects standard input and output to the terminal.
    ///
    /// - Throws: ``TerminalError`` of the kind `none` if the session has no terminal, `system` without a free descriptor.
    package init() throws(TerminalError) {
        let terminal = open(Self.path, O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard terminal >= 0 else { throw .none(errno) }
        defer { close(terminal) }
        var saved: [Int32] = []
        for descriptor in [STDIN_FILENO, STDOUT_FILENO] {
            // Not inherited: a program that lodge starts would keep the reader of the output waiting.
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

    /// Connects standard input and output as before.
    package func restore() { Self.restore(saved) }

    private static func restore(_ saved: [Int32]) {
        for (descriptor, copy) in saved.enumerated() {
            _ = dup2(copy, Int32(descriptor))
            close(copy)
        }
    }
}
