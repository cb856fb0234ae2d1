import Synchronization

/// Whether the request that was sent last had been turned away before.
final class LastRequestFlag: Sendable {
    private let last = Mutex(false)

    var wasRetried: Bool { last.withLock { $0 } }
    func note(_ isRetry: Bool) { last.withLock { $0 = isRetry } }
}
