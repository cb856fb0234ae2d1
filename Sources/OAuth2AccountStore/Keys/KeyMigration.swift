import LodgePlatform
import JOSE

/// The result of moving the key.
public struct KeyMigration: Sendable, Equatable {
    /// The previous location of the key, for messages.
    public var origin: String
    /// The location of the key, for messages.
    public var location: String
    /// Whether the location changed.
    public var isMoved: Bool
    /// The reasons why copies of the key remain, one sentence each. The next move, or the next process that opens the
    /// store, tries again to remove them.
    public var leftovers: [Hint]
}

extension KeyMigration {
    static func run(
        to choice: KeyCustodyChoice, _ storage: any AccountStorage, _ locations: KeyLocations
    ) async throws -> KeyMigration {
        let lock = try await storage.lock(KeyLoader.lockName, timeout: KeyLoader.lockTimeout)
        guard let check = try await storage.value(KeyLoader.checkName) else {
            lock.release()
            var locations = locations
            locations.choice = choice
            let custody = try await reaching(choice, "this store has no key yet") {
                try await KeyLoader(storage: storage, given: nil, locations: locations).open().custody
            }
            return KeyMigration(origin: custody.location, location: custody.location, isMoved: true, leftovers: [])
        }
        defer { lock.release() }
        var record = try await KeyLocationRecord.read(storage) ?? KeyLocationRecord(current: .keyFile)
        var current = record.current
        // The storage does not save the number of a file descriptor. The caller specifies it.
        if let asked = locations.choice, asked.word == current.word { current = asked }
        if choice.word == current.word { current = choice }
        let origin = try await locations.custody(current, storage)
        let key = try KeyLoader.checked(try await origin.key(), check, origin, storage)
        let leftovers = try await tidy(&record, key, storage, locations) { _ in true }
        guard choice.word != current.word else {
            return KeyMigration(
                origin: origin.location, location: origin.location, isMoved: false, leftovers: leftovers)
        }
        let target = try await reaching(choice, "the key is still in \(current.explanation)") {
            let target = try await locations.custody(choice, storage, makesIdentity: true)
            try await copy(key, to: target, choice, &record, storage, locations)
            return target
        }
        record.drop(leftover: choice)
        record.add(leftover: current)
        record.current = choice
        // This write switches from the old location to the new one.
        try await record.save(storage)
        var left: [Hint]
        do {
            left = try await tidy(&record, key, storage, locations) { _ in true }
        } catch {
            // The key is moved even if the old copy remains. The record still lists the copy.
            left = ["a copy may be left in \(current.explanation)"]
        }
        return KeyMigration(origin: origin.location, location: target.location, isMoved: true, leftovers: left)
    }

    /// Replaces the keyring's hint, which applies to a key in the keyring. This key is still in its old location.
    private static func reaching<Value>(
        _ choice: KeyCustodyChoice, _ state: String, _ body: () async throws -> Value
    ) async throws -> Value {
        do {
            return try await body()
        } catch var error as KeyCustodyError
            where choice == .secretService
            && error.hint.actions.contains(where: { $0 as? KeyRemedy == SecretServiceError.elsewhere })
        {
            error.hint = "try again in a desktop session with a keyring; the key is unchanged: \(state)"
            throw error
        }
    }

    /// Saves a copy in the new location and reads it back. Records the copy before creating it, so that an interrupted
    /// move can be cleaned up.
    private static func copy(
        _ key: SealingKey, to target: any KeyCustody, _ choice: KeyCustodyChoice, _ record: inout KeyLocationRecord,
        _ storage: any AccountStorage, _ locations: KeyLocations
    ) async throws {
        if let existing = try await target.key() {
            guard equalInConstantTime(existing.bytes, key.bytes) else {
                throw KeyCustodyError(
                    location: target.location, reason: "another key is there already",
                    hint: "check which store it belongs to, move it away, and try again; the key is unchanged")
            }
            return
        }
        record.add(leftover: choice)
        try await record.save(storage)
        do {
            try await target.save(key)
            guard let copy = try await target.key(), equalInConstantTime(copy.bytes, key.bytes) else {
                throw KeyCustodyError(
                    location: target.location, reason: "it returned a different key than it saved",
                    hint: "choose another location; the key is still in \(record.current.explanation)")
            }
        } catch {
            // Remove the copy: it is not in use.
            _ = try? await tidy(&record, key, storage, locations) { $0.word == choice.word }
            throw error
        }
    }

    /// Removes the copies in other locations, and returns the reasons why some remain. The caller holds the lock.
    static func tidy(
        _ record: inout KeyLocationRecord, _ key: SealingKey, _ storage: any AccountStorage, _ locations: KeyLocations,
        _ isWanted: (KeyCustodyChoice) -> Bool
    ) async throws -> [Hint] {
        var reasons: [Hint] = []
        for leftover in record.leftovers where leftover.word != record.current.word {
            guard isWanted(leftover) else {
                reasons.append("a copy may be in \(leftover.explanation)")
                continue
            }
            do {
                try await locations.custody(leftover, storage).remove(key)
                record.drop(leftover: leftover)
                try await record.save(storage)
            } catch let error as KeyCustodyError {
                reasons.append(
                    "a copy may be left: \(error.description); \(error.hint), "
                        + "then: \(KeyRemedy.moveKey(to: record.current))")
            }
        }
        return reasons
    }
}
