import LodgePlatform
import OAuth2AccountStore

/// The offline copy of the users that one account may read: an SQLite file in the folder of the store.
///
/// **The file contains personal data in clear text**: a search needs an index, which cannot be encrypted. Only the user
/// can read it: it has mode 0600, in a folder with mode 0700. To protect it on a lost machine, encrypt the disk. Each
/// account has its own file, and a search for one account never opens the file of another.
///
/// After you remove an account, remove its copy with ``forget(account:in:)``: after `signOut` or `remove`, or after the
/// event of the store about a removed account.
public struct OfflineIndex: Sendable, Equatable {
    /// The identifier of the account.
    public let account: Account.ID
    /// The folder of the file.
    public let directory: StoreLocation

    /// Creates access to the copy of an account in a folder. Opens and creates no file.
    public init(account: Account.ID, in directory: StoreLocation) {
        self.account = account
        self.directory = directory
    }

    /// The path of the file.
    package var path: String { directory.file(Self.prefix + Self.fileName(account) + Self.suffix) }

    /// The size and the state of a copy.
    public struct Summary: Sendable, Equatable {
        /// The number of users.
        public var users: Int
        /// The saved properties, by the service's names.
        public var properties: [String]
        /// The time of the last complete sync by this machine's clock, or `nil` before the first.
        public var completed: Date?
        /// Whether a sync is loading all users and is not complete.
        public var isListing: Bool
        /// The size of the file in bytes.
        public var size: Int64
    }

    // MARK: Names of files

    private static let prefix = "people-"
    private static let suffix = ".sqlite"

    /// Returns an identifier for a file name: unchanged if its characters are valid, otherwise `~` and hexadecimal
    /// digits.
    private static func fileName(_ account: Account.ID) -> String {
        let text = account.rawValue
        if (1...64).contains(text.utf8.count), text.utf8.allSatisfy(isPlain) { return text }
        var name = "~"
        for byte in text.utf8 { name += (byte < 16 ? "0" : "") + String(byte, radix: 16) }
        return name
    }

    private static func isPlain(_ byte: UInt8) -> Bool { byte.isAlphanumeric(or: "-_") }

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

    // MARK: Summaries

    /// Returns the copies in a folder, including copies of removed accounts.
    public static func all(in directory: StoreLocation) async -> [OfflineIndex] {
        await OfflineThread().run {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
            return names.sorted().compactMap { account(ofFile: $0) }.map { OfflineIndex(account: $0, in: directory) }
        }
    }

    /// Returns a summary of the copy, or `nil` without a copy.
    ///
    /// - Throws: ``OfflineIndexError``, `StorageError`.
    public func summary() async throws -> Summary? {
        try await OfflineThread().run { try OfflineDatabase.open(self)?.summary() }
    }

    // MARK: Removal

    /// Overwrites and removes the copy of an account. Returns whether it existed.
    ///
    /// Fills the file with zeros before removing it. Some disks and file systems write to other blocks; there the old
    /// bytes remain until the disk reuses their blocks.
    ///
    /// - Throws: `StorageError` if the file cannot be written or removed.
    @discardableResult
    public static func forget(account: Account.ID, in directory: StoreLocation) async throws -> Bool {
        try await OfflineThread().run { try OfflineIndex(account: account, in: directory).erase() }
    }

    /// Overwrites and removes the file. Waits for the disk: do not call it on a thread of Swift's pool.
    func erase() throws(StorageError) -> Bool {
        var found = false
        // The database is last: while it exists, another call can find and remove the other files.
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
            // Remove a link itself, not its target.
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

/// An actor for short work on files, so that no thread of Swift's pool waits for a disk.
actor OfflineThread {
    private let thread = SerialThread()
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    func run<Value: Sendable>(_ body: @Sendable () throws -> Value) rethrows -> Value { try body() }
}
