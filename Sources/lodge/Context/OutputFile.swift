import CommandLineKit
import Platform
import OAuth2AccountStore

/// A file that a command writes beside its answer, such as that of `--photo`.
///
/// A file is written whole or not at all: who waits for it never reads half of it. Its links are followed, and it keeps its mode. What
/// is no file, such as a pipe or a device, is written to and stays what it is.
struct OutputFile {
    let path: String
    /// Waits for the reader of a pipe.
    let sleep: @Sendable (Duration) async throws -> Void
    /// Unpredictable letters for the name of the file beside it.
    let suffix: String

    private static let pause = Duration.milliseconds(20)

    /// Writes these bytes and nothing else.
    ///
    /// - Throws: ``SystemError`` with the system's reason; what `sleep` throws.
    @MainActor
    func write(_ bytes: [UInt8]) async throws {
        var status = stat()
        let isThere = stat(path, &status) == 0
        if !isThere, errno != ENOENT { throw SystemError() }
        guard isThere else {
            let made = OwnerOnlyFile.create(path, bytes, suffix: suffix, mode: 0o666)
            guard case .failure(let failure) = made else { return }
            guard failure.code == EEXIST else { throw failure }
            // A link that leads to no file yet: the system makes that one.
            return try await send(bytes, O_CREAT, isPipe: false)
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            return try await send(bytes, 0, isPipe: status.st_mode & S_IFMT == S_IFIFO)
        }
        try OwnerOnlyFile.replace(path, bytes, suffix: suffix).get()
    }

    /// Writes to what is there, and waits for its reader without holding a thread.
    @MainActor
    private func send(_ bytes: [UInt8], _ flags: Int32, isPipe: Bool) async throws {
        var file = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags, 0o666)
        var code = errno
        while file < 0 {
            guard isPipe, code == ENXIO else { throw SystemError(code) }
            try await sleep(Self.pause)
            file = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK)
            code = errno
        }
        defer { close(file) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = try FileDescriptor.writeAvailable(file, rest)
            rest = rest.dropFirst(count)
            if count == 0 { try await sleep(Self.pause) }
        }
    }
}

extension Dependencies {
    /// Returns unpredictable letters for the name of a file.
    func randomLetters() throws -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: try random(8).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

extension CommandContext {
    /// The file that an option names.
    func writtenFile(_ path: String) throws -> OutputFile {
        let dependencies = dependencies()
        return OutputFile(
            path: path, sleep: dependencies.sleep, suffix: try dependencies.randomLetters())
    }
}
