import JOSE
import LodgePlatform
import SealedStorage

/// Seals records with AES-256-GCM. The identifier, type and revision are authenticated: a record that was copied to a
/// different account, type or revision cannot be opened.
///
/// An older row with its own revision can be opened, like a restored copy of the file. The store cannot distinguish the
/// two without a state outside of the file.
struct RecordSeal: Sendable {
    let key: SealingKey
    let identities: RecordIdentity
    private let textKey: JWK?
    private static let keyCheckValue = Array("OAuth2AccountStore key".utf8)
    private static let checkContext = Array("key-check-1".utf8)

    init(key: SealingKey) {
        self.key = key
        identities = RecordIdentity(key: key)
        textKey = try? JWK(secret: RecordIdentity.code(Array("sealed-text-1".utf8), try JWK(secret: key.bytes)) ?? [])
    }

    private static func context(
        _ id: String, _ type: String, _ revision: Int64, purpose: String = "account-1"
    ) -> [UInt8] {
        // The lengths delimit the parts, so that different parts never produce the same bytes.
        Array("\(purpose):\(id.utf8.count):\(id):\(type.utf8.count):\(type):\(revision)".utf8)
    }

    func seal(_ record: AccountRecord, revision: Int64) throws -> SealedRecord {
        let plain = try JSONEncoder().encode(record)
        let sealed = try key.seal(plain, authenticating: Self.context(record.id.rawValue, record.type, revision))
        return SealedRecord(
            id: record.id.rawValue, type: record.type, revision: revision, identity: identities.digest(record),
            sealed: sealed)
    }

    /// Returns the record, or `nil` if it was changed or has another key.
    func open(_ record: SealedRecord) -> AccountRecord? {
        let context = Self.context(record.id, record.type, record.revision)
        guard let plain = try? key.open(record.sealed, authenticating: context) else { return nil }
        return try? JSONDecoder().decode(AccountRecord.self, from: Data(plain))
    }

    /// Seals other contents for an account. They can be opened only for the same purpose, and never as a record.
    func seal(_ plain: [UInt8], for purpose: String, id: String, type: String, revision: Int64) throws -> SealedRecord {
        let sealed = try key.seal(plain, authenticating: Self.context(id, type, revision, purpose: purpose))
        return SealedRecord(id: id, type: type, revision: revision, sealed: sealed)
    }

    /// Returns the contents that were sealed for a purpose, or `nil` if they were changed or have another key.
    func open(_ record: SealedRecord, for purpose: String) -> [UInt8]? {
        let context = Self.context(record.id, record.type, record.revision, purpose: purpose)
        return (try? key.open(record.sealed, authenticating: context)).map { Array($0) }
    }

    private static let saltSize = 16

    /// Seals bytes that leave the store, for a purpose.
    ///
    /// Each result has its own key, derived from its salt. The visitors of a server can request any number of results,
    /// and a key with random nonces is safe for only 2^32 of them (NIST SP 800-38D section 8.3).
    func seal(_ plain: [UInt8], for purpose: String) throws -> [UInt8] {
        let salt = try SecureRandom.bytes(Self.saltSize)
        return salt + (try textKey(salt[...]).seal(plain, authenticating: Array(purpose.utf8)))
    }

    /// Returns bytes that were sealed for a purpose, or `nil` if they were changed or have another key.
    func open(_ sealed: [UInt8], for purpose: String) -> [UInt8]? {
        guard sealed.count > Self.saltSize else { return nil }
        let text = Array(sealed.dropFirst(Self.saltSize))
        return try? textKey(sealed.prefix(Self.saltSize)).open(text, authenticating: Array(purpose.utf8))
    }

    private func textKey(_ salt: ArraySlice<UInt8>) throws -> SealingKey {
        try SealingKey(RecordIdentity.code(Array(salt), textKey) ?? [])
    }

    /// Returns sealed bytes that identify the key.
    func check() throws -> [UInt8] { try key.seal(Self.keyCheckValue, authenticating: Self.checkContext) }

    func matches(_ check: [UInt8]) -> Bool {
        (try? key.open(check, authenticating: Self.checkContext)) == Self.keyCheckValue
    }
}
