import LodgePlatform
import SealedStorage
import JOSE

/// The storage of the 32-byte key that encrypts the records of a store.
public protocol KeyCustody: Sendable {
    /// A description of the location: "key file /home/ada/.local/share/com.example.people/accounts.key".
    var location: String { get }

    /// The choice for this key storage, or `nil` for one that only the program knows.
    ///
    /// The store saves the choice at its creation and rejects any other: see
    /// `AccountStore/moveKey(to:storage:locations:)`.
    var choice: KeyCustodyChoice? { get }

    /// Returns the key, or `nil` if it does not exist yet.
    ///
    /// - Throws: ``KeyCustodyError`` if the key exists but cannot be loaded: locked, unreadable, damaged.
    func key() async throws -> SealingKey?

    /// Creates and saves a key. If another process created one first, returns that key.
    ///
    /// - Throws: ``KeyCustodyError``
    func create() async throws -> SealingKey

    /// Saves this key durably. Does nothing if it is already saved.
    ///
    /// - Throws: ``KeyCustodyError``, for example if a different key exists, which stays unchanged.
    func save(_ key: SealingKey) async throws

    /// Removes this key. A different key stays unchanged.
    ///
    /// - Throws: ``KeyCustodyError`` if this key may still exist.
    func remove(_ key: SealingKey) async throws
}

extension KeyCustody {
    /// The default, `nil`, for a custom implementation.
    public var choice: KeyCustodyChoice? { nil }

    /// Throws an error. A custom implementation must implement this function to save keys.
    public func save(_ key: SealingKey) async throws {
        throw error("it cannot store a key", "move the key to another location")
    }

    /// Does nothing, because the program itself removes the key of a custom implementation.
    public func remove(_ key: SealingKey) async throws {}

    /// Returns the key, or creates and saves one.
    func keyOrNewKey() async throws -> SealingKey {
        if let key = try await key() { return key }
        let key = try SealingKey.random()
        try await save(key)
        return key
    }

    func error(_ reason: String, _ hint: Hint) -> KeyCustodyError {
        KeyCustodyError(location: location, reason: reason, hint: hint)
    }

    /// Throws if the existing key differs from the key to save.
    func check(_ existing: SealingKey, is key: SealingKey, otherwise hint: Hint) throws(KeyCustodyError) {
        guard !equalInConstantTime(existing.bytes, key.bytes) else { return }
        throw error("another key is there already", hint)
    }
}

/// The reason why the key cannot be loaded. Never start with a new key because of it.
public struct KeyCustodyError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The location of the key.
    public var location: String
    /// The reason.
    public var reason: String
    /// A sentence that tells the user how to solve the problem.
    public var hint: Hint

    /// Creates an error.
    public init(location: String, reason: String, hint: Hint) {
        self.location = location
        self.reason = reason
        self.hint = hint
    }

    /// The location and the reason.
    public var description: String { "\(location): \(reason)" }
}

/// A key in memory, for tests and for programs that save it themselves.
public struct MemoryKey: KeyCustody {
    private let sealingKey: SealingKey
    /// A description of the location, such as "memory".
    public let location: String
    /// `nil`, because only the program knows the location.
    public let choice: KeyCustodyChoice?

    /// Creates the storage of a key.
    public init(_ key: SealingKey) {
        sealingKey = key
        location = "memory"
        choice = nil
    }

    /// Creates the storage of a new key.
    ///
    /// - Throws: `JOSEError` if the system has no randomness.
    public init() throws { self.init(try SealingKey.random()) }

    /// Creates the storage of a new key instead of the key of a store in this folder.
    package init(inPlaceOf choice: KeyCustodyChoice, in directory: StoreLocation) throws {
        sealingKey = try SealingKey.random()
        location = choice == .keyFile ? KeyFile(directory: directory).location : choice.explanation
        self.choice = choice
    }

    /// Returns the key.
    public func key() -> SealingKey? { sealingKey }

    /// Returns the key.
    public func create() -> SealingKey { sealingKey }
}

extension KeyCustodyError: LocalizedError {
    /// The failure in a sentence, for an alert.
    public var errorDescription: String? { "Cannot use the key of the account storage." }
    /// The reason in a sentence.
    public var failureReason: String? { description.sentence }
    /// The remedy in a sentence.
    public var recoverySuggestion: String? { hint.description.sentence }
}
