/// Small files, read and created with system calls, so that their modes are never too permissive.
package enum OwnerOnlyFile {
    /// Reads a regular file of at most this size.
    ///
    /// - Parameter examine: A function that checks the open file before it is read.
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

    /// Creates a file with mode 0600 atomically: writes it without a name, syncs it, then links it.
    ///
    /// Fails with `EEXIST` if the name exists.
    ///
    /// A killed process leaves no file. On a system without nameless files, a temporary name with the suffix is used.
    ///
    /// - Parameter mode: another mode, reduced by the umask.
    package static func create(
        _ path: String, _ bytes: [UInt8], suffix: String, mode: mode_t = 0o600
    ) -> Result<Void, SystemError> {
        #if os(Linux)
            // O_TMPFILE, which Swift does not import.
            let nameless = open(directory(of: path), O_WRONLY | O_DIRECTORY | O_CLOEXEC | 0o20_000_000, mode)
            if nameless >= 0 {
                defer { close(nameless) }
                if let failure = fill(nameless, bytes) { return .failure(failure) }
                // A descriptor is linked by its name in /proc, which some containers lack.
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

    /// Replaces the content of a file atomically.
    ///
    /// Writes and syncs a temporary file in the same folder, then renames it.
    ///
    /// Follows a link.
    ///
    /// - Parameters:
    ///   - mode: the new mode. `nil` preserves the mode of the file.
    ///   - suffix: random letters for the name of the temporary file.
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

    /// Returns the path without links, or `nil` with `errno` set if its target does not exist.
    package static func resolved(_ path: String) -> String? {
        guard let text = realpath(path, nil) else { return nil }
        defer { free(text) }
        return String(cString: text)
    }

    /// Writes and syncs the bytes. Returns the error, or `nil` on success.
    private static func fill(_ file: Int32, _ bytes: [UInt8]) -> SystemError? {
        do throws(SystemError) { try FileDescriptor.write(file, bytes[...]) } catch { return error }
        return fsync(file) == 0 ? nil : SystemError()
    }

    package static func directory(of path: String) -> String {
        let slash = path.lastIndex(of: "/")
        return slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }

    /// Creates a folder with mode 0700 and its parent folders. Returns the error and the path that cannot be created.
    package static func createFolder(_ path: String) -> (path: String, code: Int32)? {
        var folder = ""
        for part in path.split(separator: "/") {
            folder += (folder.isEmpty && !path.hasPrefix("/") ? "" : "/") + part
            if mkdir(folder, 0o700) != 0, errno != EEXIST { return (folder, errno) }
        }
        return nil
    }

    /// Syncs the entries of a folder.
    package static func syncDirectory(of path: String) {
        let descriptor = open(directory(of: path), O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }
}
