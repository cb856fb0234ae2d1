import Platform
import Synchronization

/// The program of `$PAGER`, run by the shell, with its input in a pipe.
@MainActor package final class PagerProcess: Pager.Process {
    private let identifier: pid_t
    private let descriptor: Int32
    private let input: DescriptorOutput
    private var status: Int32??

    /// Whether a pager has the terminal. Ctrl-C is then the pager's: it must not end this program, or nobody would wait for the
    /// pager, and shell and pager would both read the keys.
    package nonisolated static let hasTerminal = Atomic(false)

    /// Starts `command`; nil if the system denies that. `LESS` and `LV` get defaults: colors stay, and the end of the table stays on the
    /// screen.
    package init?(_ command: String, environment: [String: String]) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        let (reading, writing) = (ends[0], ends[1])
        defer { close(reading) }
        _ = fcntl(writing, F_SETFD, FD_CLOEXEC)
        let started = ChildProcess.start(
            ["/bin/sh", "-c", command], environment: ["LESS": "FRX", "LV": "-c"].merging(environment) { $1 },
            input: reading, isSilent: false, hasOwnGroup: false)
        guard case .success(let child) = started else {
            close(writing)
            return nil
        }
        Self.hasTerminal.store(true, ordering: .relaxed)
        signal(SIGINT, SIG_IGN)
        (identifier, descriptor, input) = (child, writing, DescriptorOutput(writing))
    }

    /// Writes to the pager, and waits while it does not read: a person looks at the first page.
    package func write(_ bytes: [UInt8]) throws(OutputError) { try input.write(bytes) }

    /// Waits until the person leaves the pager. Another call gives the same status.
    package func finish() -> Int32? {
        if let status { return status }
        close(descriptor)
        let word = ChildProcess.waitForExit(identifier)
        Self.hasTerminal.store(false, ordering: .relaxed)
        let ended: Int32? = word & 0x7F == 0 ? (word >> 8) & 0xFF : nil
        status = .some(ended)
        return ended
    }
}
