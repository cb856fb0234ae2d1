import Dispatch

/// Threads outside Swift's pool, for calls that block.
package enum DetachedThread {
    private final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// Runs the closure on a new thread.
    ///
    /// The thread blocks all signals: the program's own threads handle them, and a SIGPIPE from a closed connection
    /// must not end the process.
    ///
    /// - Parameter stackSize: The size of its stack in bytes. The default is the system's default, which is 128 KiB
    ///   with Musl.
    /// - Returns: 0, or the error number if the system cannot start a thread. Then the closure does not run.
    package static func start(stackSize: Int? = nil, _ body: @escaping @Sendable () -> Void) -> Int32 {
        let context = Unmanaged.passRetained(Work(body))
        var all = sigset_t()
        var previous = sigset_t()
        _ = sigfillset(&all)
        _ = pthread_sigmask(SIG_SETMASK, &all, &previous)
        let code = create(context.toOpaque(), stackSize)
        _ = pthread_sigmask(SIG_SETMASK, &previous, nil)
        if code != 0 { context.release() }
        return code
    }

    /// Runs the closure on a new thread, or on a Dispatch thread if the system cannot start one.
    package static func run(_ body: @escaping @Sendable () -> Void) {
        if start(body) != 0 { DispatchQueue.global().async(execute: body) }
    }

    private static func create(_ context: UnsafeMutableRawPointer, _ stackSize: Int?) -> Int32 {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        if let stackSize { pthread_attr_setstacksize(&attributes, stackSize) }
        #if canImport(Darwin)
            var thread: pthread_t?
            return pthread_create(&thread, &attributes, { DetachedThread.work($0) }, context)
        #else
            #if canImport(Glibc)
                var thread = pthread_t()
            #else
                var thread: pthread_t?
            #endif
            return pthread_create(&thread, &attributes, { $0.flatMap { DetachedThread.work($0) } }, context)
        #endif
    }

    private static func work(_ context: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
        pthread_detach(pthread_self())
        Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body()
        return nil
    }
}
