import CommandLineKit
import LodgePlatform
import OAuth2AccountStore

/// A file that a command writes in addition to its output, such as the file of `--photo`.
///
/// The write is atomic, follows links and preserves the mode. A pipe or a device is only written to.
struct OutputFile {
    let path: String
    /// Sleeps while waiting for the reader of a pipe.
    let sleep: @Sendable (Duration) async throws -> Void
    /// Random letters for the name of the temporary file in the same folder.
    let suffix: String

    private static let pollInterval = Duration.milliseconds(20)

    /// Writes the bytes.
    ///
    /// - Throws: ``SystemError`` with the reason of the system.
    @MainActor func write(_ bytes: [UInt8]) async throws {
        var status = stat()
        let isThere = stat(path, &status) == 0
        if !isThere, errno != ENOENT { throw SystemError() }
        guard isThere else {
            let made = OwnerOnlyFile.create(path, bytes, suffix: suffix, mode: 0o666)
            guard case .failure(let failure) = made else { return }
            guard failure.code == EEXIST else { throw failure }
            // For a dangling link, the system creates the target.
            return try await send(bytes, O_CREAT, isPipe: false)
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            return try await send(bytes, 0, isPipe: status.st_mode & S_IFMT == S_IFIFO)
        }
        try OwnerOnlyFile.replace(path, bytes, suffix: suffix).get()
    }

    /// Writes to a pipe or a device and waits for its reader without blocking a thread.
    @MainActor private func send(_ bytes: [UInt8], _ flags: Int32, isPipe: Bool) async throws {
        var file = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags, 0o666)
        var code = errno
        while file < 0 {
            guard isPipe, code == ENXIO else { throw SystemError(code) }
            try await sleep(Self.pollInterval)
            file = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK)
            code = errno
        }
        defer { close(file) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = try FileDescriptor.writeAvailable(file, rest)
            rest = rest.dropFirst(count)
            if count == 0 { try await sleep(Self.pollInterval) }
        }
    }
}

extension Dependencies {
    /// Returns random letters for a file name.
    func randomLetters() throws -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: try random(8).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

extension CommandContext {
    /// Writes the file of an option. `subject` describes it in messages.
    func write(_ bytes: [UInt8], to path: String, _ subject: String) async throws {
        let dependencies = dependencies()
        let file = OutputFile(path: path, sleep: dependencies.sleep, suffix: try dependencies.randomLetters())
        do {
            try await file.write(bytes)
        } catch let error as SystemError {
            throw CommandError(
                .failed, "cannot write \(subject) to \(path)", reason: error.explanation,
                hint: "choose a file in a writable folder")
        }
    }
}
