import Platform
import JOSE

extension AccountStore {
    /// Copies what can be read of a damaged store into a new file beside it, with the store's key where that can be had.
    ///
    /// The damaged file is not changed. It need not be possible to open it as a store.
    ///
    /// - Parameter places: leads to the key. Without it the records are copied as they are, and nobody can tell which of them open.
    /// - Throws: ``AccountStoreError`` when nothing can be read, or the new file is there already.
    public static func salvage(_ storage: SQLiteStorage, places: KeyLocations) async throws -> SalvageReport {
        do {
            let remembered = try? await KeyLocationRecord.read(storage)?.current
            let custody = try? await places.custody(places.choice ?? remembered ?? .keyFile, storage)
            let key = try? await custody?.key()
            return try await storage.salvage(with: key)
        } catch {
            throw AccountStoreError.wrapping(error, what: "cannot copy anything out of the store")
        }
    }

    /// Puts a file that ``salvage(_:places:)`` made in the place of the damaged one, which is kept beside it under another name,
    /// with the journal that belongs to it. Programs that have the store open notice, and must be started again.
    ///
    /// - Returns: the path of the damaged file from now on.
    /// - Throws: ``AccountStoreError``; the damaged file is then where it was.
    public static func use(_ report: SalvageReport, inPlaceOf storage: SQLiteStorage) async throws -> String {
        do {
            return try FileReplacement.replace(storage.place, by: report.path)
        } catch {
            throw AccountStoreError.wrapping(error, what: "cannot put the new file in its place")
        }
    }
}

extension SQLiteStorage {
    /// Copies what can be read of a damaged store into a new file next to it. The damaged file is not changed, and no file is ever
    /// overwritten. The new file is complete, or it does not exist.
    ///
    /// - Parameter key: the store's key. With it, records that open are preferred to others of the same identifier.
    /// - Throws: `StorageError` if the file cannot be read, if it has no record, or if the new file exists.
    public func salvage(with key: SealingKey? = nil) throws -> SalvageReport {
        let seal = key.map(RecordSeal.init(key:))
        return try salvage(
            opening: seal.map { seal in
                RecordKey(
                    opens: { seal.open($0) != nil }, matches: { seal.matches($0) },
                    mark: (try? seal.check()).map { (KeyLoader.checkName, $0) })
            })
    }
}

/// Files change their names here, apart from the store, whose own `rename` is another thing.
private enum FileReplacement {
    /// The damaged file gets a second name first, so that at no moment there is none: a store that is missing would be made anew.
    static func replace(_ place: String, by path: String) throws(StorageError) -> String {
        let stem = place.hasSuffix(".sqlite") ? String(place.dropLast(".sqlite".count)) : place
        for number in 1...100 {
            let kept = "\(stem).damaged-\(number).sqlite"
            guard link(place, kept) == 0 else {
                if errno == EEXIST { continue }
                throw .system(errno, place: kept, doing: "keeping the damaged file")
            }
            // SQLite would play a journal of the damaged file back into the new one.
            let journal = place + "-journal"
            if rename(journal, kept + "-journal") != 0, errno != ENOENT {
                throw .system(errno, place: journal, doing: "keeping the journal of the damaged file")
            }
            guard rename(path, place) == 0 else {
                throw .system(errno, place: place, doing: "putting the new file in its place")
            }
            return kept
        }
        throw StorageError(
            .other, place: place, reason: "a hundred damaged files are kept beside it", hint: "move them away")
    }
}
