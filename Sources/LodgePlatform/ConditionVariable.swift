/// A value with a lock and a condition to wait for, which `Mutex` of the standard library does not have.
///
/// Sendable is sound: the value is accessed only while the mutex is locked.
package final class ConditionVariable<Value: Sendable>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var value: Value

    package init(_ value: Value) {
        self.value = value
        mutex.initialize(to: pthread_mutex_t())
        changed.initialize(to: pthread_cond_t())
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(changed, nil)
    }

    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(mutex)
        changed.deallocate()
        mutex.deallocate()
    }

    /// Changes the value and wakes the waiting threads.
    package func withLock<Result>(_ change: (inout Value) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer {
            pthread_cond_broadcast(changed)
            pthread_mutex_unlock(mutex)
        }
        return change(&value)
    }

    /// Blocks the thread until the condition is true, then changes the value.
    package func wait<Result>(until condition: (Value) -> Bool, _ change: (inout Value) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while !condition(value) { pthread_cond_wait(changed, mutex) }
        return change(&value)
    }
}
