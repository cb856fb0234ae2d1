public import StrictJSON

/// A set of public keys, as an issuer publishes it.
///
/// Private halves are dropped and secrets are left out: a set that came over the network must never decide what a shared
/// secret is. To verify with a secret, use ``JWT/verified(withSecret:algorithms:)``.
///
/// [RFC 7517 section 5](https://www.rfc-editor.org/rfc/rfc7517#section-5)
public struct JWKSet: Sendable {
    /// The most keys that a set may hold.
    public static let maximumKeyCount = 1000
    /// The most bytes that are read as a set.
    public static let maximumByteCount = 1 << 20
    /// The most keys that are tried for one signature.
    static let maximumTries = 64

    /// The public keys, in the order of the set.
    public let keys: [JWK]
    /// How many keys were left out because they are broken, too weak, secrets, or of a kind that is not known.
    public let skippedKeyCount: Int

    /// A set of the public halves of these keys.
    public init(_ keys: [JWK] = []) {
        self.keys = keys.compactMap(\.publicKey)
        skippedKeyCount = keys.count - self.keys.count
    }

    /// Reads a set. Keys that cannot be used are skipped, as RFC 7517 section 5 asks.
    ///
    /// - Throws: ``JOSEError/keySet(_:)`` when `keys` is not an array, or has more than ``maximumKeyCount`` elements.
    public init(_ object: JSONObject) throws(JOSEError) {
        guard object.members.count(where: { sameBytes($0.name, "keys") }) == 1 else {
            throw .keySet("it must have one member named keys")
        }
        guard let elements = object["keys"]?.array else { throw .keySet("keys must be an array") }
        guard elements.count <= Self.maximumKeyCount else {
            throw .keySet("it has \(elements.count) keys, and at most \(Self.maximumKeyCount) are read")
        }
        keys = elements.compactMap { element in
            guard let object = element.object else { return nil }
            return Self.publicKey(object)
        }
        skippedKeyCount = elements.count - keys.count
    }

    /// Reads a set from JSON text of at most ``maximumByteCount`` bytes.
    ///
    /// - Throws: ``JOSEError/keySet(_:)``.
    public init(parsing bytes: some Collection<UInt8>) throws(JOSEError) {
        guard bytes.count <= Self.maximumByteCount else {
            throw .keySet("it has \(bytes.count) bytes, and at most \(Self.maximumByteCount) are read")
        }
        guard let value = try? JSONValue(parsing: bytes), let object = value.object else {
            throw .keySet("it is not a JSON object")
        }
        try self.init(object)
    }

    /// The set as JSON: public members only.
    public var json: JSONObject { ["keys": .array(keys.map { .object($0.publicJSON) })] }

    /// The keys that may verify this signature: those named by the key ID, or all when there is none, if their type,
    /// use and algorithm allow it. A key ID that no key has selects none, whatever else would fit.
    public func candidates(for algorithm: JWSAlgorithm, keyID: String?) -> [JWK] {
        let fitting = keys.lazy.filter { key in
            if let keyID {
                guard let own = key.keyID, sameBytes(own, keyID) else { return false }
            }
            return key.canVerify(algorithm)
        }
        return Array(fitting.prefix(Self.maximumTries))
    }

    private static func publicKey(_ object: JSONObject) -> JWK? {
        // Looked at before anything else, so that a stranger's set cannot make us test private keys or keep secrets.
        guard object.duplicatedNames.isEmpty, object["k"] == nil else { return nil }
        var object = object
        for name in ["d", "p", "q", "dp", "dq", "qi", "oth"] where object[name] != nil { object[name] = nil }
        guard let key = try? JWK(object), key.type != .symmetric else { return nil }
        return key
    }
}
