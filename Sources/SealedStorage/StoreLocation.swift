import LodgePlatform

/// The folder of a store, which only its user can read: mode 0700.
public struct StoreLocation: Sendable, Equatable {
    /// The path of the folder.
    public let path: String

    /// Creates a location from a path.
    public init(_ path: String) {
        self.path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }

    /// Creates the user's default location for an application.
    ///
    /// It is `$XDG_DATA_HOME/<application>` or `~/.local/share/<application>`, on Apple platforms
    /// `~/Library/Application Support/<application>`, which backups exclude.
    ///
    /// If the environment has no home folder, or the identifier is not one part of a path, the path is empty, and the
    /// store cannot be opened: it never writes to the current folder.
    ///
    /// - Parameter application: The identifier of the application, such as `com.example.people`.
    public init(
        application: String, environment: [String: String] = ProcessInfo.processInfo.environment
    ) {
        func absolute(_ name: String) -> String? { environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil } }
        let folder = platformValue(linux: "/.local/share/", darwin: "/Library/Application Support/")
        // The XDG Base Directory Specification requires programs to ignore a relative path.
        let base = absolute("XDG_DATA_HOME").map { $0 + "/" } ?? absolute("HOME").map { $0 + folder }
        self.init(base.flatMap { Self.isIdentifier(application) ? $0 + application : nil } ?? "")
    }

    /// Returns whether a string can be the identifier of an application: one visible part of a path.
    package static func isIdentifier(_ text: String) -> Bool {
        !text.isEmpty && !text.hasPrefix(".")
            && text.unicodeScalars.allSatisfy { $0 != "/" && $0.value >= 0x20 && $0.value != 0x7F }
    }

    /// The reason why there is no default location.
    package static let homeless = "HOME is not set to an absolute path"

    /// Returns the location with all links in the path resolved.
    package func resolved() throws(StorageError) -> StoreLocation {
        guard let real = OwnerOnlyFile.resolved(path) else {
            throw .system(errno, location: path, doing: "following the path")
        }
        return StoreLocation(real)
    }

    /// Returns the path of a file in the folder.
    package func file(_ name: String) -> String { path + "/" + name }

    /// The file of the records.
    package var databaseFile: String { file("accounts.sqlite") }
    /// The file of the locks.
    package var lockFile: String { file("accounts.lock") }
    /// The file of the key for the records, if the user stores it in this folder.
    package var keyFile: String { file("accounts.key") }

    /// Creates the folder and its parent folders if missing, and checks that only this user can read it.
    ///
    /// - Throws: ``StorageError``
    package func prepare() throws(StorageError) {
        guard !path.isEmpty else {
            throw StorageError(
                .other, location: "the store's directory", reason: Self.homeless,
                hint: "set HOME, or \(StorageRemedy.chooseStore(.any))")
        }
        var status = try stat(of: path, doing: "opening the store's directory", creating: create)
        if status.st_mode & S_IFMT == S_IFLNK, stat(path, &status) != 0 {
            throw .system(errno, location: path, doing: "following the link")
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw StorageError(
                .notAStore, location: path, reason: "it is not a directory", hint: "\(StorageRemedy.chooseStore(.any))")
        }
        try status.checkOwner(of: path)
        guard status.st_mode & 0o077 == 0 else {
            throw StorageError(
                .insecure, location: path,
                reason: "other users can read or change it (mode \(String(status.st_mode & 0o777, radix: 8)))",
                hint: "run: chmod 700 '\(path)'")
        }
    }

    private func create() throws(StorageError) {
        if let error = OwnerOnlyFile.createFolder(path) {
            throw .system(error.code, location: error.path, doing: "making the store's directory")
        }
        OwnerOnlyFile.syncDirectory(of: path)
        BackupExclusion.exclude(path)
    }
}
