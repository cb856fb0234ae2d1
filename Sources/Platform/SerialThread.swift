import Synchronization

/// Runs something at most once.
package final class Once: Sendable {
    private let done = Mutex(false)

    package init() {}

    package func run(_ body: () -> Void) {
        let isFirst = done.withLock { done in
            defer { done = true }
            return !done
        }
        if isFirst { body() }
    }
}

/// A thread of its own for an actor whose work blocks, so that no thread of Swift's pool waits for a disk.
///
/// The thread ends when the executor goes away and its last job is done.
package final class SerialThread: SerialExecutor {
    /// The queue, shared with the thread. Sendable is sound: `jobs` and `isClosed` are only touched with the mutex held.
    private final class Queue: @unchecked Sendable {
        private let mutex: UnsafeMutablePointer<pthread_mutex_t>
        private let condition: UnsafeMutablePointer<pthread_cond_t>
        private var jobs: [UnownedJob] = []
        private var isClosed = false

        init() {
            mutex = .allocate(capacity: 1)
            condition = .allocate(capacity: 1)
            pthread_mutex_init(mutex, nil)
            pthread_cond_init(condition, nil)
        }

        deinit {
            pthread_cond_destroy(condition)
            pthread_mutex_destroy(mutex)
            condition.deallocate()
            mutex.deallocate()
        }

        func add(_ job: UnownedJob) {
            pthread_mutex_lock(mutex)
            jobs.append(job)
            pthread_cond_signal(condition)
            pthread_mutex_unlock(mutex)
        }

        func close() {
            pthread_mutex_lock(mutex)
            isClosed = true
            pthread_cond_signal(condition)
            pthread_mutex_unlock(mutex)
        }

        /// The jobs that wait, in order; nil when there will be no more.
        func next() -> [UnownedJob]? {
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            while jobs.isEmpty {
                if isClosed { return nil }
                pthread_cond_wait(condition, mutex)
            }
            defer { jobs = [] }
            return jobs
        }
    }

    private let queue = Queue()
    private let started = Once()

    /// A thread that starts with its first job.
    package init() {}

    package func enqueue(_ job: consuming ExecutorJob) {
        started.run(start)
        queue.add(UnownedJob(job))
    }

    deinit { queue.close() }

    /// Before the first job: a program that never touches the disk never has the thread.
    private func start() {
        let queue = queue
        let executor = asUnownedSerialExecutor()
        // Jobs without a thread would wait forever.
        DetachedThread.run {
            while let jobs = queue.next() {
                for job in jobs { job.runSynchronously(on: executor) }
            }
        }
    }
}
