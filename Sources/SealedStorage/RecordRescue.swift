import JOSE
import LodgePlatform

/// A storage that writes an encrypted record to a local file while its database cannot be changed.
///
/// This happens if another program uses the database, the disk is full, or the server is unreachable.
package protocol RecordRescue: AccountStorage {
    /// The folder of the rescue files, or `nil` if the program specified none.
    nonisolated var rescueFolder: RescueFolder? { get }
    /// Whether other machines use the storage. They cannot read the rescue files, and may send the old refresh token.
    nonisolated var isShared: Bool { get }
}

extension AccountStorage {
    /// Whether other machines use the storage.
    package var isSharedByMachines: Bool { (self as? any RecordRescue)?.isShared == true }
}

/// A file with an encrypted record that a storage could not save.
package struct RescueFile: Sendable, Equatable {
    /// The path of the file.
    package let path: String
    /// The encrypted content, or `nil` if the file is damaged.
    package let record: SealedRecord?
}

/// The folder of the rescue files of a storage, with at most one file for each account.
package actor RescueFolder {
    private nonisolated let folder: StoreLocation
    private let thread = SerialThread()

    /// The executor of a separate thread, because disk access blocks.
    ///
    /// The storage's thread may be waiting for its database.
    package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    private static let prefix = "accounts.rescue-"
    private static let damagedMark = ".damaged-"
    private static let maximumSize = 4 << 20
    /// The maximum number of files to read, because another program can create any number.
    private static let maximumCount = 1_000

    private struct Contents: Codable {
        let id: String
        let type: String
        let revision: Int64
        let sealed: Data
    }

    /// Creates access to a folder. The first rescue creates the folder if it is missing.
    package init(_ folder: StoreLocation) { self.folder = folder }

    /// Returns the path for an account. Its identifier can have characters that are invalid in a file name.
    private nonisolated func path(_ id: String) -> String {
        let name = SHA2.sha256.digest(Array(id.utf8)).prefix(16).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        return folder.file(Self.prefix + name.joined())
    }

    /// Writes a record to the rescue file of its account, durably and atomically, and returns the path.
    package func save(_ record: SealedRecord) throws -> String {
        let path = path(record.id)
        let contents = Contents(
            id: record.id, type: record.type, revision: record.revision, sealed: Data(record.sealed))
        guard let bytes = try? JSONEncoder().encode(contents), let random = try? SecureRandom.bytes(9) else {
            throw StorageError(.other, location: path, reason: "no memory or randomness", hint: "try again")
        }
        // An existing folder is not checked: saving the tokens is more important.
        if access(folder.path, F_OK) != 0 { try folder.prepare() }
        let suffix = Base64URL.encode(random)
        var result = OwnerOnlyFile.create(path, Array(bytes), suffix: suffix)
        if case .failure(let error) = result, error.code == EEXIST {
            result = OwnerOnlyFile.replace(path, Array(bytes), mode: 0o600, suffix: suffix)
        }
        if case .failure(let error) = result {
            throw StorageError.system(error.code, location: path, doing: "writing the rescue file")
        }
        return path
    }

    /// Returns the rescue file of an account, or `nil` without a file.
    package func file(of id: String) throws -> RescueFile? { try file(at: path(id)) }

    private func file(at path: String) throws(StorageError) -> RescueFile? {
        switch OwnerOnlyFile.read(path, maximumSize: Self.maximumSize) {
        case .failure(let error) where error.code == ENOENT: return nil
        case .failure(let error) where error.code != 0:
            throw .system(error.code, location: path, doing: "reading the rescue file")
        case .failure: return RescueFile(path: path, record: nil)
        case .success(let bytes):
            let contents = try? JSONDecoder().decode(Contents.self, from: Data(bytes))
            let record = contents.map {
                SealedRecord(id: $0.id, type: $0.type, revision: $0.revision, sealed: Array($0.sealed))
            }
            return RescueFile(path: path, record: record.flatMap { self.path($0.id) == path ? $0 : nil })
        }
    }

    private var names: [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.filter { $0.hasPrefix(Self.prefix) }.sorted()
    }

    /// Returns all rescue files.
    package func files() throws -> [RescueFile] {
        // Longer names are damaged files, and files of a process that exited while writing.
        let length = Self.prefix.utf8.count + 32
        let names = names.filter { $0.utf8.count == length }
        return try names.prefix(Self.maximumCount).compactMap { try file(at: folder.file($0)) }
    }

    /// Removes the rescue file of an account, if it exists.
    package func remove(_ id: String) {
        let path = path(id)
        if unlink(path) == 0 { OwnerOnlyFile.syncDirectory(of: path) }
    }

    /// Renames a damaged rescue file, so that it does not block another one.
    package func setAside(_ file: RescueFile) throws {
        for number in 1...100 {
            let target = file.path + Self.damagedMark + String(number)
            // A link fails if the name exists; renaming would replace the other file.
            if link(file.path, target) == 0 {
                unlink(file.path)
                OwnerOnlyFile.syncDirectory(of: target)
                return
            }
            guard errno == EEXIST else {
                // Another process has renamed it.
                if errno == ENOENT { return }
                throw StorageError.system(errno, location: target, doing: "renaming the damaged rescue file")
            }
        }
        throw StorageError(
            .other, location: file.path, reason: "there are a hundred damaged rescue files", hint: "remove them")
    }

    /// Returns the paths of the damaged rescue files that were renamed.
    package func damagedFiles() -> [String] {
        names.filter { $0.contains(Self.damagedMark) }.map { folder.file($0) }
    }
}
