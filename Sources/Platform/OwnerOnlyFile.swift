#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Small files, read and created with the system's own calls, so that modes are right from the first moment.
package enum OwnerOnlyFile {
    /// Why a file was not read or written: the system's error number.
    package struct Failure: Error, Equatable {
        /// `errno`, or 0 when the file is not a plain file or too large.
        package let code: Int32
        /// The reason in words.
        package let explanation: String

        /// The failure that an error number means.
        package init(_ code: Int32) {
            self.code = code
            explanation = String(cString: strerror(code))
        }

        init(explanation: String) {
            code = 0
            self.explanation = explanation
        }
    }

    /// The bytes of a plain file of at most this size.
    package static func read(_ path: String, maximumSize: Int) -> Result<[UInt8], Failure> {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return .failure(Failure(errno)) }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { return .failure(Failure(errno)) }
        if status.st_mode & S_IFMT == S_IFDIR { return .failure(Failure(explanation: "a directory")) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = posixRead(file, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return .failure(Failure(errno)) }
            if count == 0 { return .success(bytes) }
            bytes += chunk[..<count]
            guard bytes.count <= maximumSize else {
                return .failure(Failure(explanation: "a file of more than \(maximumSize) bytes"))
            }
        }
    }

    /// Creates a file with mode 0600 and these bytes, whole or not at all: it is written without a name, made durable and then
    /// linked, which fails with `EEXIST` when the name is taken. Who is killed meanwhile leaves nothing. Where the system has no
    /// files without a name, it has the suffix meanwhile.
    ///
    /// - Parameter mode: another mode than that of a secret; of this one the system takes what the process's mask takes from it.
    package static func create(
        _ path: String, _ bytes: [UInt8], suffix: String, mode: mode_t = 0o600
    ) -> Result<Void, Failure> {
        #if os(Linux)
            // O_TMPFILE, which Swift does not see.
            let nameless = open(directory(of: path), O_WRONLY | O_DIRECTORY | O_CLOEXEC | 0o20_000_000, mode)
            if nameless >= 0 {
                defer { close(nameless) }
                if let failure = fill(nameless, bytes) { return .failure(failure) }
                // A descriptor is linked by its name in /proc, which not every container has.
                if linkat(AT_FDCWD, "/proc/self/fd/\(nameless)", AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 {
                    syncDirectory(of: path)
                    return .success(())
                }
                if errno == EEXIST { return .failure(Failure(EEXIST)) }
            }
        #endif
        let temporary = path + "." + suffix
        let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
        guard file >= 0 else { return .failure(Failure(errno)) }
        defer { unlink(temporary) }
        let failure = fill(file, bytes)
        guard close(file) == 0 || failure != nil else { return .failure(Failure(errno)) }
        if let failure { return .failure(failure) }
        guard link(temporary, path) == 0 else { return .failure(Failure(errno)) }
        syncDirectory(of: path)
        return .success(())
    }

    /// Gives a file another text, whole or not at all: the new one stands beside it first, is made durable, and takes its place. A
    /// link is followed.
    ///
    /// - Parameters:
    ///   - mode: the mode to be; nil: the one that the file has.
    ///   - suffix: unpredictable letters for the name of the file beside it.
    package static func replace(
        _ path: String, _ bytes: [UInt8], mode: mode_t? = nil, suffix: String
    ) -> Result<Void, Failure> {
        var status = stat()
        guard let location = resolved(path), stat(location, &status) == 0 else { return .failure(Failure(errno)) }
        let beside = location + "." + suffix + ".new"
        if case .failure(let failure) = create(beside, bytes, suffix: suffix) { return .failure(failure) }
        guard chmod(beside, mode ?? status.st_mode & 0o777) == 0, rename(beside, location) == 0 else {
            let failure = Failure(errno)
            unlink(beside)
            return .failure(failure)
        }
        syncDirectory(of: location)
        return .success(())
    }

    /// The path without links; nil with `errno` when it leads nowhere.
    package static func resolved(_ path: String) -> String? {
        guard let text = realpath(path, nil) else { return nil }
        defer { free(text) }
        return String(cString: text)
    }

    /// Writes the bytes and makes them durable; nil when it is done.
    private static func fill(_ file: Int32, _ bytes: [UInt8]) -> Failure? {
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { posixWrite(file, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return Failure(errno) }
            written += count
        }
        return fsync(file) == 0 ? nil : Failure(errno)
    }

    package static func directory(of path: String) -> String {
        let slash = path.lastIndex(of: "/")
        return slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }

    /// Creates a folder with mode 0700, and those above it. Returns the error, and the path that cannot be created.
    package static func createFolder(_ path: String) -> (path: String, code: Int32)? {
        var folder = ""
        for part in path.split(separator: "/") {
            folder += (folder.isEmpty && !path.hasPrefix("/") ? "" : "/") + part
            if mkdir(folder, 0o700) != 0, errno != EEXIST { return (folder, errno) }
        }
        return nil
    }

    /// Makes a directory's entries durable.
    package static func syncDirectory(of path: String) {
        let descriptor = open(directory(of: path), O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }
}

private func posixRead(_ file: Int32, _ buffer: UnsafeMutableRawPointer, _ count: Int) -> Int {
    read(file, buffer, count)
}

private func posixWrite(_ file: Int32, _ buffer: UnsafeRawPointer?, _ count: Int) -> Int {
    write(file, buffer, count)
}
