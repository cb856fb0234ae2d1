import CommandLineKit
import LodgePlatform
import Synchronization

/// Ends the program on a signal without losing the response to a sent token request.
///
/// The first signal cancels the command. The second ends the program after the new tokens are saved, without waiting
/// for the command. Only a third SIGINT ends the program immediately. While a program of `exec` runs as a child, the signals are
/// for the child.
final class Interruption: Sendable {
    private struct Signals {
        var first: Int32?
        var count = 0
    }
    private let signals = Mutex(Signals())
    private let stores: OpenStores
    private let program: ForegroundProcess
    private let exit: @Sendable (Int32) -> Void
    private let cancel: @Sendable () -> Void

    /// Creates the reaction to signals for the command that uses these stores.
    ///
    /// - Parameters:
    ///   - program: The child of `exec`.
    ///   - exit: Ends the process.
    ///   - cancel: Cancels the command.
    init(
        stores: OpenStores, program: ForegroundProcess = ForegroundProcess(),
        exit: @escaping @Sendable (Int32) -> Void, cancel: @escaping @Sendable () -> Void
    ) {
        self.stores = stores
        self.program = program
        self.exit = exit
        self.cancel = cancel
    }

    /// The exit status for the first signal, or for SIGINT if none arrived.
    var status: Int32 { 128 + (signals.withLock { $0.first } ?? SIGINT) }

    func receive(_ number: Int32) {
        if program.receive(number) { return }
        // The pager also receives Ctrl-C and continues.
        if number == SIGINT, PagerProcess.hasTerminal.load(ordering: .relaxed) { return cancel() }
        let count = signals.withLock { signals in
            signals.first = signals.first ?? number
            signals.count += 1
            return signals.count
        }
        // After the count, so that a command that ends immediately gets the status of the signal.
        cancel()
        guard count > 1 else { return }
        signal(SIGINT, SIG_DFL)
        let (stores, status, exit) = (stores, status, exit)
        Task.detached {
            _ = await stores.endRefreshes()
            exit(status)
        }
    }
}
