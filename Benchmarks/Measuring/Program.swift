#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// What ended a measurement.
struct BenchmarkError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// A program with its arguments, run from its beginning to its end.
struct Program {
    /// The path of the file.
    var path: String
    var arguments: [String]
    var environment: [String: String]

    /// What one run took.
    struct Run {
        /// From before the start until the process is gone, in seconds.
        var wall: Double
        /// On processors, its own and the system's on its behalf, in seconds.
        var processor: Double
    }

    /// The program of this name in the directories of `PATH`.
    static func find(_ name: String, in environment: [String: String]) throws(BenchmarkError) -> String {
        for directory in (environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":") {
            let path = "\(directory)/\(name)"
            if access(path, X_OK) == 0 { return path }
        }
        throw BenchmarkError("there is no program \(name) to compare with; install it and run the benchmark again")
    }

    /// Runs it once with its output thrown away.
    ///
    /// It waits on the calling thread, which must be the main one.
    func run() throws(BenchmarkError) -> Run { try start(output: nil) }

    /// The most memory of one run, in bytes; nil where GNU time is not there to tell.
    ///
    /// What the system tells of a process that was started from here begins with the memory of this one. The small program
    /// `time` starts it from its own.
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

    /// Runs it once and gives its standard output.
    func output() throws(BenchmarkError) -> String {
        var file: [CChar] = Array("/tmp/benchmarks-XXXXXX".utf8CString)
        let descriptor = mkstemp(&file)
        guard descriptor >= 0 else { throw BenchmarkError("no file for the output of \(path) can be made in /tmp") }
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
        // Threads of Swift's pool have signals blocked, which a child would inherit: openssl speed waits for its alarm.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var unblocked = sigset_t()
        sigemptyset(&unblocked)
        posix_spawnattr_setsigmask(&attributes, &unblocked)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        let failure = posix_spawn(&process, path, &actions, &attributes, &words, &variables)
        guard failure == 0 else {
            throw BenchmarkError("\(path) cannot be started: \(String(cString: strerror(failure)))")
        }
        while wait4(process, &status, 0, &usage) < 0, errno == EINTR {}
        let wall = Seconds.elapsed - begin
        guard status == 0 else {
            throw BenchmarkError(
                "\(path) \(arguments.first ?? "") ended with the wait status \(status), expected 0; run it by hand to see why"
            )
        }
        return Run(
            wall: wall, processor: Self.seconds(usage.ru_utime) + Self.seconds(usage.ru_stime))
    }

    private static func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
}
