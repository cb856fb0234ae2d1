import JOSE

/// Makes the digests by which a sign-in finds the account it belongs to, without opening every record.
///
/// A digest tells nothing to who has not the store's key, not even whether two stores hold the same person. It only leads to
/// records: whose they are is told by what is sealed.
struct RecordIdentity: Sendable {
    /// The length of a digest in bytes.
    static let byteCount = 16
    private let key: JWK?

    init(key: SealingKey) {
        self.key = Self.code(Array("account-identity-1".utf8), try? JWK(secret: key.bytes)).flatMap {
            try? JWK(secret: $0)
        }
    }

    /// The digest of this identity.
    ///
    /// Without a subject nobody can be told apart: a type has one such account, and one of the client's own.
    func digest(type: String, issuer: String?, subject: String?, isClient: Bool) -> [UInt8]? {
        var text: [UInt8] = [isClient ? 1 : 0]
        // Lengths keep the parts apart.
        for part in [type, subject == nil ? nil : issuer, subject] {
            let bytes = part.map { Array($0.utf8) }
            text += Array("\(bytes?.count ?? -1):".utf8) + (bytes ?? [])
        }
        return Self.code(text, key).map { Array($0.prefix(Self.byteCount)) }
    }

    /// The digest of a record's identity.
    func digest(_ record: AccountRecord) -> [UInt8]? {
        digest(type: record.type, issuer: record.issuer, subject: record.subject, isClient: record.serviceGrant != nil)
    }

    /// A digest of 16 bytes of any text, for a purpose of this name.
    func digest(purpose: String, _ text: [UInt8]) -> [UInt8]? {
        Self.code(Array("\(purpose.utf8.count):\(purpose)".utf8) + text, key).map { Array($0.prefix(Self.byteCount)) }
    }

    /// HMAC-SHA-256 (RFC 2104).
    private static func code(_ text: [UInt8], _ key: JWK?) -> [UInt8]? {
        try? key?.signature(of: text, using: .hs256)
    }
}
