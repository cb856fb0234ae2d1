import LodgePlatform
import HTTPExchange
internal import CLodgeCurl

/// The initialization of libcurl, once for the process.
enum CurlLibrary {
    /// Whether libcurl is initialized. The first access initializes it once, on any thread.
    static let isReady: Bool = {
        guard ccurl_is_available() != 0, ccurl_global_init() == CURLE_OK else { return false }
        // OpenSSL's exit handler frees its state while other threads still run. Handlers run in reverse order, so this
        // one runs first, and then no transport thread enters libcurl.
        atexit { ShutdownLatch.close() }
        return true
    }()
}

/// A lock that stops the transports' threads from entering libcurl while the process exits.
enum ShutdownLatch {
    // Never freed, so that it outlives every thread. The lock is thread-safe.
    private nonisolated(unsafe) static let lock: UnsafeMutablePointer<pthread_rwlock_t> = {
        let lock = UnsafeMutablePointer<pthread_rwlock_t>.allocate(capacity: 1)
        pthread_rwlock_init(lock, nil)
        return lock
    }()

    /// Runs code that enters libcurl. Blocks forever once the process exits.
    static func pass<Result>(_ body: () -> Result) -> Result {
        pthread_rwlock_rdlock(lock)
        defer { pthread_rwlock_unlock(lock) }
        return body()
    }

    /// Waits at most 0.2 s until no thread is inside, and then blocks all threads.
    static func close() {
        var attempts = 0
        while pthread_rwlock_trywrlock(lock) != 0, attempts < 200 {
            usleep(1000)
            attempts += 1
        }
    }
}
