import Dispatch
import Synchronization

/// Work during which the system should not suspend this process.
///
/// iOS ends an app that is suspended while it has a lock of a shared file, with the code 0xdead10cc.
package struct ExpiringActivity: Sendable {
    /// Begins an activity.
    ///
    /// The system calls the closure with `false` on a thread that may block, and the activity lasts until the closure
    /// returns. It calls the closure with `true` shortly before it suspends the process, or if it grants no time.
    package typealias Begin =
        @Sendable (
            _ reason: String, _ closure: @escaping @Sendable (_ isExpired: Bool) -> Void
        ) -> Void

    /// The system is about to suspend the process.
    package struct Expired: Error, Equatable {}

    /// The task of an activity, which the expiry cancels.
    private final class Work: Sendable {
        private struct State {
            var isExpired = false
            var cancel: (@Sendable () -> Void)?
        }
        private let state = Mutex(State())

        var isExpired: Bool { state.withLock(\.isExpired) }

        func onExpiry(_ cancel: @escaping @Sendable () -> Void) {
            let isExpired = state.withLock { state in
                state.cancel = cancel
                return state.isExpired
            }
            if isExpired { cancel() }
        }

        func expire() {
            let cancel = state.withLock { state in
                state.isExpired = true
                return state.cancel
            }
            cancel?()
        }
    }

    private let begin: Begin?

    /// Creates activities. With `nil` they have no effect, because the system does not suspend processes.
    package init(_ begin: Begin?) { self.begin = begin }

    /// The activities of the system.
    package static let system: ExpiringActivity = {
        #if os(iOS) || os(tvOS) || os(watchOS) || os(visionOS)
            ExpiringActivity { ProcessInfo.processInfo.performExpiringActivity(withReason: $0, using: $1) }
        #else
            ExpiringActivity(nil)
        #endif
    }()

    /// Runs the body during an activity.
    ///
    /// The expiry cancels the task of the body. If the body cannot be cancelled any more, because it awaits the response
    /// to a request, the activity lasts until its end.
    ///
    /// - Throws: ``Expired`` if the system grants no time or the expiry cancelled the body; the errors of the body.
    package func run<Value: Sendable>(
        _ reason: String, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        guard let begin else { return try await body() }
        let hasBegun = Promise<Void>()
        let work = Work()
        let end = DispatchSemaphore(value: 0)
        begin(reason) { isExpired in
            if isExpired {
                hasBegun.finish(.failure(Expired()))
                work.expire()
            } else {
                hasBegun.finish(.success(()))
                end.wait()
            }
        }
        defer { end.signal() }
        try await hasBegun.value()
        let task = Task { try await body() }
        work.onExpiry { task.cancel() }
        do {
            return try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
        } catch is CancellationError where work.isExpired {
            throw Expired()
        }
    }
}
