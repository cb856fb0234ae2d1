import SealedStorage
import Platform
import JOSE

/// Where the key of a store may be, and what is needed to get at it.
///
/// Without a ``choice``, an existing store uses the place that it remembers, and a new one the key file. The key file is the
/// order's first and only entry on purpose: it is there without a desktop session, for `cron` and over SSH, and a store that is
/// opened in both would otherwise look for its key in two places. It protects copies of the database alone; whoever wants more
/// chooses another place once, and the store remembers it.
public struct KeyLocations: Sendable {
    /// The store's directory, for the key file.
    public var directory: StoreLocation
    /// The place that was asked for; nil: the one that the store remembers. It never moves a key: another place than the one in use
    /// is an error, see `AccountStore/moveKey(to:storage:places:)`.
    public var choice: KeyCustodyChoice?
    /// The environment variables, which lead to the session bus.
    public var environment: [String: String]
    /// Gives the passphrase. Never from the command line, which other users can read.
    public var passphrase: PassphraseKey.Source?
    /// The label of the key in the desktop's list of secrets.
    public var keyLabel = "Key of the accounts"
    /// Whether the desktop may ask the person to unlock the keyring.
    public var allowsPrompts = true
    /// How long one call to the keyring may take.
    public var keyringTimeLimit: Duration = .seconds(15)
    /// The same where the desktop may ask the person.
    public var promptTimeLimit: Duration = .seconds(120)
    /// What scrypt does for a key that is sealed with a passphrase from now on.
    public var passphraseParameters = Scrypt.standard
    /// Waits for time limits.
    public var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    /// What tests put in a place, by its word.
    package var replacements: [String: any KeyCustody] = [:]

    /// The places of the store in this directory.
    public init(
        directory: StoreLocation, choice: KeyCustodyChoice? = nil,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) {
        self.directory = directory
        self.choice = choice
        self.environment = environment
    }

    private static let identityName = "key-identity"

    /// The custody of this choice for a storage. Under the storage's lock "key" where `makesIdentity`.
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
            return makeKey(try await identity(storage, makesIdentity), keyLabel)
        }
    }

    /// What tells the keys of two stores in one keyring apart: made once for a storage.
    private func identity(_ storage: any AccountStorage, _ makes: Bool) async throws -> String {
        if let bytes = try await storage.value(Self.identityName) {
            // It goes to other programs: what came into the file from elsewhere stays here.
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
            hint: "restore the store from a copy; nothing was changed")
    }
}

extension KeyLocations: Redacted {
    /// The directory and the choice.
    public var description: String { "key places of \(directory.path): \(choice?.description ?? "as remembered")" }
}

/// What a storage remembers of its key's place: the one in use, and those where a copy may still be.
///
/// It is one small value, so that the place in use and what is left over change in one step.
package struct KeyLocationRecord: Equatable {
    package var current: KeyCustodyChoice
    package var leftovers: [KeyCustodyChoice]

    package init(current: KeyCustodyChoice, leftovers: [KeyCustodyChoice] = []) {
        self.current = current
        self.leftovers = leftovers
    }

    private static let name = "key-custody"
    private static let maximumByteCount = 1024

    /// What the storage remembers; nil for one that has never said: its key is in the key file.
    package static func read(_ storage: any AccountStorage) async throws -> KeyLocationRecord? {
        guard let bytes = try await storage.value(name) else { return nil }
        let words = String(decoding: bytes.prefix(maximumByteCount), as: UTF8.self).split(separator: " ").map(
            String.init)
        let choices = words.compactMap { try? KeyCustodyChoice($0) }
        guard let current = choices.first, choices.count == words.count, bytes.count <= maximumByteCount else {
            throw KeyCustodyError(
                location: storage.location, reason: "it says where its key is in words that this version does not know",
                hint: "use the version that wrote it, or a later one; nothing was changed")
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
