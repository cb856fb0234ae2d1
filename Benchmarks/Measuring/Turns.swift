#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Measures two operations alternately, after a warm-up that does not count.
///
/// Runs on the main thread, which may block. The order changes from round to round, so that neither operation always
/// benefits from the caches of the other.
@MainActor
func inTurns<Sample: Sendable>(
    rounds: Int, warmUp: Int = 2, ours: () async throws -> Sample, peer: () async throws -> Sample
) async throws -> (ours: [Sample], peer: [Sample]) {
    var result: (ours: [Sample], peer: [Sample]) = ([], [])
    for round in 0..<(warmUp + rounds) {
        let first: Sample
        let second: Sample
        if round % 2 == 0 {
            first = try await ours()
            second = try await peer()
        } else {
            second = try await peer()
            first = try await ours()
        }
        guard round >= warmUp else { continue }
        result.ours.append(first)
        result.peer.append(second)
    }
    return result
}

/// Clocks, in seconds.
enum Seconds {
    /// The elapsed time.
    static var elapsed: Double { read(CLOCK_MONOTONIC) }
    /// The processor time of this thread, which excludes other programs.
    static var ofThisThread: Double { read(CLOCK_THREAD_CPUTIME_ID) }

    private static func read(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// Returns how often `body` runs per second of this thread's processor time, measured for about `seconds`.
func rate(seconds: Double, batch: Int, _ body: () throws -> Void) rethrows -> Double {
    let start = Seconds.ofThisThread
    var count = 0
    while true {
        for _ in 0..<batch { try body() }
        count += batch
        let spent = Seconds.ofThisThread - start
        if spent >= seconds { return Double(count) / spent }
    }
}
