import SealedStorage
import JOSE
import LodgePlatform

/// The purpose of a passphrase.
public enum PassphrasePurpose: Sendable, Hashable {
    /// To decrypt a key.
    case open
    /// To encrypt a key. Prompt for the passphrase twice.
    case choose
}

/// The key in the same storage as the records, encrypted with a key that scrypt derives from a passphrase (RFC 7914).
///
/// A copy of the store is useless without the passphrase. The parameters and the salt are saved with the encrypted key.
package actor PassphraseKey: KeyCustody {
    /// Returns the passphrase, or `nil` if it is not available.
    package typealias Source = @Sendable (PassphrasePurpose) async throws -> Secret?

    private let storage: any AccountStorage
    private let source: Source?
    private let parameters: Scrypt
    private let worker = Worker()
    private var passphrase: Secret?

    private static let name = "key-sealed"

    /// Creates access to the encrypted key in a storage.
    ///
    /// - Parameters:
    ///   - parameters: The scrypt parameters for a new encrypted key.
    ///   - passphrase: The function that returns the passphrase. It is called at most once, and only if needed.
    package init(storage: any AccountStorage, parameters: Scrypt = .standard, passphrase: Source?) {
        self.storage = storage
        self.parameters = parameters
        source = passphrase
    }

    /// The text "the key sealed with a passphrase in" with the storage's location.
    package nonisolated var location: String { "the key sealed with a passphrase in \(storage.location)" }

    /// The choice ``KeyCustodyChoice/passphrase``.
    package nonisolated var choice: KeyCustodyChoice? { .passphrase }

    /// Returns the key, or `nil` if it does not exist.
    package func key() async throws -> SealingKey? {
        guard let bytes = try await storage.value(Self.name) else { return nil }
        guard let sealed = SealedKey(bytes) else {
            throw error("it is damaged", "restore the store from a copy; without the key the accounts cannot be read")
        }
        let passphrase = try await passphrase(for: .open)
        guard let key = try await worker.open(sealed, passphrase) else {
            self.passphrase = nil
            throw error("the passphrase is wrong", "try again with the passphrase that the key was sealed with")
        }
        return key
    }

    /// Creates and encrypts a key.
    package func create() async throws -> SealingKey { try await keyOrNewKey() }

    /// Encrypts this key with the passphrase.
    package func save(_ key: SealingKey) async throws {
        if let existing = try await self.key() {
            return try check(existing, is: key, otherwise: "restore the store from a copy")
        }
        let sealed = try await worker.seal(key, parameters, try await passphrase(for: .choose))
        try await storage.setValue(sealed.bytes, for: Self.name)
    }

    /// Removes the encrypted key. It is in the store's own storage, so it cannot be the key of another store.
    package func remove(_ key: SealingKey) async throws { try await storage.setValue(nil, for: Self.name) }

    private func passphrase(for purpose: PassphrasePurpose) async throws -> Secret {
        if let passphrase { return passphrase }
        guard let given = try await source?(purpose) else {
            throw error(
                "there is no passphrase",
                "\(KeyRemedy.namePassphraseFile), or start the program in a terminal")
        }
        guard !given.value.isEmpty else { throw error("the passphrase is empty", "enter one of several words") }
        passphrase = given
        return given
    }

    /// A thread for scrypt, which takes some tenths of a second.
    private actor Worker {
        private let thread = SerialThread()
        nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

        func open(_ sealed: SealedKey, _ passphrase: Secret) throws -> SealingKey? { try sealed.open(passphrase) }
        func seal(_ key: SealingKey, _ parameters: Scrypt, _ passphrase: Secret) throws -> SealedKey {
            try SealedKey(sealing: key, parameters, passphrase)
        }
    }
}

/// The saved form of a key encrypted with a passphrase: the parameters to decrypt it, and a checksum.
///
/// The checksum distinguishes a wrong passphrase from a damaged copy. It reveals no secret.
struct SealedKey: Sendable {
    private static let magic = Array("DSK1".utf8)
    private static let saltCount = 16
    private static let headCount = magic.count + 3 + saltCount
    private static let checksumCount = 8

    /// Magic number, log2 N, r, p, salt; then the encrypted key; then the checksum.
    let bytes: [UInt8]
    private let parameters: Scrypt

    /// Creates an encrypted key from its saved form, or returns `nil` if the bytes are damaged.
    init?(_ bytes: [UInt8]) {
        let body = Array(bytes.dropLast(Self.checksumCount))
        guard bytes.count == Self.headCount + SealingKey.byteCount + SealingKey.overhead + Self.checksumCount,
            body.starts(with: Self.magic), Self.checksum(body) == Array(bytes.suffix(Self.checksumCount)), body[4] < 32,
            let parameters = try? Scrypt(
                cost: 1 << Int(body[4]), blockSize: Int(body[5]), parallelization: Int(body[6]))
        else { return nil }
        self.bytes = bytes
        self.parameters = parameters
    }

    init(sealing key: SealingKey, _ parameters: Scrypt, _ passphrase: Secret) throws {
        guard let blockSize = UInt8(exactly: parameters.blockSize),
            let parallelization = UInt8(exactly: parameters.parallelization)
        else { throw JOSEError.cryptography("scrypt's r and p are at most 255 here") }
        let salt = try SecureRandom.bytes(Self.saltCount)
        let head =
            Self.magic + [UInt8(parameters.cost.trailingZeroBitCount), blockSize, parallelization] + salt
        let body = try head + Self.wrapping(passphrase, salt, parameters).seal(key.bytes, authenticating: head)
        bytes = body + Self.checksum(body)
        self.parameters = parameters
    }

    /// Returns the key, or `nil` if the passphrase is wrong.
    func open(_ passphrase: Secret) throws -> SealingKey? {
        let head = Array(bytes.prefix(Self.headCount))
        let sealed = Array(bytes.dropFirst(Self.headCount).dropLast(Self.checksumCount))
        let wrapping = try Self.wrapping(passphrase, Array(head.suffix(Self.saltCount)), parameters)
        guard let key = try? wrapping.open(sealed, authenticating: head) else { return nil }
        return try SealingKey(key)
    }

    private static func wrapping(_ passphrase: Secret, _ salt: [UInt8], _ parameters: Scrypt) throws -> SealingKey {
        var text = Array(passphrase.value.utf8)
        defer { for index in text.indices { text[index] = 0 } }
        return try SealingKey(
            try parameters.derive(passphrase: text, salt: salt, count: SealingKey.byteCount))
    }

    private static func checksum(_ body: [UInt8]) -> [UInt8] { Array(SHA2.sha256.digest(body).prefix(checksumCount)) }
}
