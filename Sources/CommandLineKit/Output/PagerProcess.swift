import LodgePlatform
import Synchronization

/// The `$PAGER` program, run by the shell, with a pipe as its input.
@MainActor package final class PagerProcess: Pager.Process {
    private let identifier: pid_t
    private let descriptor: Int32
    private let input: DescriptorOutput
    private var status: Int32??

    /// Whether the pager has the terminal.
    ///
    /// Ctrl-C is then for the pager. It must not end this program: the shell and the pager would both read the
    /// keyboard.
    package nonisolated static let hasTerminal = Atomic(false)

    /// Creates the process of `command`, or returns `nil` if the system fails to.
    ///
    /// Sets defaults for `LESS` and `LV`, which show colors and leave the end of the table on the screen.
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

    /// Writes to the pager. Blocks while the pager does not read, because the user is looking at the first page.
    package func write(_ bytes: [UInt8]) throws(OutputError) { try input.write(bytes) }

    /// Waits until the user quits the pager. Later calls return the same status.
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
