import StrictJSON

extension JWK {
    /// Creates a key from a JSON object.
    ///
    /// Required members must be present and valid, a point must be on its curve, RSA needs 2048 to 8192 bits and an odd
    /// exponent of 3 to 2³² − 1, and the private half must match the public half. RSA keys with the ROCA weakness
    /// (CVE-2017-15361) are rejected. Leading zero octets of RSA numbers, which some providers send, are dropped.
    ///
    /// - Throws: ``JOSEError/invalidKey(_:)`` or ``JOSEError/weakKey(_:)``.
    package init(_ object: JSONObject) throws(JOSEError) {
        guard object.duplicatedNames.isEmpty else { throw .invalidKey("duplicate member") }
        let members = Members(object: object)
        let type = try members.required("kty")
        switch KeyType.allCases.first(where: { sameBytes($0.rawValue, type) }) {
        case .rsa: self = try Self.rsa(members)
        case .ec: self = try Self.ellipticCurve(members)
        case .okp: self = try Self.octetKeyPair(members)
        case .symmetric: self = try Self.symmetric(members)
        case nil: throw .invalidKey("kty is not RSA, EC, OKP or oct")
        }
        keyID = try members.string("kid")
        use = try members.string("use")
        algorithm = try members.string("alg")
        keyOperations = try members.operations()
        issuer = members.object["issuer"]?.string
    }

    /// Creates a key from JSON. Private members make it a key pair.
    ///
    /// - Throws: ``JOSEError/invalidKey(_:)`` or ``JOSEError/weakKey(_:)``.
    package init(parsing bytes: some Sequence<UInt8>) throws(JOSEError) {
        guard case .object(let object)? = try? JSONValue(parsing: bytes, options: .init(rejectsDuplicates: true)) else {
            throw .invalidKey("it is not a JSON object")
        }
        try self.init(object)
    }

    /// Creates a key from a shared secret, such as a client secret.
    ///
    /// - Throws: ``JOSEError/weakKey(_:)`` if it is empty; ``JOSEError/invalidKey(_:)`` if it is over 64 KiB.
    package init(secret: some Collection<UInt8>) throws(JOSEError) {
        guard !secret.isEmpty else { throw .weakKey("the secret is empty") }
        guard secret.count <= 1 << 16 else { throw .invalidKey("a secret has at most 65,536 bytes") }
        self.init(
            type: .symmetric, curve: nil, isPrivate: true, material: .secret(SecretBytes(secret)), publicMembers: [:])
    }

    private static func symmetric(_ members: Members) throws(JOSEError) -> JWK {
        try JWK(secret: members.requiredBytes("k"))
    }

    private static func octetKeyPair(_ members: Members) throws(JOSEError) -> JWK {
        guard sameBytes(try members.required("crv"), Curve.ed25519.rawValue) else {
            throw .invalidKey("Ed25519 is the only curve of OKP that signs here")
        }
        let point = try members.requiredBytes("x")
        guard point.count == 32 else { throw .invalidKey("x of Ed25519 has 32 bytes, this has \(point.count)") }
        let secret = try members.bytes("d")
        if let secret, secret.count != 32 {
            throw .invalidKey("d of Ed25519 has 32 bytes, this has \(secret.count)")
        }
        let handle = try KeyHandle.ed25519(x: point, d: secret)
        return JWK(.okp, .ed25519, handle, isPrivate: secret != nil, ["x": point])
    }

    private static func ellipticCurve(_ members: Members) throws(JOSEError) -> JWK {
        let name = try members.required("crv")
        guard let curve = Curve.allCases.first(where: { sameBytes($0.rawValue, name) }), curve != .ed25519 else {
            throw .invalidKey("crv of EC is not P-256, P-384 or P-521")
        }
        let count = curve.coordinateByteCount
        let x = try members.requiredBytes("x")
        let y = try members.requiredBytes("y")
        let d = try members.bytes("d")
        // RFC 7518 sections 6.2.1.2, 6.2.1.3 and 6.2.2.1: always the full length, including leading zeros.
        guard x.count == count, y.count == count, d?.count ?? count == count else {
            throw .invalidKey("x, y and d of \(curve.rawValue) have \(count) bytes each")
        }
        let handle = try KeyHandle.ellipticCurve(curve, x: x, y: y, d: d)
        return JWK(.ec, curve, handle, isPrivate: d != nil, ["x": x, "y": y])
    }

