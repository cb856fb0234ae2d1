#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A program in a separate terminal, whose other side is in this process.
@MainActor
final class PseudoTerminal {
    private let master: Int32
    private let child: pid_t
    /// The output since the last ``forget()``.
    private(set) var shown: [UInt8] = []

    /// `POSIX_SPAWN_SETSID`, which Glibc declares only with GNU extensions.
    #if canImport(Darwin)
        private static let newSession = Int16(POSIX_SPAWN_SETSID)
    #else
        private static let newSession: Int16 = 0x80
    #endif

    /// Creates a terminal of this size and starts a program in it.
    init(_ program: Program, columns: UInt16 = 120, rows: UInt16 = 40) throws(BenchmarkError) {
        let name: String
        (master, name) = try Self.open()
        _ = fcntl(master, F_SETFD, FD_CLOEXEC)
        var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(master, UInt(TIOCSWINSZ), &size)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // The first terminal that a session leader opens becomes its controlling terminal.
        posix_spawn_file_actions_addopen(&actions, 0, name, O_RDWR, 0)
        posix_spawn_file_actions_adddup2(&actions, 0, 1)
        posix_spawn_file_actions_adddup2(&actions, 0, 2)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var unblocked = sigset_t()
        sigemptyset(&unblocked)
        posix_spawnattr_setsigmask(&attributes, &unblocked)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK) | Self.newSession)
        var words: [UnsafeMutablePointer<CChar>?] = ([program.path] + program.arguments).map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] =
            program.environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in words + variables { free(text) } }
        var child = pid_t()
        guard posix_spawn(&child, program.path, &actions, &attributes, &words, &variables) == 0 else {
            throw BenchmarkError("\(program.path) cannot start")
        }
        self.child = child
    }

    /// Opens a pseudoterminal and returns its master and the name of its slave.
    private static func open() throws(BenchmarkError) -> (master: Int32, name: String) {
        let failure = BenchmarkError("the system has no free pseudoterminal")
        #if os(Linux)
            // Glibc declares posix_openpt only with a feature macro; this is its implementation.
            let master = openFile("/dev/ptmx", O_RDWR | O_NOCTTY)
            var (number, isLocked): (UInt32, Int32) = (0, 0)
            guard master >= 0, ioctl(master, 0x4004_5431, &isLocked) == 0, ioctl(master, 0x8004_5430, &number) == 0
            else { throw failure }
            return (master, "/dev/pts/\(number)")
        #else
            let master = posix_openpt(O_RDWR | O_NOCTTY)
            guard master >= 0, grantpt(master) == 0, unlockpt(master) == 0, let name = ptsname(master) else {
                throw failure
            }
            return (master, String(cString: name))
        #endif
    }

    /// Ends the program.
    func close() {
        kill(child, SIGTERM)
        var status: Int32 = 0
        for _ in 0..<200 where waitpid(child, &status, WNOHANG) == 0 {
            read(for: 0.01)
        }
        kill(child, SIGKILL)
        waitpid(child, &status, 0)
        _ = closeFile(master)
    }

    /// Types `text`.
    func type(_ text: String) {
        let bytes = Array(text.utf8)
        _ = write(master, bytes, bytes.count)
    }

    /// Reads for this time, in seconds, and returns the time of the last byte.
    @discardableResult
    func read(for seconds: Double) -> Double? {
        let end = Seconds.elapsed + seconds
        var last: Double?
        while case let left = end - Seconds.elapsed, left > 0 {
            guard readOnce(patience: left) else { continue }
            last = Seconds.elapsed
        }
        return last
    }

    /// Reads until the terminal shows `text`.
    func wait(for text: String, seconds: Double = 60) throws(BenchmarkError) {
        let wanted = Array(text.utf8)
        let end = Seconds.elapsed + seconds
        while !shown.contains(wanted) {
            guard Seconds.elapsed < end else {
                throw BenchmarkError("the terminal does not show \(text.debugDescription)")
            }
            _ = readOnce(patience: 0.1)
        }
    }

    /// Returns the time from a key to the end of its output: the last bytes before a pause of 4 ms.
    func time(of key: String) throws(BenchmarkError) -> Double {
        shown = []
        let begin = Seconds.elapsed
        type(key)
        guard readOnce(patience: 2) else { throw BenchmarkError("the key \(key.debugDescription) shows nothing") }
        var last = Seconds.elapsed
        while readOnce(patience: 0.004) { last = Seconds.elapsed }
        return last - begin
    }

    func forget() { shown = [] }

    private func readOnce(patience: Double) -> Bool {
        var input = pollfd(fd: master, events: Int16(POLLIN), revents: 0)
        guard poll(&input, 1, Int32((patience * 1000).rounded(.up))) > 0 else { return false }
        var bytes = [UInt8](repeating: 0, count: 64 * 1024)
        let count = readFile(master, &bytes, bytes.count)
        guard count > 0 else { return false }
        shown += bytes[..<count]
        return true
    }

    /// The processor time of the program in seconds, or `nil` if the system does not report it precisely.
    var processor: Double? {
        #if os(Linux)
            var clock = clockid_t()
            var time = timespec()
            guard clock_getcpuclockid(child, &clock) == 0, clock_gettime(clock, &time) == 0 else { return nil }
            return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        #else
            return nil
        #endif
    }
}

private func readFile(_ file: Int32, _ bytes: inout [UInt8], _ count: Int) -> Int {
    #if canImport(Glibc)
        Glibc.read(file, &bytes, count)
    #elseif canImport(Musl)
        Musl.read(file, &bytes, count)
    #else
        Darwin.read(file, &bytes, count)
    #endif
}

private func openFile(_ path: String, _ flags: Int32) -> Int32 {
    #if canImport(Glibc)
        Glibc.open(path, flags)
    #elseif canImport(Musl)
        Musl.open(path, flags)
    #else
        Darwin.open(path, flags)
    #endif
}

private func closeFile(_ file: Int32) -> Int32 {
    #if canImport(Glibc)
        Glibc.close(file)
    #elseif canImport(Musl)
        Musl.close(file)
    #else
        Darwin.close(file)
    #endif
}
