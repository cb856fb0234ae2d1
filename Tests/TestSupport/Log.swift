import Synchronization

/// Values that grow while a test runs.
package final class Log<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])

    package init() {}
    package func append(_ value: Value) { values.withLock { $0.append(value) } }
    package var all: [Value] { values.withLock { $0 } }
}
