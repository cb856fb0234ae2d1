import SealedStorage
import LodgePlatform
import JOSE

/// The possible locations of a store's key, and the parameters for loading it.
///
/// Without a ``choice``, an existing store uses its saved location, and a new store the key file, in an app for Apple
/// platforms the Keychain. The key file also works without a desktop session, for `cron` and over SSH. It protects only
/// copies of the database. For more protection, choose another location once: the store saves it.
public struct KeyLocations: Sendable {
    /// The store's folder, for the key file.
    public var directory: StoreLocation
    /// The requested location, or `nil` for the location saved in the store.
    ///
    /// It never moves a key: a location different from the current one is an error, see
    /// `AccountStore/moveKey(to:storage:locations:)`.
    public var choice: KeyCustodyChoice?
    /// The environment variables, which name the session bus.
    public var environment: [String: String]
    /// The function that returns the passphrase. Do not read it from the command line, which other users can see.
    public var passphrase: (@Sendable (PassphrasePurpose) async throws -> Secret?)?
    /// The label of the key in the desktop's list of secrets.
    public var keyLabel = "Key of the accounts"
    /// Whether the desktop may prompt the user to unlock the keyring.
    public var allowsPrompts = true
    /// The options of the Keychain.
    package var keychain = KeychainOptions()
    /// The time limit of a call to the keyring.
    package var keyringTimeLimit: Duration = .seconds(15)
    /// The time limit of a call to the keyring if the desktop may prompt the user.
    package var promptTimeLimit: Duration = .seconds(120)
    /// The scrypt parameters for encrypting a key with a passphrase.
    package var passphraseParameters = Scrypt.standard
    /// The sleep function for time limits.
    package var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    /// Replacements for tests, by the word of the choice.
    package var replacements: [String: any KeyCustody] = [:]

    /// Creates the locations of the store in a folder.
    public init(
        directory: StoreLocation, choice: KeyCustodyChoice? = nil,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) {
        self.directory = directory
        self.choice = choice
        self.environment = environment
    }

    private static let identityName = "key-identity"

    /// Returns the key storage of a choice. If `makesIdentity` is `true`, the caller holds the storage's lock "key".
    package func custody(
        _ choice: KeyCustodyChoice, _ storage: any AccountStorage, makesIdentity: Bool = false
    ) async throws -> any KeyCustody {
        if let replacement = replacements[choice.word] { return replacement }
        switch choice {
        case .keyFile: return KeyFile(directory: directory)
        case .descriptor(let number): return FileDescriptorKey(number)
        case .passphrase:
            return PassphraseKey(storage: storage, parameters: passphraseParameters, passphrase: passphrase)
        case .secretService:
            return SecretServiceKey(
                identity: try await identity(storage, makesIdentity), label: keyLabel, environment: environment,
                allowsPrompts: allowsPrompts, timeLimit: keyringTimeLimit, promptTimeLimit: promptTimeLimit,
                sleep: sleep)
        case .keychain:
            guard let makeKey = Keychain.makeKey else {
                throw KeyCustodyError(
                    location: "the key in the Keychain", reason: "this system has no Keychain",
                    hint: "choose secret-service, key-file, passphrase or fd")
            }
            return makeKey(try await identity(storage, makesIdentity), keyLabel, keychain)
        }
    }

    /// Returns the identifier that distinguishes the keys of several stores in one keyring.
    ///
    /// It is created once for a storage.
    private func identity(_ storage: any AccountStorage, _ makes: Bool) async throws -> String {
        if let bytes = try await storage.value(Self.identityName) {
            // Other programs receive it, so it must not contain other data from a manipulated file.
            guard bytes.count == 22, Base64URL.decode(String(decoding: bytes, as: UTF8.self)) != nil else {
                throw unknownIdentity(storage)
            }
            return String(decoding: bytes, as: UTF8.self)
        }
        guard makes else { throw unknownIdentity(storage) }
        let identity = Base64URL.encode(try SecureRandom.bytes(16))
        try await storage.setValue(Array(identity.utf8), for: Self.identityName)
        return identity
    }

    private func unknownIdentity(_ storage: any AccountStorage) -> KeyCustodyError {
        KeyCustodyError(
            location: storage.location,
            reason: "the mark by which the keyring knows this store's key is missing or damaged",
            hint: "restore the store from a copy; the store is unchanged")
    }
}

extension KeyLocations: Redacted {
    /// The folder and the choice.
    public var description: String { "key locations of \(directory.path): \(choice?.description ?? "as remembered")" }
}

/// The saved key locations of a storage: the current one, and others that may still have a copy.
///
/// They are one small value, so that they change atomically.
package struct KeyLocationRecord: Equatable {
    package var current: KeyCustodyChoice
    package var leftovers: [KeyCustodyChoice]

    package init(current: KeyCustodyChoice, leftovers: [KeyCustodyChoice] = []) {
        self.current = current
        self.leftovers = leftovers
    }

    private static let name = "key-custody"
    private static let maximumByteCount = 1024

    /// Returns the saved record, or `nil` if it does not exist. Then the key is in the key file.
    package static func read(_ storage: any AccountStorage) async throws -> KeyLocationRecord? {
        guard let bytes = try await storage.value(name) else { return nil }
        let words = String(decoding: bytes.prefix(maximumByteCount), as: UTF8.self).split(separator: " ").map(
            String.init)
        let choices = words.compactMap { try? KeyCustodyChoice($0) }
        guard let current = choices.first, choices.count == words.count, bytes.count <= maximumByteCount else {
            throw KeyCustodyError(
                location: storage.location, reason: "this version does not know the recorded location of its key",
                hint: "use the version that wrote it, or a later one; the store is unchanged")
        }
        return KeyLocationRecord(current: current, leftovers: Array(choices.dropFirst()))
    }

    package func save(_ storage: any AccountStorage) async throws {
        let text = ([current] + leftovers).map(\.word).joined(separator: " ")
        try await storage.setValue(Array(text.utf8), for: Self.name)
    }

    package mutating func add(leftover choice: KeyCustodyChoice) {
        if !leftovers.contains(where: { $0.word == choice.word }) { leftovers.append(choice) }
    }

    package mutating func drop(leftover choice: KeyCustodyChoice) { leftovers.removeAll { $0.word == choice.word } }
}
