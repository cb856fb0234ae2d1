import Platform

/// The directory that a store lives in: ours alone, mode 0700.
public struct StoreLocation: Sendable, Equatable {
    /// Its path.
    public let path: String

    /// The directory at this path.
    public init(_ path: String) {
        self.path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }

    /// Creates the user's default location for an application: `$XDG_DATA_HOME/<application>` or
    /// `~/.local/share/<application>`, on Apple's systems `~/Library/Application Support/<application>`.
    ///
    /// If the environment names no home, the path is empty, and the store cannot be opened: it never writes to the current folder.
    public init(
        application: String, environment: [String: String] = ProcessInfo.processInfo.environment
    ) {
        func absolute(_ name: String) -> String? { environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil } }
        let folder = platformValue(linux: "/.local/share/", darwin: "/Library/Application Support/")
        // The specification of base directories: a relative path is to be ignored.
        let base = absolute("XDG_DATA_HOME").map { $0 + "/" } ?? absolute("HOME").map { $0 + folder }
        self.init(base.map { $0 + application } ?? "")
    }

    /// The reason why there is no default location.
    package static let homeless = "HOME is not set to an absolute path"

    /// The same directory by its real path, in which no part is a link.
    package func resolved() throws(StorageError) -> StoreLocation {
        guard let real = realpath(path, nil) else { throw .system(errno, location: path, doing: "following the path") }
        defer { free(real) }
        return StoreLocation(String(cString: real))
    }

    /// The path of a file in it.
    public func file(_ name: String) -> String { path + "/" + name }

    /// Makes the directory, and those above it, when it is missing; checks that it is ours alone when it is there.
    ///
    /// - Throws: ``StorageError``
    public func prepare() throws(StorageError) {
        guard !path.isEmpty else {
            throw StorageError(
                .other, location: "the store's directory", reason: Self.homeless,
                hint: "set HOME, or \(StorageRemedy.chooseStore(.any))")
        }
        var status = stat()
        if lstat(path, &status) != 0 {
            guard errno == ENOENT else { throw .system(errno, location: path, doing: "opening the store's directory") }
            try create()
            guard lstat(path, &status) == 0 else {
                throw .system(errno, location: path, doing: "opening the store's directory")
            }
        }
        if status.st_mode & S_IFMT == S_IFLNK, stat(path, &status) != 0 {
            throw .system(errno, location: path, doing: "following the link")
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw StorageError(
                .notAStore, location: path, reason: "it is not a directory", hint: "\(StorageRemedy.chooseStore(.any))")
        }
        guard status.st_uid == geteuid() else {
            throw StorageError(
                .insecure, location: path, reason: "it belongs to another user",
                hint: "\(StorageRemedy.chooseStore(.own))")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw StorageError(
                .insecure, location: path,
                reason: "other users can read or change it (mode \(String(status.st_mode & 0o777, radix: 8)))",
                hint: "run: chmod 700 '\(path)'")
        }
    }

    private func create() throws(StorageError) {
        var made = ""
        for part in path.split(separator: "/", omittingEmptySubsequences: true) {
            made += (made.isEmpty && !path.hasPrefix("/") ? "" : "/") + part
            if mkdir(made, 0o700) != 0, errno != EEXIST {
                throw .system(errno, location: made, doing: "making the store's directory")
            }
        }
        OwnerOnlyFile.syncDirectory(of: path)
    }
}
