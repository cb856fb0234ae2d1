import JOSE

/// Creates the digests that lead a sign-in to its account without opening every record.
///
/// Without the store's key a digest reveals nothing, not even whether two stores have the same user. Only the sealed record proves
/// whose account it is.
struct RecordIdentity: Sendable {
    static let byteCount = 16
    private let key: JWK?

    init(key: SealingKey) {
        self.key = Self.code(Array("account-identity-1".utf8), try? JWK(secret: key.bytes)).flatMap {
            try? JWK(secret: $0)
        }
    }

    /// Returns the digest of an identity. Without a subject, a type has one account, and one of the client's own.
    func digest(type: String, issuer: String?, subject: String?, isClient: Bool) -> [UInt8]? {
        var text: [UInt8] = [isClient ? 1 : 0]
        // Lengths keep the parts apart.
        for part in [type, subject == nil ? nil : issuer, subject] {
            let bytes = part.map { Array($0.utf8) }
            text += Array("\(bytes?.count ?? -1):".utf8) + (bytes ?? [])
        }
        return Self.code(text, key).map { Array($0.prefix(Self.byteCount)) }
    }

    func digest(_ record: AccountRecord) -> [UInt8]? {
        digest(type: record.type, issuer: record.issuer, subject: record.subject, isClient: record.serviceGrant != nil)
    }

    /// Returns a digest of any text for a named purpose.
    func digest(purpose: String, _ text: [UInt8]) -> [UInt8]? {
        Self.code(Array("\(purpose.utf8.count):\(purpose)".utf8) + text, key).map { Array($0.prefix(Self.byteCount)) }
    }

    /// Returns the HMAC-SHA-256 of a text.
    static func code(_ text: [UInt8], _ key: JWK?) -> [UInt8]? {
        try? key?.signature(of: text, using: .hs256)
    }
}
