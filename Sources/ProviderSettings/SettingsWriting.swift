import LodgePlatform

extension SettingsEdit {
    /// The result of an edit.
    package enum Outcome: Sendable {
        /// The new contents. A file with a secret is readable only by the user.
        case text([UInt8], holdsSecret: Bool)
        /// The file is empty and is removed.
        case removed
    }

    /// The maximum number of attempts if a program without the lock, such as an editor, changes the file at the same time.
    private static let maximumAttempts = 3
    private static let lockTimeout = Duration.seconds(30)

    /// Returns the bytes of a settings file, or `nil` if it does not exist.
    ///
    /// - Throws: ``SettingsError`` if the file cannot be read.
    package static func read(_ path: String) throws(SettingsError) -> [UInt8]? { try SettingsFile.readIfPresent(path) }

    /// Changes a settings file in one step.
    ///
    /// It locks the folder of the file from reading to writing, so that no concurrent change is lost. It writes the new
    /// text to a temporary file, which then replaces the old file. It follows a link. A new file has mode 0600; an old
    /// one keeps its mode.
    ///
    /// - Parameters:
    ///   - suffix: Unpredictable letters for the name of the temporary file.
    ///   - sleep: The function that waits for another program that changes the file, for at most half a minute.
    ///   - edit: The function that returns the result for the current text, or for `nil` if there is no file. If a
    ///     program without the lock changes the file at the same time, it is called again.
    /// - Throws: ``SettingsError``; the errors of `edit` and `sleep`.
    package static func change(
        _ path: String, suffix: String, sleep: @Sendable (Duration) async throws -> Void,
        isolation: isolated (any Actor)? = #isolation, by edit: @Sendable (_ old: [UInt8]?) async throws -> Outcome
    ) async throws {
        if path.contains("/"), let error = OwnerOnlyFile.createFolder(OwnerOnlyFile.directory(of: path)) {
            throw unwritable(path, String(cString: strerror(error.code)))
        }
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
            hint: "another program changes it; try again")
    }

    /// Writes the text. Returns `false` if another program created a new file first.
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
        guard stat(path, &status) == 0 else { throw unwritable(path, "a link to a file that does not exist") }
        return false
    }

    /// Returns whether the text has no type and no comment.
    package static func isEmpty(_ bytes: [UInt8]) -> Bool {
        bytes.filter { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } == Array("{\"types\":{}}".utf8)
    }

    private static func unwritable(_ path: String, _ reason: String) -> SettingsError {
        SettingsError(
            file: path, expected: "a settings file that can be written", found: reason,
            hint: "check who owns the file and its directory, or \(SettingsRemedy.chooseFile)")
    }
}
