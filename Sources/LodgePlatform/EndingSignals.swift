import Dispatch
import Synchronization

/// The signals that ask a process to end: from its terminal, the system, a timer or another process.
package enum EndingSignals {
    private static let all = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU]
    private static let handled = Mutex<[Int32]>([])

    /// The signals that this process ignores. A child process gets their default actions.
    static var ignored: [Int32] { [SIGPIPE, SIGXFSZ] + handled.withLock { $0 } }

    /// Calls a handler for each of these signals, which then no longer end the process.
    ///
    /// A signal that the process ignored from its start remains ignored, such as SIGHUP after `nohup`.
    ///
    /// - Returns: The sources of the signals. Retain them as long as the handler is needed.
    package static func handle(_ handler: @escaping @Sendable (Int32) -> Void) -> [any DispatchSourceSignal] {
        all.compactMap { number in
            let previous = unsafeBitCast(signal(number, SIG_IGN), to: Int.self)
            // A shell without job control ignores SIGINT for programs in the background. They must still be
            // interruptible.
            if previous == unsafeBitCast(SIG_IGN, to: Int.self), number != SIGINT { return nil }
            handled.withLock { $0.append(number) }
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { @Sendable in handler(number) }
            source.activate()
            return source
        }
    }
}