    private static func rsa(_ members: Members) throws(JOSEError) -> JWK {
        let n = try members.requiredNumber("n")
        let e = try members.requiredNumber("e")
        let bits = UnsignedNumber.bitCount(n)
        guard rsaBitCounts.contains(bits) else {
            throw .weakKey(
                "RSA keys have \(rsaBitCounts.lowerBound) to \(rsaBitCounts.upperBound) bits, this has \(bits)")
        }
        guard (1...4).contains(e.count), e[e.count - 1] & 1 == 1, e != [1] else {
            throw .weakKey("e of RSA is odd and from 3 to 2³² − 1")
        }
        guard UnsignedNumber.isOdd(n) else { throw .invalidKey("n of RSA is odd") }
        guard !hasROCAFingerprint(n) else { throw .weakKey("it was made by a device with the ROCA fault") }
        var numbers = RSANumbers(n: n, e: e)
        numbers.d = try members.privateNumber("d", atMost: n.count)
        if numbers.d != nil {
            guard members.object["oth"] == nil else {
                throw .invalidKey("RSA keys of more than two primes are not read")
            }
            numbers.remainders = try members.remainderNumbers(atMost: n.count)
        }
        let handle = try KeyHandle.rsa(numbers)
        guard numbers.d == nil || handle.isWholeRSAPair else { throw .invalidKey("d does not belong to n and e") }
        return JWK(.rsa, nil, handle, isPrivate: numbers.d != nil, ["n": n, "e": e])
    }

    /// Creates a key pair or a public key from the numbers of its members.
    init(
        _ type: KeyType, _ curve: Curve?, _ handle: KeyHandle, isPrivate: Bool,
        _ numbers: KeyValuePairs<String, [UInt8]>
    ) {
        var members: JSONObject = curve.map { ["crv": .string($0.rawValue)] } ?? [:]
        for (name, bytes) in numbers { members.append(name, .string(Base64URL.encode(bytes))) }
        self.init(type: type, curve: curve, isPrivate: isPrivate, material: .pair(handle), publicMembers: members)
    }
}

/// Typed access to the members of a JWK.
private struct Members {
    let object: JSONObject

    func string(_ name: String) throws(JOSEError) -> String? {
        guard let value = object[name] else { return nil }
        guard let string = value.string else { throw .invalidKey("\(name) is \(value.kind), not a string") }
        return string
    }

    func required(_ name: String) throws(JOSEError) -> String {
        guard let string = try string(name) else { throw .invalidKey("\(name) is missing") }
        return string
    }

    func bytes(_ name: String) throws(JOSEError) -> [UInt8]? {
        guard let text = try string(name) else { return nil }
        guard text.utf8.count <= 1 << 17, let bytes = Base64URL.decode(text) else {
            throw .invalidKey("\(name) is not base64url without padding")
        }
        return bytes
    }

    func requiredBytes(_ name: String) throws(JOSEError) -> [UInt8] {
        guard let bytes = try bytes(name) else { throw .invalidKey("\(name) is missing") }
        return bytes
    }

    func requiredNumber(_ name: String) throws(JOSEError) -> [UInt8] {
        Array(try requiredBytes(name).drop { $0 == 0 })
    }

    func privateNumber(_ name: String, atMost count: Int) throws(JOSEError) -> [UInt8]? {
        guard let bytes = try bytes(name) else { return nil }
        let number = Array(bytes.drop { $0 == 0 })
        guard !number.isEmpty, number.count <= count else { throw .invalidKey("\(name) is zero or larger than n") }
        return number
    }

    /// Returns the five members for fast signing: either all or none must be present (RFC 7518 section 6.3.2).
    func remainderNumbers(atMost count: Int) throws(JOSEError) -> [[UInt8]] {
        var numbers: [[UInt8]] = []
        for name in RSANumbers.remainderNames {
            if let number = try privateNumber(name, atMost: count) { numbers.append(number) }
        }
        guard numbers.isEmpty || numbers.count == RSANumbers.remainderNames.count else {
            throw .invalidKey("p, q, dp, dq and qi come together or not at all")
        }
        return numbers
    }

    func operations() throws(JOSEError) -> [String]? {
        guard let value = object["key_ops"] else { return nil }
        guard let elements = value.array else { throw .invalidKey("key_ops is \(value.kind), not an array") }
        let operations = elements.compactMap(\.string)
        guard operations.count == elements.count, Set(operations).count == operations.count else {
            throw .invalidKey("key_ops holds something other than different strings")
        }
        return operations
    }
}

extension JWK {
    /// Returns whether the modulus is a power of 65537 modulo each small prime.
    ///
    /// This is true for all keys of the vulnerable devices, and for less than one in 10²⁰ other keys.
    private static func hasROCAFingerprint(_ modulus: [UInt8]) -> Bool {
        let digits = UnsignedNumber.digits(modulus)
        return rocaPowers.allSatisfy { $1.contains(UnsignedNumber.remainder(digits, dividingBy: $0)) }
    }

    /// The odd primes up to 167, each with the powers of 65537 modulo the prime.
    private static let rocaPowers: [(prime: UInt64, powers: Set<UInt64>)] = {
        let primes = stride(from: UInt64(3), through: 167, by: 2).filter { candidate in
            !stride(from: UInt64(3), to: candidate, by: 2).contains { candidate % $0 == 0 }
        }
        return primes.map { prime in
            var powers: Set<UInt64> = []
            var power: UInt64 = 1
            while powers.insert(power).inserted { power = power * 65537 % prime }
            return (prime, powers)
        }
    }()
}
