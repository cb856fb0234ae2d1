import LodgePlatform

/// The destination of a download.
struct DownloadTarget: Sendable {
    /// The path of the file after resolving symbolic links.
    let path: String
    /// Whether the destination is neither a regular file nor a folder, for example a pipe.
    let isSpecial: Bool

    /// Creates the destination and checks it.
    init(_ path: String) throws(HTTPFileError) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            let code = errno
            let end = Self.end(ofLinks: path)
            guard code == ENOENT, !end.isEmpty, !end.hasSuffix("/") else {
                throw HTTPFileError(path: path, reason: "a download cannot be saved here (\(systemMessage(code))).")
            }
            self.path = end
            isSpecial = false
            return
        }
        guard status.st_mode & S_IFMT != S_IFDIR else {
            throw HTTPFileError(path: path, reason: "this is a folder. Add the name of the file.")
        }
        isSpecial = status.st_mode & S_IFMT != S_IFREG
        // Renaming would replace a write-protected file, but the protection is intentional.
        guard isSpecial || (status.st_mode & 0o222 != 0 && access(path, W_OK) == 0) else {
            throw HTTPFileError(
                path: path, reason: "this file is not writable. Make it writable, or choose another path.")
        }
        guard !isSpecial, let resolved = realpath(path, nil) else {
            self.path = path
            return
        }
        self.path = String(cString: resolved)
        free(resolved)
    }

    /// Returns the target of dangling symbolic links.
    private static func end(ofLinks path: String) -> String {
        var path = path
        for _ in 0..<40 {
            var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
            let count = readlink(path, &bytes, bytes.count)
            guard count > 0, count < bytes.count else { return path }
            let next = String(decoding: bytes[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
            path = next.hasPrefix("/") ? next : folder + next
        }
        return path
    }

    /// Opens a special file. May block, for example for the reader of a pipe.
    func openDirectly() throws(HTTPFileError) -> OpenFile {
        let descriptor = FileDescriptor.open(path, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw HTTPFileError(
                path: path, reason: "it cannot be written to (\(systemMessage())); check its permissions.")
        }
        return OpenFile(descriptor: descriptor, path: path)
    }
}

/// An incomplete download: `.NAME.part` next to its destination, and `.NAME.part.from`, which describes its origin.
///
/// Every method may block for the disk. A file lock excludes other downloads to the same destination, even by other
/// processes.
final class PartialFile: Sendable {
    /// The end of an earlier attempt.
    struct Resumption: Sendable {
        let size: Int64
        /// The validator of the content for `If-Range`.
        let validator: String
    }

    let file: OpenFile
    /// The earlier attempt, or `nil` if none can be resumed.
    let resumption: Resumption?

    private let target: String
    private let path: String
    private let mark: String
    private let keeps: Bool
    private let address: String

    /// Creates or opens the file and locks it for this download.
    init(_ target: DownloadTarget, url: URL, resuming: Bool) throws(HTTPFileError) {
        self.target = target.path
        let slash = target.path.lastIndex(of: "/").map { target.path.index(after: $0) } ?? target.path.startIndex
        // A file name has at most 255 bytes.
        var name = String(target.path[slash...])
        while name.utf8.count > 240 { name.removeLast() }
        path = target.path[..<slash] + ".\(name).part"
        mark = path + ".from"
        keeps = resuming
        address = Self.fingerprint(url.absoluteString)
        let file = try Self.open(path, for: target.path)
        self.file = file
        let size = Int64(lseek(file.descriptor, 0, SEEK_END))
        if resuming, size > 0, let validator = Self.validator(in: mark, of: address) {
            resumption = Resumption(size: size, validator: validator)
        } else {
            resumption = nil
        }
    }

    private static func open(_ path: String, for target: String) throws(HTTPFileError) -> OpenFile {
        for _ in 0..<8 {
            // Do not follow a symbolic link, which another user may have created.
            let descriptor = FileDescriptor.open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o600)
            guard descriptor >= 0 else {
                throw HTTPFileError(
                    path: target,
                    reason:
                        "a download cannot be saved here (\(systemMessage())); check that its folder is there and can be"
                        + " written.")
            }
            let file = OpenFile(descriptor: descriptor, path: target)
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                throw HTTPFileError(
                    path: target,
                    reason: "another download to this path is in progress. Wait for it, or choose another path.")
            }
            var opened = stat()
            var named = stat()
            // A hard link would be another file of the user, which the download would overwrite.
            guard fstat(descriptor, &opened) == 0, opened.st_mode & S_IFMT == S_IFREG, opened.st_uid == geteuid(),
                opened.st_nlink <= 1
            else {
                throw HTTPFileError(
                    path: path,
                    reason: "the download cannot use this file, which it did not create: it belongs to another user,"
                        + " has several hard links or is not a regular file; remove it.")
            }
            // Other users must not read it before it is complete, even if an earlier partial file was readable.
            _ = fchmod(descriptor, 0o600)
            // Between open and lock, another download may have finished and renamed the file.
            if lstat(path, &named) == 0, named.st_ino == opened.st_ino, named.st_dev == opened.st_dev { return file }
        }
        throw HTTPFileError(path: target, reason: "other downloads use this path. Choose another path.")
    }

    /// Empties the file for content with this validator. Without a validator, the download cannot be resumed.
    func startOver(_ validator: String?) throws(HTTPFileError) {
        _ = unlink(mark)
        guard ftruncate(file.descriptor, 0) == 0, lseek(file.descriptor, 0, SEEK_SET) == 0 else {
            throw HTTPFileError(path: target, reason: "the download cannot be started over (\(systemMessage())).")
        }
        guard keeps, let validator else { return }
        let descriptor = FileDescriptor.open(mark, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        // Without it the download continues, but cannot be resumed.
        guard descriptor >= 0 else { return }
        try? OpenFile(descriptor: descriptor, path: mark).write(Data("\(address)\n\(validator)\n".utf8))
    }

    /// Returns the number of bytes in the file.
    func size() throws(HTTPFileError) -> Int64 {
        let size = Int64(lseek(file.descriptor, 0, SEEK_END))
        guard size >= 0 else {
            throw HTTPFileError(path: target, reason: "the unfinished download cannot be read (\(systemMessage())).")
        }
        return size
    }

    /// Renames the complete file to its destination and returns its size.
    func finish() throws(HTTPFileError) -> Int64 {
        let size = try size()
        if let mode = finalMode() { _ = fchmod(file.descriptor, mode) }
        guard rename(path, target) == 0 else {
            throw HTTPFileError(path: target, reason: "the finished download cannot be put here (\(systemMessage())).")
        }
        _ = unlink(mark)
        return size
    }

    /// Returns the permissions of the replaced file, or the default for a new file in this folder.
    ///
    /// Returns `nil` if they are unknown; then only the owner can read the file.
    private func finalMode() -> mode_t? {
        var status = stat()
        if stat(target, &status) == 0 { return status.st_mode & 0o777 }
        // The umask can only be read by setting it for the whole process, and a folder can have default ACLs. Create a
        // sample file instead.
        let example = path + ".mode"
        let descriptor = FileDescriptor.open(example, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer {
            FileDescriptor.close(descriptor)
            _ = unlink(example)
        }
        return fstat(descriptor, &status) == 0 ? status.st_mode & 0o777 : nil
    }

    /// Removes files that cannot be resumed.
    ///
    /// - Returns: Whether a partial file remains that can be resumed.
    @discardableResult
    func leave() async -> Bool {
        let stays = try? await FileThread.run { [self] () throws(HTTPFileError) in
            // Other threads may reference the file slightly longer, and the next download must be able to lock it.
            defer { _ = flock(file.descriptor, LOCK_UN) }
            let size = lseek(file.descriptor, 0, SEEK_END)
            guard size <= 0 || Self.validator(in: mark, of: address) == nil else { return keeps }
            _ = unlink(mark)
            _ = unlink(path)
            return false
        }
        return stays ?? false
    }

    // MARK: - Origin of the content

    /// Returns the strong validator of a response's content, or `nil` if a partial download cannot be resumed.
    ///
    /// See [RFC 9110 section 8.8](https://www.rfc-editor.org/rfc/rfc9110#section-8.8).
    static func validator(of fields: HTTPFields) -> String? {
        guard fields["Content-Encoding"].map({ $0.lowercased() == "identity" }) ?? true,
            fields["Accept-Ranges"]?.lowercased() != "none"
        else { return nil }
        if let tag = fields["ETag"] {
            return tag.hasPrefix("\"") && tag.utf8.count <= 1024 && HTTPFields.isValue(tag) ? tag : nil
        }
        // Last-Modified is strong if it is at least a minute before Date.
        guard let text = fields["Last-Modified"], let modified = HTTPDate.parse(text),
            let date = fields["Date"].flatMap(HTTPDate.parse), date.timeIntervalSince(modified) >= 60
        else { return nil }
        return text
    }

    private static func validator(in mark: String, of address: String) -> String? {
        guard let content = FileManager.default.contents(atPath: mark), content.count <= 2048 else { return nil }
        let lines = String(decoding: content, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count == 3, lines[0] == address, !lines[1].isEmpty, HTTPFields.isValue(lines[1])
        else {
            return nil
        }
        return String(lines[1])
    }

    /// Returns an FNV-1a hash of a URL: enough to distinguish two URLs, without secrets of the query.
    private static func fingerprint(_ text: String) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return String(hash, radix: 16)
    }
}
