import Platform
import HTTPExchange
internal import CCurl

/// libcurl, set up once for the process.
enum CurlLibrary {
    /// Whether libcurl could be set up. The first use does it, once, whichever thread comes first.
    static let isReady: Bool = {
        guard ccurl_is_available() != 0, ccurl_global_init() == CURLE_OK else { return false }
        // OpenSSL frees its state in an exit handler of its own while other threads still run. Handlers run in reverse
        // order, so this one comes before it: from then on no transport's thread enters libcurl again.
        atexit { ShutdownLatch.close() }
        return true
    }()
}

/// Keeps the transports' threads out of libcurl once the process has begun to exit.
enum ShutdownLatch {
    // Never freed, so that it outlives every thread; the lock is made for use by many.
    private nonisolated(unsafe) static let lock: UnsafeMutablePointer<pthread_rwlock_t> = {
        let lock = UnsafeMutablePointer<pthread_rwlock_t>.allocate(capacity: 1)
        pthread_rwlock_init(lock, nil)
        return lock
    }()

    /// Runs what enters libcurl. Waits for ever once the process exits.
    static func pass<Result>(_ body: () -> Result) -> Result {
        pthread_rwlock_rdlock(lock)
        defer { pthread_rwlock_unlock(lock) }
        return body()
    }

    /// Waits until no thread is inside, 0.2 s at most, and lets none in again.
    static func close() {
        var attempts = 0
        while pthread_rwlock_trywrlock(lock) != 0, attempts < 200 {
            usleep(1000)
            attempts += 1
        }
    }
}
