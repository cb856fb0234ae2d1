import CommandLineKit
import LodgePlatform

enum StandardInput {
    /// Returns the bytes up to the end. Blocks the main thread instead of a thread of Swift's pool.
    @MainActor static func read(limit: Int) throws -> [UInt8] {
        try readAll(0, "standard input", limit, hint: "pass only the token response, as JSON")
    }

    private static func readAll(_ file: Int32, _ name: String, _ limit: Int, hint: Hint) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16 * 1024)
        while true {
            let count = try wait(thenRead: &chunk, from: file)
            if count == 0 { return bytes }
            bytes += chunk[..<count]
            guard bytes.count <= limit else {
                throw CommandError(
                    .usage, "\(name) is too large", reason: "expected at most \(limit) bytes", hint: hint)
            }
        }
    }

    /// Returns the available bytes, waiting until a time. Returns no bytes at the end, and `nil` after the time.
    @MainActor static func readAvailable(until deadline: ContinuousClock.Instant) throws -> [UInt8]? {
        var chunk = [UInt8](repeating: 0, count: 16 * 1024)
        while true {
            try Task.checkCancellation()
            let left = milliseconds(until: deadline)
            do throws(SystemError) {
                if let count = try FileDescriptor.read(0, into: &chunk, waiting: left) {
                    return Array(chunk[..<count])
                }
            } catch {
                // The client closed its socket before it read everything.
                if error.code == ECONNRESET { return [] }
                throw CommandError(.failed, "cannot read standard input", reason: error.explanation)
            }
            if left == 0 { return nil }
        }
    }

    /// Returns whether the reader of a socket on standard output has read enough for another message before a time.
    @MainActor static func acceptsOutput(until deadline: ContinuousClock.Instant) throws -> Bool {
        while true {
            try Task.checkCancellation()
            let left = milliseconds(until: deadline)
            if FileDescriptor.waitForRoom(1, left) { return true }
            if left == 0 { return false }
        }
    }

    /// Returns the time that is left, at most the interval of cancellation checks.
    private static func milliseconds(until deadline: ContinuousClock.Instant) -> Int32 {
        let left = max(.zero, deadline - ContinuousClock.now)
        return Int32(min((left / .milliseconds(1)).rounded(.up), Double(patience)))
    }

    /// Copies everything up to the end into an existing empty file.
    @MainActor static func copy(to path: String) throws { try copy(0, "standard input", to: path) }

    /// Copies the content of a pipe into an existing empty file.
    @MainActor static func copyPipe(_ pipe: String, to path: String) throws {
        let input = open(pipe, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard input >= 0 else {
            throw CommandError(
                .usage, "the pipe \(pipe) cannot be read", reason: String(cString: strerror(errno)),
                hint: "check its path and permissions")
        }
        defer { close(input) }
        try copy(input, "the pipe", to: path)
    }

    @MainActor private static func copy(_ input: Int32, _ name: String, to path: String) throws {
        let file = open(path, O_WRONLY | O_CLOEXEC)
        func failure(_ error: SystemError) -> CommandError {
            CommandError(
                .failed, "cannot save \(name) in the folder for temporary files", reason: error.explanation,
                hint: "free space there, or set TMPDIR to another folder")
        }
        guard file >= 0 else { throw failure(SystemError()) }
        defer { close(file) }
        var chunk = [UInt8](repeating: 0, count: 256 * 1024)
        while true {
            let count = try wait(thenRead: &chunk, from: input)
            if count == 0 { return }
            do throws(SystemError) { try FileDescriptor.write(file, chunk[..<count]) } catch { throw failure(error) }
        }
    }

    /// Returns whether the path is a pipe, such as a shell's `<(…)`.
    static func isPipe(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && [S_IFIFO, S_IFSOCK].contains(status.st_mode & S_IFMT)
    }

    /// Returns why the path is not a regular file, or `nil` if it is one.
    static func problem(ofFile path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0 else { return String(cString: strerror(errno)) }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return nil
        case S_IFDIR: return "it is a folder, not a file"
        default: return "it is a device, not a file"
        }
    }

    /// Returns the bytes of a pipe up to its end, or `nil` if the path is not a pipe.
    @MainActor static func readPipe(_ path: String, limit: Int) throws -> [UInt8]? {
        guard isPipe(path) else { return nil }
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return nil }
        defer { close(file) }
        return try readAll(file, path, limit, hint: "split it into several files")
    }

    /// Returns the next line without its terminator, or `nil` at the end. May consume input after the line.
    @MainActor static func readLine(limit: Int) throws -> String? {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = try wait(thenRead: &chunk)
            bytes += chunk[..<count]
            let end = bytes.firstIndex(of: UInt8(ascii: "\n"))
            guard bytes.count <= limit else {
                throw CommandError(
                    .usage, "the line is too long", reason: "expected at most \(limit) bytes",
                    hint: "paste only the requested value")
            }
            if count == 0, bytes.isEmpty { return nil }
            if count == 0 || end != nil { return String(decoding: bytes[..<(end ?? bytes.endIndex)], as: UTF8.self) }
        }
    }

    /// Returns the next line without showing it on the terminal. Always restores the terminal.
    @MainActor static func readHiddenLine(limit: Int) throws -> String? {
        var shown = termios()
        guard tcgetattr(0, &shown) == 0 else { return try readLine(limit: limit) }
        var hidden = shown
        hidden.c_lflag &= ~tcflag_t(ECHO)
        // Text typed before the prompt was visible and is not the reply, so discard it.
        tcsetattr(0, TCSAFLUSH, &hidden)
        defer { tcsetattr(0, TCSANOW, &shown) }
        return try readLine(limit: limit)
    }

    /// The interval of cancellation checks during a read, in milliseconds.
    private static let patience: Int32 = 100

    /// Waits for bytes or the end, then reads. Ctrl-C ends the wait.
    private static func wait(thenRead chunk: inout [UInt8], from file: Int32 = 0) throws -> Int {
        while true {
            try Task.checkCancellation()
            do throws(SystemError) {
                if let count = try FileDescriptor.read(file, into: &chunk, waiting: patience) { return count }
            } catch {
                throw CommandError(
                    .failed, "cannot read \(file == 0 ? "standard input" : "the pipe")", reason: error.explanation)
            }
        }
    }
}
