import LodgePlatform
import JOSE

extension SQLiteStorage {
    /// Copies the readable records of a damaged store to a new file in the same folder.
    ///
    /// Changes neither the damaged file nor any other file. The new file is complete, or it does not exist.
    ///
    /// - Parameter key: The key of the store. With the key, a record that the key opens is preferred over other records
    ///   with the same identifier.
    /// - Throws: `StorageError` if the file cannot be read, if it has no readable record, or if the new file already
    ///   exists.
    package func salvage(with key: SealingKey? = nil) throws -> SalvageReport {
        let seal = key.map(RecordSeal.init(key:))
        return try salvage(
            opening: seal.map { seal in
                RecordKey(
                    opens: { seal.open($0) != nil }, matches: { seal.matches($0) },
                    checkValue: (try? seal.check()).map { (KeyLoader.checkName, $0) })
            })
    }
}

/// Replaces a damaged file.
enum FileReplacement {
    /// Replaces the file at `location`, and returns the new path of the damaged file.
    ///
    /// Creates a second hard link to the damaged file first, because another process would create a new store if the
    /// file were missing.
    static func replace(_ location: String, by path: String) throws(StorageError) -> String {
        let stem = location.hasSuffix(".sqlite") ? String(location.dropLast(".sqlite".count)) : location
        for number in 1...100 {
            let kept = "\(stem).damaged-\(number).sqlite"
            guard link(location, kept) == 0 else {
                if errno == EEXIST { continue }
                throw .system(errno, location: kept, doing: "keeping the damaged file")
            }
            // SQLite would apply the journal of the damaged file to the new one.
            let journal = location + "-journal"
            if rename(journal, kept + "-journal") != 0, errno != ENOENT {
                throw .system(errno, location: journal, doing: "keeping the journal of the damaged file")
            }
            guard rename(path, location) == 0 else {
                throw .system(errno, location: location, doing: "replacing the damaged file")
            }
            return kept
        }
        throw StorageError(
            .other, location: location, reason: "a hundred damaged files are already in its folder",
            hint: "move them away")
    }
}
