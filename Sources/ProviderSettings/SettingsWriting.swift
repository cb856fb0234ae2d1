import Platform

extension SettingsEdit {
    /// What becomes of a settings file.
    package enum Outcome: Sendable {
        /// It says this. A text that holds a secret may be read by nobody else.
        case text([UInt8], holdsSecret: Bool)
        /// It goes: nothing is left in it.
        case removed
    }

    /// How often an edit begins anew because a program without the lock, an editor most likely, was quicker.
    private static let maximumAttempts = 3
    private static let lockTimeout = Duration.seconds(30)

    /// The bytes of a settings file, and nil when there is none.
    ///
    /// - Throws: ``SettingsError`` when there is one that cannot be read.
    package static func read(_ path: String) throws(SettingsError) -> [UInt8]? {
        switch OwnerOnlyFile.read(path, maximumSize: Settings.maximumSize) {
        case .success(let bytes): return bytes
        case .failure(let failure):
            if failure.code == ENOENT { return nil }
            throw SettingsError(file: path, expected: "a readable settings file", found: failure.explanation)
        }
    }

    /// Changes a settings file, so that of several changes at a time none is lost: from the reading to the writing the file's
    /// folder is locked. It is written whole or not at all: the new text stands beside it first, is made durable, and takes its
    /// place. A link is followed. A new file has mode 0600, an old one keeps its mode.
    ///
    /// - Parameters:
    ///   - suffix: unpredictable letters for the name of the file beside it.
    ///   - sleep: waits for another program that changes the file; half a minute at most.
    ///   - edit: what becomes of the text that is there now; nil when there is no file. Asked again when a program that knows of
    ///     no lock was quicker.
    /// - Throws: ``SettingsError``; what `edit` and `sleep` throw.
    package static func change(
        _ path: String, suffix: String, sleep: @Sendable (Duration) async throws -> Void,
        isolation: isolated (any Actor)? = #isolation, by edit: @Sendable (_ old: [UInt8]?) async throws -> Outcome
    ) async throws {
        try makeDirectory(of: path)
        let lock = try await FolderLock.wait(for: path, timeout: lockTimeout, sleep: sleep)
        defer { lock.release() }
        for _ in 0..<maximumAttempts {
            let old = try read(path)
            let outcome = try await edit(old)
            guard try read(path) == old else { continue }
            switch outcome {
            case .text(let bytes, let holdsSecret):
                if try write(bytes, to: path, isNew: old == nil, holdsSecret: holdsSecret, suffix: suffix) { return }
            case .removed:
                guard unlink(path) == 0 || errno == ENOENT else {
                    throw unwritable(path, String(cString: strerror(errno)))
                }
                return
            }
        }
        throw SettingsError(
            file: path, expected: "the file as it was a moment ago", found: "another text",
            hint: "somebody else changes it all the time; try again")
    }

    /// Writes the text; false when a file that was not there is there now.
    private static func write(
        _ bytes: [UInt8], to path: String, isNew: Bool, holdsSecret: Bool, suffix: String
    ) throws(SettingsError) -> Bool {
        let result: Result<Void, SystemError>
        if isNew {
            result = OwnerOnlyFile.create(path, bytes, suffix: suffix)
        } else {
            result = OwnerOnlyFile.replace(path, bytes, mode: holdsSecret ? 0o600 : nil, suffix: suffix)
        }
        guard case .failure(let failure) = result else { return true }
        guard isNew, failure.code == EEXIST else { throw unwritable(path, failure.explanation) }
        var status = stat()
        guard stat(path, &status) == 0 else { throw unwritable(path, "a link that leads to no file") }
        return false
    }

    /// Whether nothing is left in the text, not even a comment.
    package static func isEmpty(_ bytes: [UInt8]) -> Bool {
        bytes.filter { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } == Array("{\"types\":{}}".utf8)
    }

    private static func unwritable(_ path: String, _ reason: String) -> SettingsError {
        SettingsError(
            file: path, expected: "a settings file that can be written", found: reason,
            hint: "check who owns the file and its directory, or \(SettingsRemedy.chooseFile)")
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
