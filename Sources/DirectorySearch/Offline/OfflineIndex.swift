public import Platform
public import OAuth2AccountStore

/// The offline copy of the people whom one account may see: one SQLite file in the store's directory.
///
/// **Personal data is on the disk in clear text**: a search needs an index, and an index cannot be sealed. The file has mode 0600 in a
/// directory of mode 0700, so that it is the user's alone; who must not find it on a lost machine encrypts the disk. Each account has
/// a file of its own, and no question about one account ever opens the file of another.
///
/// An account that is removed must be forgotten here too: ``forget(account:in:)``. The command does so at sign-out. A program that uses the
/// library calls it after `signOut` and `remove`, or when the store's events tell of a removed account.
public struct OfflineIndex: Sendable, Equatable {
    /// Whose copy it is.
    public let account: Account.ID
    /// The directory that the file is in.
    public let directory: StoreLocation

    /// The copy for this account in this directory. Nothing is opened or made.
    public init(account: Account.ID, in directory: StoreLocation) {
        self.account = account
        self.directory = directory
    }

    /// The path of the file.
    public var path: String { directory.file(Self.prefix + Self.fileName(account) + Self.suffix) }

    /// What is kept, in figures.
    public struct Summary: Sendable, Equatable {
        /// How many people are kept.
        public var people: Int
        /// The properties that are kept, by the service's names.
        public var properties: [String]
        /// When the copy last agreed with the service, by this machine's clock; nil when it never did.
        public var completed: Date?
        /// Whether the people are being listed for the first time, or anew, and the list is not at its end.
        public var isListing: Bool
        /// The size of the file, in bytes.
        public var size: Int64
    }

    // MARK: Names of files

    private static let prefix = "people-"
    private static let suffix = ".sqlite"

    /// An identifier as part of a file's name: as it is when its letters allow it, else after `~` in hexadecimal digits.
    private static func fileName(_ account: Account.ID) -> String {
        let text = account.rawValue
        if (1...64).contains(text.utf8.count), text.utf8.allSatisfy(isPlain) { return text }
        var name = "~"
        for byte in text.utf8 { name += (byte < 16 ? "0" : "") + String(byte, radix: 16) }
        return name
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }

    private static func account(ofFile name: String) -> Account.ID? {
        guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { return nil }
        let middle = name.dropFirst(prefix.count).dropLast(suffix.count)
        guard middle.hasPrefix("~") else {
            return middle.utf8.allSatisfy(isPlain) && !middle.isEmpty ? Account.ID(rawValue: String(middle)) : nil
        }
        var bytes: [UInt8] = []
        var digits = middle.utf8.dropFirst()
        while digits.count >= 2 {
            guard let byte = UInt8(String(decoding: digits.prefix(2), as: UTF8.self), radix: 16) else { return nil }
            bytes.append(byte)
            digits = digits.dropFirst(2)
        }
        guard digits.isEmpty, let text = String(validating: bytes, as: UTF8.self) else { return nil }
        return Account.ID(rawValue: text)
    }

    // MARK: What there is

    /// The copies in this directory, those of accounts that are gone too.
    public static func all(in directory: StoreLocation) async -> [OfflineIndex] {
        await OfflineThread().run {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
            return names.sorted().compactMap { account(ofFile: $0) }.map { OfflineIndex(account: $0, in: directory) }
        }
    }

    /// What is kept; nil when there is no copy.
    ///
    /// - Throws: ``OfflineIndexError``, `StorageError`.
    public func summary() async throws -> Summary? {
        try await OfflineThread().run { try OfflineDatabase.open(self)?.summary() }
    }

    // MARK: Forgetting

    /// Overwrites and removes what is kept for an account, and says whether there was anything.
    ///
    /// The file is filled with zeros before it is removed. Some disks and file systems write in another place than the one that is
    /// overwritten; there the old bytes live on until the disk uses them again.
    ///
    /// - Throws: `StorageError` when the file cannot be written or removed.
    @discardableResult
    public static func forget(account: Account.ID, in directory: StoreLocation) async throws -> Bool {
        try await OfflineThread().run { try OfflineIndex(account: account, in: directory).erase() }
    }

    /// Overwrites and removes the file. Waits for the disk: not for a thread of Swift's pool.
    func erase() throws(StorageError) -> Bool {
        var found = false
        // The file itself goes last: as long as it has its name, it tells that there is something to forget.
        for end in ["-wal", "-shm", "-journal", ""] {
            if try Self.erase(path + end) { found = true }
        }
        return found
    }

    private static func erase(_ path: String) throws(StorageError) -> Bool {
        func error(_ action: String, _ code: Int32 = errno) -> StorageError {
            StorageError(
                code == EACCES || code == EPERM ? .noPermission : .other, location: path,
                reason: "\(action) failed: \(String(cString: strerror(code)))",
                hint: "remove the file by hand")
        }
        let file = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC)
        guard file >= 0 else {
            if errno == ENOENT { return false }
            // A link is not followed; it goes itself.
            if errno == ELOOP, unlink(path) == 0 { return true }
            throw error("opening the file to overwrite it")
        }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { throw error("looking at the file") }
        let zeros = [UInt8](repeating: 0, count: 1 << 20)
        var left = Int(status.st_size)
        while left > 0 {
            let count = min(left, zeros.count)
            do throws(SystemError) { try FileDescriptor.write(file, zeros[..<count]) } catch let failure {
                throw error("overwriting the file", failure.code)
            }
            left -= count
        }
        guard fsync(file) == 0 else { throw error("overwriting the file") }
        guard unlink(path) == 0 || errno == ENOENT else { throw error("removing the file") }
        return true
    }
}

/// Where short work on files is done, so that no thread of Swift's pool waits for a disk.
actor OfflineThread {
    private let thread = SerialThread()
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    func run<Value: Sendable>(_ body: @Sendable () throws -> Value) rethrows -> Value { try body() }
}
