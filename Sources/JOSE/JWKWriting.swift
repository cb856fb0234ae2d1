import StrictJSON

extension JWK {
    /// The kind of key to generate.
    package enum Generation: Sendable, Hashable {
        /// RSA with the given number of bits, 2048 to 8192, and the exponent 65537. 2048 bits take about a tenth of a
        /// second.
        case rsa(bits: Int)
        /// A key pair on this curve.
        case curve(Curve)
        /// The given number of random bytes, 32 to 65,536.
        case secret(byteCount: Int)
    }

    /// Returns a new key.
    ///
    /// - Throws: ``JOSEError/weakKey(_:)`` for sizes out of range; ``JOSEError/cryptography(_:)`` if the library fails.
    package static func generate(
        _ generation: Generation, keyID: String? = nil, algorithm: JWSAlgorithm? = nil
    ) throws(JOSEError) -> JWK {
        var key: JWK
        switch generation {
        case .rsa(let bits):
            guard rsaBitCounts.contains(bits) else {
                throw .weakKey("RSA keys have \(rsaBitCounts.lowerBound) to \(rsaBitCounts.upperBound) bits")
            }
            guard let handle = KeyHandle.generateRSA(bits: bits), let numbers = handle.rsaNumbers else {
                throw failure()
            }
            key = JWK(.rsa, nil, handle, isPrivate: true, ["n": numbers.n, "e": numbers.e])
        case .curve(let curve):
            guard let handle = KeyHandle.generate(curve), let point = handle.point else { throw failure() }
            if curve == .ed25519 {
                key = JWK(.okp, curve, handle, isPrivate: true, ["x": point])
            } else {
                let count = curve.coordinateByteCount
                let x = Array(point.dropFirst().prefix(count))
                key = JWK(.ec, curve, handle, isPrivate: true, ["x": x, "y": Array(point.suffix(count))])
            }
        case .secret(let byteCount):
            guard (32...65536).contains(byteCount) else { throw .weakKey("secrets have 32 to 65,536 bytes") }
            key = try JWK(secret: SecureRandom.bytes(byteCount))
        }
        key.keyID = keyID
        key.use = "sig"
        key.algorithm = algorithm?.rawValue
        return key
    }

    /// Returns a new key for the algorithm: RSA of 2048 bits, the algorithm's curve, or a secret as long as its digest.
    ///
    /// - Throws: ``JOSEError/cryptography(_:)`` if the library fails.
    package static func generate(for algorithm: JWSAlgorithm, keyID: String? = nil) throws(JOSEError) -> JWK {
        let generation: Generation =
            switch algorithm.keyType {
            case .rsa: .rsa(bits: 2048)
            case .symmetric: .secret(byteCount: algorithm.digest.byteCount)
            case .ec, .okp: .curve(algorithm.curve ?? .p256)
            }
        return try generate(generation, keyID: keyID, algorithm: algorithm)
    }

    private static func failure() -> JOSEError { .cryptography("the key could not be made") }

    /// The public members. For a secret, only its type and uses.
    package var publicJSON: JSONObject {
        var object: JSONObject = ["kty": .string(type.rawValue)]
        for member in publicMembers.members { object.append(member.name, member.value) }
        if let keyID { object.append("kid", .string(keyID)) }
        if let use { object.append("use", .string(use)) }
        if let keyOperations { object.append("key_ops", .array(keyOperations.map(JSONValue.string))) }
        if let issuer { object.append("issuer", .string(issuer)) }
        if let algorithm { object.append("alg", .string(algorithm)) }
        return object
    }

    /// Returns all members including the private ones: a secret. Equal to ``publicJSON`` for a public key.
    ///
    /// - Throws: ``JOSEError/cryptography(_:)`` if the library does not export the private half.
    package func privateJSON() throws(JOSEError) -> JSONObject {
        var object = publicJSON
        guard isPrivate else { return object }
        func append(_ name: String, _ bytes: [UInt8]?) throws(JOSEError) {
            guard let bytes else { throw .cryptography("the private half of the key cannot be read") }
            object.append(name, .string(Base64URL.encode(bytes)))
        }
        switch material {
        case .secret(let secret):
            try append("k", secret.bytes)
        case .pair(let handle):
            guard type == .rsa else {
                try append("d", handle.privateNumber)
                break
            }
            let numbers = handle.rsaNumbers
            try append("d", numbers?.d)
            // A key that was created without its primes is written without them.
            for (name, number) in zip(RSANumbers.remainderNames, numbers?.remainders ?? []) { try append(name, number) }
        }
        return object
    }
}
