import Dispatch

/// Threads outside Swift's pool, for calls that block.
package enum DetachedThread {
    fileprivate final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// Runs the closure on a new thread, which ends with it.
    ///
    /// The thread blocks all signals: the program's own threads handle them, and a SIGPIPE from a closed connection must
    /// not end the process.
    ///
    /// - Returns: 0, or the error number if the system cannot start a thread. Then the closure does not run.
    package static func start(_ body: @escaping @Sendable () -> Void) -> Int32 {
        let context = Unmanaged.passRetained(Work(body))
        var all = sigset_t()
        var previous = sigset_t()
        _ = sigfillset(&all)
        _ = pthread_sigmask(SIG_SETMASK, &all, &previous)
        let code = create(context.toOpaque())
        _ = pthread_sigmask(SIG_SETMASK, &previous, nil)
        if code != 0 { context.release() }
        return code
    }

    /// Runs the closure on a new thread, or on one of Dispatch if the system cannot start a thread.
    package static func run(_ body: @escaping @Sendable () -> Void) {
        if start(body) != 0 { DispatchQueue.global().async(execute: body) }
    }

    private static func create(_ context: UnsafeMutableRawPointer) -> Int32 {
        #if canImport(Darwin)
            var thread: pthread_t?
            let code = pthread_create(&thread, nil, runWork, context)
            if code == 0, let thread { _ = pthread_detach(thread) }
        #else
            var thread = pthread_t()
            let code = pthread_create(&thread, nil, runWork, context)
            if code == 0 { _ = pthread_detach(thread) }
        #endif
        return code
    }
}

#if canImport(Darwin)
    private func runWork(_ context: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
        Unmanaged<DetachedThread.Work>.fromOpaque(context).takeRetainedValue().body()
        return nil
    }
#else
    private func runWork(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        if let context { Unmanaged<DetachedThread.Work>.fromOpaque(context).takeRetainedValue().body() }
        return nil
    }
#endif
