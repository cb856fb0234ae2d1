#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// An error that ends a measurement.
struct BenchmarkError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// A program with its arguments.
struct Program {
    /// The path of the file.
    var path: String
    var arguments: [String]
    var environment: [String: String]

    /// The cost of one run.
    struct Run {
        /// The time from the start to the exit of the process, in seconds.
        var wall: Double
        /// The user and system time of the process, in seconds.
        var processor: Double
    }

    /// Returns the path of a program in the folders of `PATH`.
    static func find(_ name: String, in environment: [String: String]) throws(BenchmarkError) -> String {
        for directory in (environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":") {
            let path = "\(directory)/\(name)"
            if access(path, X_OK) == 0 { return path }
        }
        throw BenchmarkError("\(name) is not installed; install it and run the benchmark again")
    }

    /// Runs the program once and discards its output.
    ///
    /// Waits on the calling thread, which must be the main thread.
    func run() throws(BenchmarkError) -> Run { try start(output: nil) }

    /// Returns the peak memory of one run in bytes, or `nil` if GNU time is not installed.
    ///
    /// For a child of this process, the system's figure includes this process's memory at the start. The small program
    /// `time` avoids that.
    func peakMemory() throws(BenchmarkError) -> Int? {
        #if os(Linux)
            let time = "/usr/bin/time"
            guard access(time, X_OK) == 0 else { return nil }
            let text = try Program(
                path: time, arguments: ["-f", "peak %M", "-o", "/dev/stdout", path] + arguments,
                environment: environment
            ).output()
            let line = text.split(separator: "\n").last { $0.hasPrefix("peak ") }
            return line.flatMap { Int($0.dropFirst(5)) }.map { $0 * 1024 }
        #else
            return nil
        #endif
    }

    /// Runs the program once and returns its standard output.
    func output() throws(BenchmarkError) -> String {
        var file: [CChar] = Array("/tmp/benchmarks-XXXXXX".utf8CString)
        let descriptor = mkstemp(&file)
        guard descriptor >= 0 else { throw BenchmarkError("cannot create a file for the output of \(path) in /tmp") }
        unlink(file)
        defer { close(descriptor) }
        _ = try start(output: descriptor)
        lseek(descriptor, 0, SEEK_SET)
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 * 1024)
        while case let count = read(descriptor, &chunk, chunk.count), count > 0 { bytes += chunk[..<count] }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func start(output: Int32?) throws(BenchmarkError) -> Run {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        if let output {
            posix_spawn_file_actions_adddup2(&actions, output, 1)
            posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        } else {
            posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        }
        var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer {
            for text in words + variables { free(text) }
        }
        var process = pid_t()
        var status: Int32 = 0
        var usage = rusage()
        let begin = Seconds.elapsed
        // Threads of Swift's pool have blocked signals, which the child would inherit: openssl speed waits for its
        // alarm.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var unblocked = sigset_t()
        sigemptyset(&unblocked)
        posix_spawnattr_setsigmask(&attributes, &unblocked)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        let failure = posix_spawn(&process, path, &actions, &attributes, &words, &variables)
        guard failure == 0 else {
            throw BenchmarkError("\(path) cannot start: \(String(cString: strerror(failure)))")
        }
        while wait4(process, &status, 0, &usage) < 0, errno == EINTR {}
        let wall = Seconds.elapsed - begin
        guard status == 0 else {
            throw BenchmarkError(
                "\(path) \(arguments.first ?? "") exited with wait status \(status), expected 0; to see why, run it manually"
            )
        }
        return Run(
            wall: wall, processor: Self.seconds(usage.ru_utime) + Self.seconds(usage.ru_stime))
    }

    private static func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
}
