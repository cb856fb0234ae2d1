import Platform
import Synchronization

/// What the terminal's thread is told, and the pipe that wakes it.
final class TerminalCommands: Sendable {
    struct Waiting: Sendable {
        /// The newest screen; older ones are not shown any more.
        var screen: Screen?
        var redraws = false
        var suspends = false
        var closes = false
        var copies: [String] = []
    }

    private let waiting = Mutex(Waiting())
    /// The end of the pipe to wait at.
    let descriptor: Int32
    /// The end of the pipe for ``TerminalSignals``.
    let signalDescriptor: Int32

    /// Nil when the system has no pipe to give; `errno` says why.
    init?() {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        (descriptor, signalDescriptor) = (ends[0], ends[1])
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            // A handler of a signal must never wait: a full pipe wakes as well as one letter more.
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
    }

    deinit {
        close(descriptor)
        close(signalDescriptor)
    }

    /// Adds to what is to be done, and wakes the thread.
    func send(_ change: (inout Waiting) -> Void) {
        waiting.withLock { change(&$0) }
        var letter = TerminalSignals.Letter.wake.rawValue
        _ = write(signalDescriptor, &letter, 1)
    }

    /// What is to be done, once.
    func take() -> Waiting {
        waiting.withLock { waiting in
            defer { waiting = Waiting() }
            return waiting
        }
    }

    /// Whether the terminal is to be given back; it still waits to be taken.
    var isClosing: Bool { waiting.withLock { $0.closes } }

    /// The letters that have come; empty when there is none.
    func letters() -> Set<UInt8> {
        var bytes = [UInt8](repeating: 0, count: 512)
        let count = read(descriptor, &bytes, bytes.count)
        return count > 0 ? Set(bytes[..<count]) : []
    }
}
