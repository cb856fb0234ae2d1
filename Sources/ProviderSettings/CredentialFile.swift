import LodgePlatform

/// A file with a credential, which another program can replace: a certificate, a key or a token.
package enum CredentialFile {
    private static let maximumSize = 64 * 1024

    /// Reads a regular file of at most 64 KiB that only the user and root can change.
    ///
    /// Follows links, because services replace their token files with links.
    ///
    /// - Parameter content: The content in errors, such as `the certificate of types.work.clientAssertion`.
    package static func read(_ path: String, _ content: String) throws(SettingsError) -> [UInt8] {
        var problem: FileAccess.Problem?
        var isRegular = true
        let result = OwnerOnlyFile.read(path, maximumSize: maximumSize) { file in
            var status = stat()
            isRegular = fstat(file, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
            problem = FileAccess().problem(ofFile: file, at: path)
        }
        func error(_ found: String, hint: Hint? = nil) -> SettingsError {
            SettingsError(file: path, expected: "a readable file with \(content)", found: found, hint: hint)
        }
        switch result {
        case .failure(let failure): throw error(failure.explanation)
        case .success where !isRegular: throw error("a file that is not regular, such as a device or a pipe")
        case .success(let bytes):
            guard let problem else { return bytes }
            throw SettingsError(
                file: path, expected: "a file that only you and root can change", found: problem.reason,
                hint: problem.command.map { "if \(content) is right, run: \($0)" })
        }
    }
}
