import JOSE
import OAuth2Protocol
import StorageSuite
import Synchronization
import TestSupport

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import LodgePlatform

/// Simulates the end of a process at a given step. The step, before or after its effect, and all later steps fail.
final class Fuse: Sendable {
    struct Killed: Error {}

    private let state: Mutex<(left: Int, isBlown: Bool)>
    private let hasEffect: Bool

    /// Creates a fuse for the given step. With `nil` it never ends the process.
    init(at step: Int? = nil, hasEffect: Bool = false) {
        state = Mutex((step ?? .max, false))
        self.hasEffect = hasEffect
    }

    var isBlown: Bool { state.withLock { $0.isBlown } }

    func check() throws { if isBlown { throw Killed() } }

    /// Runs a step that changes something.
    func step(_ body: () async throws -> Void) async throws {
        try check()
        let isLast = state.withLock { state in
            state.left -= 1
            if state.left == 0 { state.isBlown = true }
            return state.isBlown
        }
        if !isLast || hasEffect { try await body() }
        if isLast { throw Killed() }
    }
}

/// The keys in their locations, which remain after a process ends.
final class Vault: Sendable {
    private let keys = Mutex<[String: [UInt8]]>([:])
    subscript(location: String) -> [UInt8]? {
        get { keys.withLock { $0[location] } }
        set { keys.withLock { $0[location] = newValue } }
    }
    var locations: [String] { keys.withLock { $0.keys.sorted() } }
}

/// A key storage whose responses a test sets.
struct ScriptedKey: KeyCustody {
    let choice: KeyCustodyChoice?
    let vault: Vault
    var fuse = Fuse()
    /// The error that each call throws.
    var keyError: KeyCustodyError?
    var saveError: KeyCustodyError?
    var removeError: KeyCustodyError?
    /// Whether it saves a different key.
    var isForgetful = false
    /// The keys that were created.
    let made = Log<Void>()

    init(_ choice: KeyCustodyChoice, _ vault: Vault, fuse: Fuse = Fuse()) {
        self.choice = choice
        self.vault = vault
        self.fuse = fuse
    }

    var word: String { choice?.word ?? "" }
    var location: String { "scripted \(word)" }

    func error(_ reason: String) -> KeyCustodyError {
        KeyCustodyError(location: location, reason: reason, hint: "unlock it")
    }

    func key() async throws -> SealingKey? {
        try fuse.check()
        if let keyError { throw keyError }
        await Task.yield()
        return try vault[word].map { try SealingKey($0) }
    }

    func create() async throws -> SealingKey {
        if let saveError { throw saveError }
        let key = try SealingKey.random()
        // Leave other tasks time to create a key, in case the caller does not hold the lock.
        for _ in 0..<10 { await Task.yield() }
        try await fuse.step { vault[word] = key.bytes }
        made.append(())
        return key
    }

    func save(_ key: SealingKey) async throws {
        if let saveError { throw saveError }
        try await fuse.step { vault[word] = isForgetful ? key.bytes.map { ~$0 } : key.bytes }
    }

    func remove(_ key: SealingKey) async throws {
        if let removeError { throw removeError }
        try await fuse.step { if vault[word] == key.bytes { vault[word] = nil } }
    }
}

/// A storage in memory whose writes a fuse can interrupt.
struct FusedStorage: WrappedStorage {
    let inner: MemoryStorage
    let fuse: Fuse

    func value(_ name: String) async throws -> [UInt8]? {
        try fuse.check()
        return await inner.value(name)
    }
    func setValue(_ value: [UInt8]?, for name: String) async throws {
        try await fuse.step { await inner.setValue(value, for: name) }
    }
    func watch(_ handler: @escaping @Sendable () -> Void) throws -> (any StorageLock)? { nil }
    func lock(_ name: String, timeout: Duration) async throws -> any StorageLock {
        try fuse.check()
        return try await inner.lock(name, timeout: timeout)
    }
}

/// The key locations of a test. The key file and the Secret Service are scripted; the passphrase is real and fast.
struct TestPlaces {
    let vault = Vault()
    let storage = MemoryStorage()
    var edit: @Sendable (inout ScriptedKey) -> Void = { _ in }

    static let passphrase = Secret("correct horse battery staple")

    func locations(_ choice: KeyCustodyChoice? = nil, fuse: Fuse = Fuse()) throws -> KeyLocations {
        var locations = KeyLocations(directory: StoreLocation("/nonexistent"), choice: choice, environment: [:])
        for choice in [KeyCustodyChoice.keyFile, .secretService] {
            var key = ScriptedKey(choice, vault, fuse: fuse)
            edit(&key)
            locations.replacements[choice.word] = key
        }
        locations.passphrase = { _ in Self.passphrase }
        locations.passphraseParameters = try Scrypt(cost: 2, blockSize: 1, parallelization: 1)
        return locations
    }

    /// Opens the store like a new process.
    func open(_ choice: KeyCustodyChoice? = nil) async throws -> (key: SealingKey, custody: any KeyCustody) {
        try await KeyLoader(storage: storage, given: nil, locations: locations(choice)).open()
    }

    func move(to choice: KeyCustodyChoice, fuse: Fuse = Fuse()) async throws -> KeyMigration {
        try await AccountStore.moveKey(
            to: choice, storage: FusedStorage(inner: storage, fuse: fuse), locations: locations(fuse: fuse))
    }

    /// Returns the locations that have a copy of the key.
    func copies() async -> [String] {
        let isSealed = await storage.value("key-sealed") != nil
        return (vault.locations + (isSealed ? ["passphrase"] : [])).sorted()
    }

    func record() async throws -> KeyLocationRecord? { try await KeyLocationRecord.read(storage) }
}
