import JOSE

/// The key for digests of identities. With a digest, a sign-in finds the user's account without decrypting all records.
///
/// Without the store's key, a digest reveals nothing, not even whether two stores have the same user. Only the sealed
/// record proves who the user of an account is.
struct RecordIdentity: Sendable {
    static let byteCount = 16
    private let key: JWK?

    init(key: SealingKey) {
        self.key = Self.code(Array("account-identity-1".utf8), try? JWK(secret: key.bytes)).flatMap {
            try? JWK(secret: $0)
        }
    }

    /// Returns the digest of an identity.
    ///
    /// Without a subject, the digest depends only on the account type and on whether the account is the client's own.
    func digest(type: String, issuer: String?, subject: String?, isClient: Bool) -> [UInt8]? {
        var text: [UInt8] = [isClient ? 1 : 0]
        // The lengths delimit the parts, so that different parts never produce the same bytes.
        for part in [type, subject == nil ? nil : issuer, subject] {
            let bytes = part.map { Array($0.utf8) }
            text += Array("\(bytes?.count ?? -1):".utf8) + (bytes ?? [])
        }
        return Self.code(text, key).map { Array($0.prefix(Self.byteCount)) }
    }

    func digest(_ record: AccountRecord) -> [UInt8]? {
        digest(type: record.type, issuer: record.issuer, subject: record.subject, isClient: record.serviceGrant != nil)
    }

    /// Returns a digest of bytes. The digests of the same bytes for two purposes differ.
    func digest(purpose: String, _ text: [UInt8]) -> [UInt8]? {
        Self.code(Array("\(purpose.utf8.count):\(purpose)".utf8) + text, key).map { Array($0.prefix(Self.byteCount)) }
    }

    /// Returns the HMAC-SHA-256 of bytes.
    static func code(_ text: [UInt8], _ key: JWK?) -> [UInt8]? {
        try? key?.signature(of: text, using: .hs256)
    }
}
