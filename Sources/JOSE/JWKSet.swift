import StrictJSON

/// A set of public keys, as published by an issuer.
///
/// Private halves and secrets are dropped: a set from the network must not define a shared secret. To verify with a
/// secret, use ``JWT/verified(withSecret:algorithms:)``.
///
/// See [RFC 7517 section 5](https://www.rfc-editor.org/rfc/rfc7517#section-5).
package struct JWKSet: Sendable {
    /// The maximum number of keys in a set.
    package static let maximumKeyCount = 1000
    /// The maximum size of a set in bytes.
    package static let maximumByteCount = 1 << 20
    /// The maximum number of keys to try for one signature.
    static let maximumTries = 64

    /// The public keys, in the order of the set.
    package let keys: [JWK]
    /// The number of skipped keys: invalid, too weak, secret, or of an unsupported type.
    package let skippedKeyCount: Int

    /// Creates a set of the public halves of these keys.
    package init(_ keys: [JWK] = []) {
        self.keys = keys.compactMap(\.publicKey)
        skippedKeyCount = keys.count - self.keys.count
    }

    /// Creates a set from a JSON object. Unusable keys are skipped, as RFC 7517 section 5 requires.
    ///
    /// - Throws: ``JOSEError/keySet(_:)`` if `keys` is not an array or has more than ``maximumKeyCount`` elements.
    package init(_ object: JSONObject) throws(JOSEError) {
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

    /// Creates a set from JSON of at most ``maximumByteCount`` bytes.
    ///
    /// - Throws: ``JOSEError/keySet(_:)``.
    package init(parsing bytes: some Collection<UInt8>) throws(JOSEError) {
        guard bytes.count <= Self.maximumByteCount else {
            throw .keySet("it has \(bytes.count) bytes, and at most \(Self.maximumByteCount) are read")
        }
        guard let value = try? JSONValue(parsing: bytes), let object = value.object else {
            throw .keySet("it is not a JSON object")
        }
        try self.init(object)
    }

    /// The set as JSON with only public members.
    package var json: JSONObject { ["keys": .array(keys.map { .object($0.publicJSON) })] }

    /// Returns the keys that can verify a signature.
    ///
    /// These are the keys with the key ID, or all if it is `nil`, with a suitable type, use and algorithm.
    ///
    /// Returns none if the set does not contain the key ID.
    package func candidates(for algorithm: JWSAlgorithm, keyID: String?) -> [JWK] {
        let fitting = keys.lazy.filter { key in
            if let keyID {
                guard let own = key.keyID, sameBytes(own, keyID) else { return false }
            }
            return key.canVerify(algorithm)
        }
        return Array(fitting.prefix(Self.maximumTries))
    }

    private static func publicKey(_ object: JSONObject) -> JWK? {
        // Checked first, so that an untrusted set cannot make the program test private keys or store secrets.
        guard object.duplicatedNames.isEmpty, object["k"] == nil else { return nil }
        var object = object
        for name in ["d", "p", "q", "dp", "dq", "qi", "oth"] where object[name] != nil { object[name] = nil }
        guard let key = try? JWK(object), key.type != .symmetric else { return nil }
        return key
    }
}
