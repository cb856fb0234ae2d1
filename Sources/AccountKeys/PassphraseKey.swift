import SealedStorage
import JOSE
import Platform

/// Why a passphrase is asked for.
public enum PassphrasePurpose: Sendable, Hashable {
    /// To open what was sealed with it.
    case open
    /// To seal with it from now on: a person is to type it twice.
    case choose
}

/// The key beside the records, sealed with a key that scrypt makes of a passphrase (RFC 7914).
///
/// A copy of the store is useless without the passphrase. The parameters and the salt are kept beside the sealed key.
public actor PassphraseKey: KeyCustody {
    /// Gives the passphrase; nil when there is none to be had.
    public typealias Source = @Sendable (PassphrasePurpose) async throws -> Secret?

    private let storage: any AccountStorage
    private let source: Source?
    private let parameters: Scrypt
    private let worker = Worker()
    private var passphrase: Secret?

    private static let name = "key-sealed"

    /// The sealed key of this storage.
    ///
    /// - Parameters:
    ///   - parameters: for a key that is sealed from now on.
    ///   - passphrase: gives the passphrase. It is asked at most once, and only when it is needed.
    public init(storage: any AccountStorage, parameters: Scrypt = .standard, passphrase: Source?) {
        self.storage = storage
        self.parameters = parameters
        source = passphrase
    }

    /// "sealed with a passphrase in" and the storage's place.
    public nonisolated var location: String { "the key sealed with a passphrase in \(storage.location)" }

    /// ``KeyCustodyChoice/passphrase``
    public nonisolated var choice: KeyCustodyChoice? { .passphrase }

    /// The key, or nil when none was sealed.
    public func key() async throws -> SealingKey? {
        guard let bytes = try await storage.value(Self.name) else { return nil }
        guard let sealed = SealedKey(bytes) else {
            throw fault("it is damaged", "restore the store from a copy; without the key the accounts cannot be read")
        }
        let passphrase = try await passphrase(for: .open)
        guard let key = try await worker.open(sealed, passphrase) else {
            self.passphrase = nil
            throw fault("the passphrase is wrong", "try again with the passphrase that the key was sealed with")
        }
        return key
    }

    /// Makes a key and seals it.
    public func create() async throws -> SealingKey {
        if let key = try await key() { return key }
        let key = try SealingKey.random()
        try await seal(key)
        return key
    }

    /// Seals this key.
    public func keep(_ key: SealingKey) async throws {
        if let existing = try await self.key() {
            guard !equalInConstantTime(existing.bytes, key.bytes) else { return }
            throw fault("another key is there already", "restore the store from a copy")
        }
        try await seal(key)
    }

    /// Removes the sealed key: it stands in the store's own storage, so it can be no other one.
    public func remove(_ key: SealingKey) async throws { try await storage.setValue(nil, for: Self.name) }

    private func seal(_ key: SealingKey) async throws {
        let sealed = try await worker.seal(key, parameters, try await passphrase(for: .choose))
        try await storage.setValue(sealed.bytes, for: Self.name)
    }

    private func passphrase(for purpose: PassphrasePurpose) async throws -> Secret {
        if let passphrase { return passphrase }
        guard let given = try await source?(purpose) else {
            throw fault(
                "there is no passphrase",
                "\(KeyRemedy.namePassphraseFile), or start the program in a terminal")
        }
        guard !given.value.isEmpty else { throw fault("the passphrase is empty", "give one of several words") }
        passphrase = given
        return given
    }

    private func fault(_ reason: String, _ hint: Hint) -> KeyCustodyError {
        KeyCustodyError(location: location, reason: reason, hint: hint)
    }

    /// Derives on a thread of its own, because it takes some tenths of a second.
    private actor Worker {
        private let thread = SerialThread()
        nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

        func open(_ sealed: SealedKey, _ passphrase: Secret) throws -> SealingKey? { try sealed.open(passphrase) }
        func seal(_ key: SealingKey, _ parameters: Scrypt, _ passphrase: Secret) throws -> SealedKey {
            try SealedKey(sealing: key, parameters, passphrase)
        }
    }
}

/// A key sealed with a passphrase, as it is kept: what is needed to open it again, and a checksum, which tells a wrong
/// passphrase from a damaged copy. The checksum is over what everybody may see.
struct SealedKey: Sendable {
    private static let mark = Array("DSK1".utf8)
    private static let saltCount = 16
    private static let headCount = mark.count + 3 + saltCount
    private static let checksumCount = 8

    /// Mark, log2 N, r, p, salt; then the sealed key; then the checksum.
    let bytes: [UInt8]
    private let parameters: Scrypt

    /// The sealed key that these bytes are; nil when they are damaged.
    init?(_ bytes: [UInt8]) {
        let body = Array(bytes.dropLast(Self.checksumCount))
        guard bytes.count == Self.headCount + SealingKey.byteCount + SealingKey.overhead + Self.checksumCount,
            body.starts(with: Self.mark), Self.checksum(body) == Array(bytes.suffix(Self.checksumCount)), body[4] < 32,
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
            Self.mark + [UInt8(parameters.cost.trailingZeroBitCount), blockSize, parallelization] + salt
        let body = try head + Self.wrapping(passphrase, salt, parameters).seal(key.bytes, authenticating: head)
        bytes = body + Self.checksum(body)
        self.parameters = parameters
    }

    /// The key; nil when the passphrase is another one.
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
