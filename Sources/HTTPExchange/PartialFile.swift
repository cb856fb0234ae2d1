import Platform

/// Where a download is to be saved.
struct DownloadTarget: Sendable {
    /// The file's own path, behind any symbolic links.
    let path: String
    /// Whether there is something that is neither a file nor a folder, such as a pipe.
    let isSpecial: Bool

    /// Looks at the place.
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
        // Its folder would let it be replaced, but it was protected from that on purpose.
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

    /// Where symbolic links lead to that end at nothing yet.
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

    /// Opens what is no file. May wait, as for the reader of a pipe.
    func openDirectly() throws(HTTPFileError) -> OpenFile {
        let descriptor = FileDescriptor.open(path, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw HTTPFileError(
                path: path, reason: "it cannot be written to (\(systemMessage())); check its permissions.")
        }
        return OpenFile(descriptor: descriptor, path: path)
    }
}

/// A download that is not complete yet: `.NAME.part` beside its place, and `.NAME.part.from`, which says what it is a part of.
///
/// Every method may wait for the disk. A lock on the file keeps two downloads to the same place apart, also of two processes.
final class PartialFile: Sendable {
    /// Where an earlier attempt ended.
    struct Resumption: Sendable {
        let size: Int64
        /// The name of the content for `If-Range`.
        let validator: String
    }

    let file: OpenFile
    /// The earlier attempt, if there was one that can be continued.
    let resumption: Resumption?

    private let target: String
    private let path: String
    private let mark: String
    private let keeps: Bool
    private let address: String

    /// Opens or makes the file, and takes it for this download alone.
    init(_ target: DownloadTarget, url: URL, resuming: Bool) throws(HTTPFileError) {
        self.target = target.path
        let slash = target.path.lastIndex(of: "/").map { target.path.index(after: $0) } ?? target.path.startIndex
        // A name has room for 255 bytes.
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
            // Not through a symbolic link, which somebody else may have put there.
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
            // A second name would be another file of the user, which the download would overwrite.
            guard fstat(descriptor, &opened) == 0, opened.st_mode & S_IFMT == S_IFREG, opened.st_uid == geteuid(),
                opened.st_nlink <= 1
            else {
                throw HTTPFileError(
                    path: path,
                    reason: "the download cannot use this file, which it did not create: it belongs to another user,"
                        + " has several hard links or is not a regular file; remove it.")
            }
            // Nobody else reads it before it is complete, even if one was left that could be read.
            _ = fchmod(descriptor, 0o600)
            // The one before may have finished, and given the file its name, between the opening and the lock.
            if lstat(path, &named) == 0, named.st_ino == opened.st_ino, named.st_dev == opened.st_dev { return file }
        }
        throw HTTPFileError(path: target, reason: "other downloads use this path. Choose another path.")
    }

    /// Empties the file, for content of this name. Without one it cannot be continued.
    func startOver(_ validator: String?) throws(HTTPFileError) {
        _ = unlink(mark)
        guard ftruncate(file.descriptor, 0) == 0, lseek(file.descriptor, 0, SEEK_SET) == 0 else {
            throw HTTPFileError(path: target, reason: "the download cannot be started over (\(systemMessage())).")
        }
        guard keeps, let validator else { return }
        let descriptor = FileDescriptor.open(mark, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        // Without it the download goes on; it only cannot be continued.
        guard descriptor >= 0 else { return }
        try? OpenFile(descriptor: descriptor, path: mark).write(Data("\(address)\n\(validator)\n".utf8))
    }

    /// How many bytes are there.
    func size() throws(HTTPFileError) -> Int64 {
        let size = Int64(lseek(file.descriptor, 0, SEEK_END))
        guard size >= 0 else {
            throw HTTPFileError(path: target, reason: "the unfinished download cannot be read (\(systemMessage())).")
        }
        return size
    }

    /// Gives the complete file its name, and its size back.
    func finish() throws(HTTPFileError) -> Int64 {
        let size = try size()
        if let mode = finalMode() { _ = fchmod(file.descriptor, mode) }
        guard rename(path, target) == 0 else {
            throw HTTPFileError(path: target, reason: "the finished download cannot be put here (\(systemMessage())).")
        }
        _ = unlink(mark)
        return size
    }

    /// The permissions of the file that is replaced, or those that the system gives a new one here; nil where they are not known, and
    /// then only its owner can read it.
    private func finalMode() -> mode_t? {
        var status = stat()
        if stat(target, &status) == 0 { return status.st_mode & 0o777 }
        // The mask can be asked for only by setting it, for the whole process; a folder may have rules of its own. So: an example.
        let example = path + ".mode"
        let descriptor = FileDescriptor.open(example, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer {
            FileDescriptor.close(descriptor)
            _ = unlink(example)
        }
        return fstat(descriptor, &status) == 0 ? status.st_mode & 0o777 : nil
    }

    /// Removes what nobody could continue.
    ///
    /// - Returns: Whether something stays that can be continued.
    @discardableResult
    func leave() async -> Bool {
        let stays = try? await FileThread.run { [self] () throws(HTTPFileError) in
            // Other threads may hold the file for a moment longer: the next download must not find it locked.
            defer { _ = flock(file.descriptor, LOCK_UN) }
            let size = lseek(file.descriptor, 0, SEEK_END)
            guard size <= 0 || Self.validator(in: mark, of: address) == nil else { return keeps }
            _ = unlink(mark)
            _ = unlink(path)
            return false
        }
        return stays ?? false
    }

    // MARK: - What it is a part of

    /// The strong name of an answer's content; nil where there is none, and a part of it is worth nothing later.
    ///
    /// [RFC 9110 section 8.8](https://www.rfc-editor.org/rfc/rfc9110#section-8.8)
    static func validator(of fields: HTTPFields) -> String? {
        guard fields["Content-Encoding"].map({ $0.lowercased() == "identity" }) ?? true,
            fields["Accept-Ranges"]?.lowercased() != "none"
        else { return nil }
        if let tag = fields["ETag"] {
            return tag.hasPrefix("\"") && tag.utf8.count <= 1024 && HTTPFields.isValue(tag) ? tag : nil
        }
        // A date is strong once it is a minute old: then nothing else can have the same.
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

    /// FNV-1a of an address: enough to tell two apart, and nothing of a secret in its query.
    private static func fingerprint(_ text: String) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return String(hash, radix: 16)
    }
}
