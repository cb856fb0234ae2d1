import Synchronization

/// A thread-safe list of values that a test appends to.
package final class Log<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])

    package init() {}
    package func append(_ value: Value) { values.withLock { $0.append(value) } }
    package var all: [Value] { values.withLock { $0 } }
}
