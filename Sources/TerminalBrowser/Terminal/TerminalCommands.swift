import LodgePlatform
import Synchronization

/// The pending commands for the terminal's thread, and the pipe that wakes it.
final class TerminalCommands: Sendable {
    struct Waiting: Sendable {
        /// The latest screen. Older ones are dropped.
        var screen: Screen?
        var redraws = false
        var suspends = false
        var closes = false
        var copies: [String] = []
    }

    private let waiting = Mutex(Waiting())
    /// The read end of the pipe.
    let descriptor: Int32
    /// The write end of the pipe for ``TerminalSignals``.
    let signalDescriptor: Int32

    /// Creates the pipe, or returns `nil` with `errno` set.
    init?() {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        (descriptor, signalDescriptor) = (ends[0], ends[1])
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            // A signal handler must never block. A full pipe wakes the reader just as well.
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
    }

    deinit {
        close(descriptor)
        close(signalDescriptor)
    }

    /// Adds commands and wakes the thread.
    func send(_ change: (inout Waiting) -> Void) {
        waiting.withLock { change(&$0) }
        var letter = TerminalSignals.Letter.wake.rawValue
        _ = write(signalDescriptor, &letter, 1)
    }

    /// Returns the pending commands and clears them.
    func take() -> Waiting {
        waiting.withLock { waiting in
            defer { waiting = Waiting() }
            return waiting
        }
    }

    /// Whether a request to close the terminal is pending.
    var isClosing: Bool { waiting.withLock { $0.closes } }

    /// Returns the bytes read from the pipe; empty if the pipe is.
    func letters() -> Set<UInt8> {
        var bytes = [UInt8](repeating: 0, count: 512)
        let count = read(descriptor, &bytes, bytes.count)
        return count > 0 ? Set(bytes[..<count]) : []
    }
}
