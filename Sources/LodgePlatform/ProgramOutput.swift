import Synchronization

/// The output of a program that this process runs to its end.
package struct ProgramOutput: Sendable {
    /// The standard output.
    package var output: [UInt8] = []
    /// The standard error.
    package var errors: [UInt8] = []
    /// The exit status, or 128 and the number of the signal that ended the program.
    package var status: Int32 = 0

    /// The reason why a program did not run to its end.
    package enum Failure: Error, Equatable {
        /// The program cannot be started.
        case cannotStart(SystemError)
        /// The program did not end within its time limit.
        case timedOut
        /// The standard output is larger than its limit.
        case tooLarge
        /// The task was cancelled.
        case cancelled
    }

    /// Runs a program, searched for in `PATH`, without input and in its own process group.
    ///
    /// When it ends, or after a failure, the whole group is terminated, so that no process of it remains.
    ///
    /// - Parameters:
    ///   - words: The program and its arguments. No shell parses them.
    ///   - timeout: The time limit of the program.
    ///   - maximumSize: The maximum size of the standard output in bytes. More of standard error is ignored.
    package static func run(
        _ words: [String], environment: [String: String], timeout: Duration, maximumSize: Int
    ) async throws(Failure) -> ProgramOutput {
        let isCancelled = CancellationFlag()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                DetachedThread.run {
                    continuation.resume(
                        returning: Result<ProgramOutput, Failure> { () throws(Failure) in
                            try runBlocking(words, environment, timeout, maximumSize, isCancelled)
                        })
                }
            }
        } onCancel: {
            isCancelled.set()
        }
        return try result.get()
    }

    private final class CancellationFlag: Sendable {
        private let flag = Atomic<Bool>(false)
        func set() { flag.store(true, ordering: .releasing) }
        var isSet: Bool { flag.load(ordering: .acquiring) }
    }

    /// The time between two checks for the end of the program and for cancellation, in milliseconds.
    private static let interval: Int32 = 20
    /// The time between the request to end and SIGKILL.
    private static let grace = Duration.milliseconds(500)

    private static func runBlocking(
        _ words: [String], _ environment: [String: String], _ timeout: Duration, _ maximumSize: Int,
        _ cancellation: CancellationFlag
    ) throws(Failure) -> ProgramOutput {
        let output = try makePipe()
        defer { close(output.read) }
        let errors: (read: Int32, write: Int32)
        do throws(Failure) {
            errors = try makePipe()
        } catch {
            close(output.write)
            throw error
        }
        defer { close(errors.read) }
        let started = ChildProcess.start(
            words, environment: environment, input: nil, output: output.write, errors: errors.write,
            isSilent: false, hasOwnGroup: true)
        close(output.write)
        close(errors.write)
        let child: pid_t
        switch started {
        case .success(let process): child = process
        case .failure(let error): throw .cannotStart(error)
        }
        let deadline = ContinuousClock.now + timeout
        var result = ProgramOutput()
        var failure: Failure?
        while failure == nil {
            // Check for the end first, so that the output that is written before it is read below.
            let hasEnded = hasEnded(child)
            wait(for: [output.read, errors.read], milliseconds: hasEnded ? 0 : interval)
            readAvailable(output.read, into: &result.output, limit: maximumSize + 1)
            readAvailable(errors.read, into: &result.errors, limit: maximumSize)
            if result.output.count > maximumSize { failure = .tooLarge }
            if hasEnded { break }
            if ContinuousClock.now >= deadline { failure = .timedOut }
            if cancellation.isSet { failure = .cancelled }
        }
        if failure != nil { terminate(child) }
        // The leader is not reaped yet, so the identifier of the group is not in use by another one.
        kill(-child, SIGKILL)
        let word = ChildProcess.waitForExit(child)
        if let failure { throw failure }
        let signal = word & 0x7F
        result.status = signal == 0 ? (word >> 8) & 0xFF : 128 + signal
        return result
    }

    /// Asks the group to end, and waits a short time for its leader.
    private static func terminate(_ child: pid_t) {
        kill(-child, SIGTERM)
        let end = ContinuousClock.now + grace
        while !hasEnded(child), ContinuousClock.now < end { usleep(useconds_t(interval) * 1000) }
    }

    /// Returns whether a child has ended, and leaves its status for `waitpid`.
    private static func hasEnded(_ child: pid_t) -> Bool {
        var information = siginfo_t()
        var code: Int32 = 0
        repeat {
            code = waitid(P_PID, id_t(child), &information, WEXITED | WNOWAIT | WNOHANG)
        } while code < 0 && errno == EINTR
        return code < 0 || information.si_signo == SIGCHLD
    }

    private static func makePipe() throws(Failure) -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw .cannotStart(SystemError()) }
        // Another thread can start a program before this. It then has the pipe too, which has no effect: the end of the program
        // ends the loop above, not the end of the pipe.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        return (ends[0], ends[1])
    }

    private static func wait(for files: [Int32], milliseconds: Int32) {
        var requests = files.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        _ = poll(&requests, nfds_t(requests.count), milliseconds)
        // At the end of both streams, poll returns immediately. Do not use the processor until the program ends.
        let isAtEnd = requests.allSatisfy { $0.revents & Int16(POLLIN) == 0 && $0.revents != 0 }
        if isAtEnd, milliseconds > 0 { usleep(useconds_t(milliseconds) * 1000) }
    }

    /// Reads the available bytes of a pipe. Ignores bytes above the limit, so that the program is not blocked.
    private static func readAvailable(_ file: Int32, into bytes: inout [UInt8], limit: Int) {
        var chunk = [UInt8](repeating: 0, count: 16 * 1024)
        while true {
            let count = read(file, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            bytes += chunk[..<min(count, max(0, limit - bytes.count))]
            if bytes.count >= limit { return }
        }
    }
}
