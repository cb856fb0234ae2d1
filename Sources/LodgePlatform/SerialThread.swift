import Synchronization

/// Runs a closure at most once.
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

/// A thread for an actor whose work blocks, so that no thread of Swift's pool waits for a disk.
///
/// The thread ends after the executor is released and its last job is done.
package final class SerialThread: SerialExecutor {
    private struct Queue {
        var jobs: [UnownedJob] = []
        var isClosed = false
    }

    private let queue = ConditionVariable(Queue())
    private let started = Once()

    /// Creates an executor whose thread starts with its first job.
    package init() {}

    package func enqueue(_ job: consuming ExecutorJob) {
        started.run(start)
        let job = UnownedJob(job)
        queue.withLock { $0.jobs.append(job) }
    }

    deinit { queue.withLock { $0.isClosed = true } }

    /// Starts the thread with the first job, so that a program without disk access has no thread.
    private func start() {
        let queue = queue
        let executor = asUnownedSerialExecutor()
        // Jobs without a thread would wait forever.
        DetachedThread.run {
            while true {
                let jobs = queue.wait(until: { !$0.jobs.isEmpty || $0.isClosed }) { queue in
                    defer { queue.jobs = [] }
                    return queue.jobs
                }
                if jobs.isEmpty { return }
                for job in jobs { job.runSynchronously(on: executor) }
            }
        }
    }
}
