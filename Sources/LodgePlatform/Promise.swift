import Synchronization

/// A result that is set once and that any number of tasks wait for. Cancelling one task does not affect the others.
package final class Promise<Value: Sendable>: Sendable {
    private struct State {
        var result: Result<Value, any Error>?
        var next = 0
        var waiting: [Int: CheckedContinuation<Value, any Error>] = [:]
    }
    private let state = Mutex(State())

    /// Creates a promise without a result.
    package init() {}

    /// Sets the result and resumes all waiting tasks. Only the first call has an effect.
    package func finish(_ result: Result<Value, any Error>) {
        let waiting = state.withLock { state -> [CheckedContinuation<Value, any Error>] in
            guard state.result == nil else { return [] }
            state.result = result
            defer { state.waiting = [:] }
            return Array(state.waiting.values)
        }
        for continuation in waiting { continuation.resume(with: result) }
    }

    /// Waits for the result with a time limit. Returns `nil` if the limit expires.
    ///
    /// - Parameter sleep: Waits. If it throws, the time is unlimited.
    /// - Throws: `CancellationError` as soon as the waiting task is cancelled; the error of the result.
    package func value(
        within limit: Duration, sleep: @escaping @Sendable (Duration) async throws -> Void
    ) async throws -> Value? {
        if let result = state.withLock({ $0.result }) { return try result.get() }
        guard limit > .zero else { return nil }
        let isOver = Promise<Value?>()
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [self] in
                do { isOver.finish(.success(try await value())) } catch { isOver.finish(.failure(error)) }
            }
            group.addTask {
                guard (try? await sleep(limit)) != nil else { return }
                isOver.finish(.success(nil))
            }
            defer { group.cancelAll() }
            return try await isOver.value()
        }
    }

    /// Waits for the result and returns it.
    ///
    /// - Throws: `CancellationError` as soon as the waiting task is cancelled; the error of the result.
    package func value() async throws -> Value {
        let number = state.withLock { state in
            state.next += 1
            return state.next
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let ready = state.withLock { state -> Result<Value, any Error>? in
                    if let result = state.result { return result }
                    // An earlier cancellation found no continuation to resume.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    state.waiting[number] = continuation
                    return nil
                }
                if let ready { continuation.resume(with: ready) }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: number) }?.resume(throwing: CancellationError())
        }
    }
}
