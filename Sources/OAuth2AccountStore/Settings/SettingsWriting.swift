#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension SettingsEdit {
    /// The bytes of a settings file, and nil when there is none.
    ///
    /// - Throws: ``SettingsError`` when there is one that cannot be read.
    package static func read(_ path: String) throws(SettingsError) -> [UInt8]? {
        switch PrivateFile.read(path, maximumSize: Settings.maximumSize) {
        case .success(let bytes): return bytes
        case .failure(let failure):
            if failure.code == ENOENT { return nil }
            throw SettingsError(file: path, expected: "a readable settings file", found: failure.explanation)
        }
    }

    /// Writes a settings file, whole or not at all: the new text stands beside it first, is made durable, and takes its
    /// place. A link is followed. A new file has mode 0600, an old one keeps its mode.
    ///
    /// - Parameters:
    ///   - old: what was read before; when the file says something else by now, nothing is written.
    ///   - holdsSecret: whether the text has a secret in it; then nobody else may read the file.
    ///   - suffix: unpredictable letters for the name of the file beside it.
    /// - Throws: ``SettingsError``
    package static func write(
        _ bytes: [UInt8], to path: String, replacing old: [UInt8]?, holdsSecret: Bool, suffix: String
    ) throws(SettingsError) {
        guard try read(path) == old else {
            throw SettingsError(
                file: path, expected: "the file as it was a moment ago", found: "another text",
                hint: "somebody else changed it; try again")
        }
        guard old != nil else {
            try makeDirectory(of: path)
            if case .failure(let failure) = PrivateFile.create(path, bytes, suffix: suffix) {
                throw unwritable(path, failure.explanation)
            }
            return
        }
        guard let place = resolved(path) else { throw unwritable(path, String(cString: strerror(errno))) }
        var status = stat()
        guard stat(place, &status) == 0 else { throw unwritable(path, String(cString: strerror(errno))) }
        let beside = place + "." + suffix + ".new"
        if case .failure(let failure) = PrivateFile.create(beside, bytes, suffix: suffix) {
            throw unwritable(path, failure.explanation)
        }
        let mode = holdsSecret ? 0o600 : status.st_mode & 0o777
        guard chmod(beside, mode) == 0, rename(beside, place) == 0 else {
            let reason = String(cString: strerror(errno))
            unlink(beside)
            throw unwritable(path, reason)
        }
        PrivateFile.syncDirectory(of: place)
    }

    /// Whether nothing is left in the text, not even a comment.
    package static func isEmpty(_ bytes: [UInt8]) -> Bool {
        bytes.filter { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } == Array("{\"types\":{}}".utf8)
    }

    /// Removes a settings file in which nothing is left.
    ///
    /// - Throws: ``SettingsError``
    package static func remove(_ path: String) throws(SettingsError) {
        guard unlink(path) == 0 || errno == ENOENT else { throw unwritable(path, String(cString: strerror(errno))) }
    }

    private static func unwritable(_ path: String, _ reason: String) -> SettingsError {
        SettingsError(
            file: path, expected: "a settings file that can be written", found: reason,
            hint: "check who owns the file and its directory, or name another file with --settings")
    }

    private static func resolved(_ path: String) -> String? {
        guard let text = realpath(path, nil) else { return nil }
        defer { free(text) }
        return String(cString: text)
    }

    private static func makeDirectory(of path: String) throws(SettingsError) {
        guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return }
        let directory = String(path[..<slash])
        var status = stat()
        if stat(directory, &status) == 0 { return }
        try makeDirectory(of: directory)
        guard mkdir(directory, 0o700) == 0 || errno == EEXIST else {
            throw unwritable(path, String(cString: strerror(errno)))
        }
    }
}
