/// Small files, read and created with the system's own calls, so that modes are right from the first moment.
package enum OwnerOnlyFile {
    /// The bytes of a plain file of at most this size.
    ///
    /// - Parameter examine: A function that examines the open file before it is read.
    package static func read(
        _ path: String, maximumSize: Int, examine: (_ descriptor: Int32) -> Void = { _ in }
    ) -> Result<[UInt8], SystemError> {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return .failure(SystemError()) }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { return .failure(SystemError()) }
        if status.st_mode & S_IFMT == S_IFDIR { return .failure(SystemError(explanation: "a directory")) }
        examine(file)
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 * 1024)
        do throws(SystemError) {
            while true {
                let count = try FileDescriptor.read(file, into: &chunk)
                if count == 0 { return .success(bytes) }
                bytes += chunk[..<count]
                guard bytes.count <= maximumSize else {
                    return .failure(SystemError(explanation: "a file of more than \(maximumSize) bytes"))
                }
            }
        } catch {
            return .failure(error)
        }
    }

    /// Creates a file with mode 0600 and these bytes, whole or not at all: it is written without a name, made durable and then
    /// linked, which fails with `EEXIST` when the name is taken. Who is killed meanwhile leaves nothing. Where the system has no
    /// files without a name, it has the suffix meanwhile.
    ///
    /// - Parameter mode: another mode than that of a secret; of this one the system takes what the process's mask takes from it.
    package static func create(
        _ path: String, _ bytes: [UInt8], suffix: String, mode: mode_t = 0o600
    ) -> Result<Void, SystemError> {
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
                if errno == EEXIST { return .failure(SystemError(EEXIST)) }
            }
        #endif
        let temporary = path + "." + suffix
        let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
        guard file >= 0 else { return .failure(SystemError()) }
        defer { unlink(temporary) }
        let failure = fill(file, bytes)
        guard close(file) == 0 || failure != nil else { return .failure(SystemError()) }
        if let failure { return .failure(failure) }
        guard link(temporary, path) == 0 else { return .failure(SystemError()) }
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
    ) -> Result<Void, SystemError> {
        var status = stat()
        guard let location = resolved(path), stat(location, &status) == 0 else { return .failure(SystemError()) }
        let beside = location + "." + suffix + ".new"
        if case .failure(let failure) = create(beside, bytes, suffix: suffix) { return .failure(failure) }
        guard chmod(beside, mode ?? status.st_mode & 0o777) == 0, rename(beside, location) == 0 else {
            let failure = SystemError()
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
    private static func fill(_ file: Int32, _ bytes: [UInt8]) -> SystemError? {
        do throws(SystemError) { try FileDescriptor.write(file, bytes[...]) } catch { return error }
        return fsync(file) == 0 ? nil : SystemError()
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
