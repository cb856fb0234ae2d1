import Platform
import SealedStorage
import JOSE

/// A location of the 32-byte key that seals the records of a store.
public protocol KeyCustody: Sendable {
    /// The location in words for people: "key file /home/ada/.local/share/com.example.people/accounts.key".
    var location: String { get }

    /// The choice that this custody implements, or `nil` for one that only the program knows. The store remembers the choice
    /// that it was created with, and rejects another one: see `AccountStore/moveKey(to:storage:locations:)`.
    var choice: KeyCustodyChoice? { get }

    /// Returns the key, or `nil` if there is none yet.
    ///
    /// - Throws: ``KeyCustodyError`` if there is a key that cannot be loaded: locked, unreadable, damaged.
    func key() async throws -> SealingKey?

    /// Creates a key and saves it. If another process created one first, returns that key.
    ///
    /// - Throws: ``KeyCustodyError``
    func create() async throws -> SealingKey

    /// Saves this key, durably when the call returns. If it is already saved, does nothing.
    ///
    /// - Throws: ``KeyCustodyError``, also if there is another key, which stays.
    func save(_ key: SealingKey) async throws

    /// Removes this key. Another key stays.
    ///
    /// - Throws: ``KeyCustodyError`` if this key may still be there.
    func remove(_ key: SealingKey) async throws
}

extension KeyCustody {
    /// Returns `nil`, for a custody of the program's own.
    public var choice: KeyCustodyChoice? { nil }

    /// Throws an error: a custody of the program's own saves no key unless it implements this function.
    public func save(_ key: SealingKey) async throws {
        throw error("it cannot store a key", "move the key to another location")
    }

    /// Does nothing: the program itself removes the key of a custody of its own.
    public func remove(_ key: SealingKey) async throws {}

    /// Returns the key, or creates one and saves it.
    func keyOrNewKey() async throws -> SealingKey {
        if let key = try await key() { return key }
        let key = try SealingKey.random()
        try await save(key)
        return key
    }

    func error(_ reason: String, _ hint: Hint) -> KeyCustodyError {
        KeyCustodyError(location: location, reason: reason, hint: hint)
    }

    /// Checks that a key that is already there is the one to save.
    func check(_ existing: SealingKey, is key: SealingKey, otherwise hint: Hint) throws(KeyCustodyError) {
        guard !equalInConstantTime(existing.bytes, key.bytes) else { return }
        throw error("another key is there already", hint)
    }
}

/// The reason why the key cannot be loaded. It is never a reason to start with a new key.
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

/// A key in memory: for tests, and for programs that save it themselves.
public struct MemoryKey: KeyCustody {
    private let sealingKey: SealingKey
    /// The location in words, such as "memory".
    public let location: String
    /// `nil`, because only the program knows it.
    public let choice: KeyCustodyChoice?

    /// Creates the custody of a key.
    public init(_ key: SealingKey) {
        sealingKey = key
        location = "memory"
        choice = nil
    }

    /// Creates the custody of a new key.
    ///
    /// - Throws: `JOSEError` if the system has no randomness.
    public init() throws { self.init(try SealingKey.random()) }

    /// Creates the custody of a new key that stands for the one that a store in this folder would have.
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
