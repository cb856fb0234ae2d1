import Synchronization

/// Whether the last request was a retry.
final class LastRequestFlag: Sendable {
    private let last = Mutex(false)

    var wasRetried: Bool { last.withLock { $0 } }
    func note(_ isRetry: Bool) { last.withLock { $0 = isRetry } }
}
