import Platform
import SealedStorage
import JOSE

/// Who keeps the 32-byte key that seals a store's records.
public protocol KeyCustody: Sendable {
    /// Where the key is, in words for people: "key file /home/ada/.local/share/com.example.people/accounts.key".
    var location: String { get }

    /// Which of the choices this is; nil for a custody that only the program knows. The store remembers the choice that it was
    /// made with, and refuses another one: see `AccountStore/moveKey(to:storage:places:)`.
    var choice: KeyCustodyChoice? { get }

    /// The key, or nil when there is none yet.
    ///
    /// - Throws: ``KeyCustodyError`` when there is one that cannot be had: locked, unreadable, damaged.
    func key() async throws -> SealingKey?

    /// Makes a key and keeps it. When another process made one meanwhile, that one.
    ///
    /// - Throws: ``KeyCustodyError``
    func create() async throws -> SealingKey

    /// Keeps this key, durably when the call returns. A key that is kept already is kept once.
    ///
    /// - Throws: ``KeyCustodyError``, also when another key is there: that one stays.
    func keep(_ key: SealingKey) async throws

    /// Removes this key. Another key, or none, is left as it is.
    ///
    /// - Throws: ``KeyCustodyError`` when this key may still be there.
    func remove(_ key: SealingKey) async throws
}

extension KeyCustody {
    /// None: a custody of the program's own.
    public var choice: KeyCustodyChoice? { nil }

    /// Throws: a custody of the program's own takes no key, unless it says how.
    public func keep(_ key: SealingKey) async throws {
        throw KeyCustodyError(
            location: location, reason: "a key cannot be put there", hint: "move the key to a place that takes one")
    }

    /// Does nothing: what the program keeps, the program removes.
    public func remove(_ key: SealingKey) async throws {}
}

/// Why the key cannot be had. Never a reason to start with a new one.
public struct KeyCustodyError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Where the key is kept.
    public var location: String
    /// What is wrong.
    public var reason: String
    /// What to do.
    public var hint: Hint

    /// A fault.
    public init(location: String, reason: String, hint: Hint) {
        self.location = location
        self.reason = reason
        self.hint = hint
    }

    /// Place and reason.
    public var description: String { "\(location): \(reason)" }
}

/// A key that lives in memory: for tests, and for programs that keep it themselves.
public struct MemoryKey: KeyCustody {
    private let sealingKey: SealingKey
    /// "memory"
    public let location: String
    /// Nil: only the program knows of it.
    public let choice: KeyCustodyChoice?

    /// This key.
    public init(_ key: SealingKey) {
        sealingKey = key
        location = "memory"
        choice = nil
    }

    /// A new key.
    ///
    /// - Throws: `JOSEError` when the system has no randomness.
    public init() throws { self.init(try SealingKey.random()) }

    /// A new key in the place of the one that a store of this folder would have.
    package init(inPlaceOf choice: KeyCustodyChoice, in directory: StoreLocation) throws {
        sealingKey = try SealingKey.random()
        location = choice == .keyFile ? KeyFile(directory: directory).location : choice.explanation
        self.choice = choice
    }

    /// The key.
    public func key() -> SealingKey? { sealingKey }

    /// The key.
    public func create() -> SealingKey { sealingKey }
}
