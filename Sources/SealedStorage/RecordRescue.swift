import JOSE
import Platform

/// A file next to a storage with a sealed record that the storage could not save.
package struct RescueFile: Sendable, Equatable {
    /// The path of the file.
    package let path: String
    /// The sealed contents, or `nil` if the file is damaged.
    package let record: SealedRecord?
}

/// A storage that can write a sealed record to a separate file while its database cannot be changed: another program uses the database,
/// or the disk is full or reports an error. There is at most one such file for each account.
///
/// Only storages on this machine need one: memory ends with the process, and a server reports its errors before the request.
package protocol RecordRescue: AccountStorage {
    /// Writes a record to the rescue file of its account, durably and in one step, and returns the path.
    func rescue(_ record: SealedRecord) async throws -> String
    /// Returns the rescue file of an account, or `nil` without a file.
    func rescueFile(of id: String) async throws -> RescueFile?
    /// Returns all rescue files.
    func rescueFiles() async throws -> [RescueFile]
    /// Removes the rescue file of an account, if there is one.
    func removeRescueFile(of id: String) async
    /// Renames a damaged rescue file, so that it does not block another one.
    func setAside(_ file: RescueFile) async throws
    /// Returns the paths of the damaged rescue files that were renamed.
    func damagedRescueFiles() async -> [String]
}

extension SQLiteStorage: RecordRescue {
    private static let rescuePrefix = "accounts.rescue-"
    private static let damagedMark = ".damaged-"
    private static let maximumRescueSize = 4 << 20
    /// The number of files that are read: another program can have created any number.
    private static let maximumRescueFiles = 1_000

    private struct Contents: Codable {
        let id: String
        let type: String
        let revision: Int64
        let sealed: Data
    }

    /// Returns the path for an account. Its identifier can have characters that a file name cannot have.
    private nonisolated func rescuePath(_ id: String) -> String {
        let name = SHA2.sha256.digest(Array(id.utf8)).prefix(16).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        return file.folder.file(Self.rescuePrefix + name.joined())
    }

    package func rescue(_ record: SealedRecord) throws -> String {
        let path = rescuePath(record.id)
        let contents = Contents(
            id: record.id, type: record.type, revision: record.revision, sealed: Data(record.sealed))
        guard let bytes = try? JSONEncoder().encode(contents), let random = try? SecureRandom.bytes(9) else {
            throw StorageError(.other, location: path, reason: "no memory or randomness", hint: "try again")
        }
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

    package func rescueFile(of id: String) throws -> RescueFile? { try rescueFile(at: rescuePath(id)) }

    private func rescueFile(at path: String) throws(StorageError) -> RescueFile? {
        switch OwnerOnlyFile.read(path, maximumSize: Self.maximumRescueSize) {
        case .failure(let error) where error.code == ENOENT: return nil
        case .failure(let error) where error.code != 0:
            throw .system(error.code, location: path, doing: "reading the rescue file")
        case .failure: return RescueFile(path: path, record: nil)
        case .success(let bytes):
            let contents = try? JSONDecoder().decode(Contents.self, from: Data(bytes))
            let record = contents.map {
                SealedRecord(id: $0.id, type: $0.type, revision: $0.revision, sealed: Array($0.sealed))
            }
            return RescueFile(path: path, record: record.flatMap { rescuePath($0.id) == path ? $0 : nil })
        }
    }

    private nonisolated var rescueNames: [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: file.folder.path)) ?? []
        return names.filter { $0.hasPrefix(Self.rescuePrefix) }.sorted()
    }

    package func rescueFiles() throws -> [RescueFile] {
        // Longer names are damaged files, and files that a process was writing when it ended.
        let length = Self.rescuePrefix.utf8.count + 32
        let names = rescueNames.filter { $0.utf8.count == length }
        return try names.prefix(Self.maximumRescueFiles).compactMap { try rescueFile(at: file.folder.file($0)) }
    }

    package func removeRescueFile(of id: String) {
        let path = rescuePath(id)
        if unlink(path) == 0 { OwnerOnlyFile.syncDirectory(of: path) }
    }

    package func setAside(_ file: RescueFile) throws {
        for number in 1...100 {
            let target = file.path + Self.damagedMark + String(number)
            // A link fails if the name is taken; renaming would replace the other file.
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

    package func damagedRescueFiles() -> [String] {
        rescueNames.filter { $0.contains(Self.damagedMark) }.map { file.folder.file($0) }
    }
}
