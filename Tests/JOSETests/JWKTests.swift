import StrictJSON
import Testing

@testable import JOSE

@Suite struct JWKTests {
    /// Keys for all tests, because their generation is slow.
    static let keys: [JWSAlgorithm: JWK] = {
        var keys: [JWSAlgorithm: JWK] = [:]
        guard let rsa = try? JWK.generate(for: .rs256) else { return [:] }
        for algorithm in JWSAlgorithm.allCases {
            if algorithm.keyType == .rsa {
                var key = rsa
                key.algorithm = algorithm.rawValue
                keys[algorithm] = key
            } else {
                keys[algorithm] = try? JWK.generate(for: algorithm)
            }
        }
        return keys
    }()

    private func key(_ algorithm: JWSAlgorithm) throws -> JWK { try #require(Self.keys[algorithm]) }

    private func invalid(_ object: JSONObject) -> String? {
        do throws(JOSEError) {
            _ = try JWK(object)
            return nil
        } catch {
            return switch error {
            case .invalidKey: "invalid"
            case .weakKey: "weak"
            default: "\(error)"
            }
        }
    }

    @Test(arguments: JWSAlgorithm.allCases) func `a generated key signs, verifies and survives its JSON`(
        algorithm: JWSAlgorithm
    ) throws {
        let key = try key(algorithm)
        let signature = try key.signature(of: "content".bytes, using: algorithm)
        #expect(try key.isSignature(signature, of: "content".bytes, using: algorithm))
        #expect(try !key.isSignature(signature, of: "Content".bytes, using: algorithm))
        let again = try JWK(try key.privateJSON())
        #expect(try again.isSignature(signature, of: "content".bytes, using: algorithm))
        #expect(try key.isSignature(try again.signature(of: [], using: algorithm), of: [], using: algorithm))
        #expect(again.thumbprint() == key.thumbprint())
        #expect(try again.privateJSON() == (try key.privateJSON()))
        if let publicKey = key.publicKey {
            #expect(!publicKey.isPrivate && !publicKey.canSign(with: algorithm))
            #expect(try publicKey.privateJSON() == key.publicJSON)
            #expect(try publicKey.isSignature(signature, of: "content".bytes, using: algorithm))
            #expect(throws: JOSEError.unfitKey("it is a public key, and signing takes the private one")) {
                try publicKey.signature(of: [], using: algorithm)
            }
        } else {
            #expect(algorithm.isSymmetric)
        }
    }

    @Test(arguments: JWSAlgorithm.allCases) func `a signature of another length is rejected`(
        algorithm: JWSAlgorithm
    ) throws {
        let key = try key(algorithm)
        let signature = try key.signature(of: [1], using: algorithm)
        for wrong in [signature + [0], [0] + signature, Array(signature.dropLast()), Array(signature.dropFirst()), []] {
            #expect(try !key.isSignature(wrong, of: [1], using: algorithm))
        }
        #expect(try !key.isSignature([UInt8](repeating: 0, count: signature.count), of: [1], using: algorithm))
        #expect(try !key.isSignature([UInt8](repeating: 255, count: signature.count), of: [1], using: algorithm))
        #expect(try key.isSignature(signature, of: [1], using: algorithm), "the key still verifies after a rejection")
    }

    @Test(arguments: JWSAlgorithm.allCases) func `a key supports only algorithms of its type and size`(
        algorithm: JWSAlgorithm
    ) throws {
        var key = try key(algorithm)
        key.algorithm = nil
        for other in JWSAlgorithm.allCases where other != algorithm {
            let fits: Bool =
                switch (algorithm.keyType, other.keyType) {
                case (.rsa, .rsa), (.okp, .okp): true
                case (.symmetric, .symmetric): algorithm.digest.byteCount >= other.digest.byteCount
                default: false
                }
            #expect(key.canVerify(other) == fits)
            #expect(key.canSign(with: other) == fits)
            if !fits { #expect(throws: JOSEError.self) { try key.isSignature([], of: [], using: other) } }
        }
    }

    @Test func `use, key_ops and alg determine the operations of a key`() throws {
        var key = try key(.es256)
        #expect(key.canVerify(.es256) && key.canSign(with: .es256))
        key.use = "enc"
        #expect(!key.canVerify(.es256) && !key.canSign(with: .es256))
        key.use = nil
        key.keyOperations = ["sign"]
        #expect(!key.canVerify(.es256) && key.canSign(with: .es256))
        #expect(key.publicKey?.keyOperations == ["verify"])
        #expect(throws: JOSEError.self) { try key.isSignature([], of: [], using: .es256) }
        key.keyOperations = ["verify"]
        #expect(key.canVerify(.es256) && !key.canSign(with: .es256))
        #expect(throws: JOSEError.self) { try key.signature(of: [], using: .es256) }
        key.keyOperations = []
        #expect(!key.canVerify(.es256))
        key.keyOperations = nil
        key.algorithm = "ES384"
        #expect(!key.canVerify(.es256))
        key.algorithm = nil
        #expect(key.canVerify(.es256))
    }

    @Test func `a secret shorter than the digest is rejected`() throws {
        let key = try JWK(secret: [UInt8](repeating: 1, count: 47))
        #expect(key.canVerify(.hs256) && !key.canVerify(.hs384) && !key.canSign(with: .hs512))
        #expect(throws: JOSEError.weakKey("HS384 takes a secret of at least 48 bytes")) {
            try key.signature(of: [], using: .hs384)
        }
        #expect(throws: JOSEError.self) { try JWK(secret: [UInt8]()) }
        #expect(throws: JOSEError.self) { try JWK(secret: [UInt8](repeating: 1, count: 65537)) }
    }

    @Test(arguments: ["kty", "n", "e"]) func `an RSA key without a required member is rejected`(member: String) throws {
        let object = try key(.rs256).publicJSON
        #expect(invalid(object.with(member, nil)) == "invalid")
        #expect(invalid(object.with(member, 5)) == "invalid")
        #expect(invalid(object.with(member, "A===")) == "invalid")
    }

    @Test(arguments: [0, 1, 512, 1024, 2040, 2047, 8193, 16384]) func `RSA keys of unsupported sizes are rejected`(
        bits: Int
    ) {
        var modulus = [UInt8](repeating: 0xFF, count: (bits + 7) / 8)
        if bits % 8 != 0, !modulus.isEmpty { modulus[0] = 1 << (bits % 8) - 1 }
        #expect(invalid(["kty": "RSA", "n": .string(Base64URL.encode(modulus)), "e": "AQAB"]) == "weak")
        #expect(throws: JOSEError.self) { try JWK.generate(.rsa(bits: bits)) }
    }

    @Test(arguments: [[UInt8](), [0], [1], [2], [1, 0, 0], [1, 0, 0, 0, 1], [0, 1]])
    func `RSA exponents that are even, one or huge are rejected`(exponent: [UInt8]) throws {
        #expect(invalid(try key(.rs256).publicJSON.with("e", .string(Base64URL.encode(exponent)))) == "weak")
    }

    @Test func `an even RSA modulus is rejected, and leading zeros are dropped`() throws {
        let object = try key(.rs256).publicJSON
        let modulus = try #require(Base64URL.decode(try object.string("n")))
        #expect(invalid(object.with("n", .string(Base64URL.encode(modulus.dropLast() + [0])))) == "invalid")
        let padded = try JWK(object.with("n", .string(Base64URL.encode([0] + modulus))).with("e", "AAEAAQ"))
        #expect(padded.publicJSON == object)
    }

    @Test func `an RSA private key that does not match its public key is rejected`() throws {
        let object = try key(.rs256).privateJSON()
        let other = try JWK.generate(.rsa(bits: 2048)).privateJSON()
        for name in ["p", "q", "dp", "dq", "qi"] {
            #expect(invalid(object.with(name, nil)) == "invalid", "without \(name)")
        }
        var mixed = object
        for name in ["d", "p", "q", "dp", "dq", "qi"] { mixed[name] = other[name] }
        #expect(invalid(mixed) == "invalid")
        #expect(invalid(object.with("d", "AA")) == "invalid")
        #expect(invalid(object.with("oth", [])) == "invalid")
        var short = object
        for name in ["p", "q", "dp", "dq", "qi"] { short[name] = nil }
        if Backend.isCryptoKit {
            // PKCS #1 requires the primes.
            #expect(
                throws: JOSEError.unsupported(
                    "the Security framework reads private RSA keys only with p, q, dp, dq and qi")
            ) {
                try JWK(short)
            }
            return
        }
        let key = try JWK(short)
        #expect(try key.privateJSON() == short)
        #expect(try key.isSignature(key.signature(of: [1], using: .rs256), of: [1], using: .rs256))
        #expect(invalid(short.with("d", other["d"])) == "invalid")
    }

    @Test(arguments: [JWSAlgorithm.es256, .es384, .es512])
    func `a point that is invalid, at infinity or of the wrong length is rejected`(algorithm: JWSAlgorithm) throws {
        let object = try key(algorithm).publicJSON
        let x = try #require(Base64URL.decode(try object.string("x")))
        let y = try #require(Base64URL.decode(try object.string("y")))
        func with(_ x: [UInt8], _ y: [UInt8]) -> JSONObject {
            object.with("x", .string(Base64URL.encode(x))).with("y", .string(Base64URL.encode(y)))
        }
        #expect(invalid(with(x, y)) == nil)
        #expect(invalid(with(y, x)) == "invalid")
        #expect(invalid(with(x, Array(y.dropLast()) + [y[y.count - 1] ^ 1])) == "invalid")
        let zero = [UInt8](repeating: 0, count: x.count)
        #expect(invalid(with(zero, zero)) == "invalid")
        #expect(invalid(with([UInt8](repeating: 255, count: x.count), y)) == "invalid")
        #expect(invalid(with([0] + x, y)) == "invalid")
        #expect(invalid(with(Array(x.dropFirst()), y)) == "invalid")
        #expect(invalid(with([], [])) == "invalid")
        #expect(invalid(with(x + y.prefix(1), Array(y.dropFirst()))) == "invalid", "the same bytes, split differently")
        for curve in ["P-256", "P-384", "P-521", "Ed25519", "secp256k1", "P-256 ", ""]
        where curve != algorithm.curve?.rawValue {
            #expect(invalid(object.with("crv", .string(curve))) == "invalid")
        }
        #expect(invalid(object.with("y", nil)) == "invalid")
    }

    @Test func `an EC or OKP private key that does not match its public key is rejected`() throws {
        let object = try key(.es256).privateJSON()
        let other = try JWK.generate(for: .es256).privateJSON()
        #expect(invalid(object.with("d", other["d"])) == "invalid")
        #expect(invalid(object.with("d", .string(Base64URL.encode([UInt8](repeating: 0, count: 32))))) == "invalid")
        #expect(invalid(object.with("d", .string(Base64URL.encode([UInt8](repeating: 255, count: 32))))) == "invalid")
        let okp = try key(.edDSA).privateJSON()
        let d = try #require(Base64URL.decode(try object.string("d")))
        #expect(invalid(object.with("d", .string(Base64URL.encode([0] + d)))) == "invalid")
        #expect(invalid(okp.with("d", other["d"])) == "invalid")
        #expect(invalid(okp.with("x", "AA")) == "invalid")
        #expect(invalid(okp.with("d", "AA")) == "invalid")
        #expect(invalid(okp.with("crv", "X25519")) == "invalid")
        #expect(invalid(okp.with("crv", "Ed448")) == "invalid")
    }

    @Test func `a JWK with wrong types, duplicate members or an unknown kty is rejected`() throws {
        let object = try key(.es256).publicJSON
        for name in ["kid", "use", "alg", "kty", "crv", "x"] { #expect(invalid(object.with(name, 1)) == "invalid") }
        #expect(invalid(object.with("key_ops", "verify")) == "invalid")
        #expect(invalid(object.with("key_ops", ["verify", 1])) == "invalid")
        #expect(invalid(object.with("key_ops", ["verify", "verify"])) == "invalid")
        var twice = object
        twice.append("x", try #require(object["x"]))
        #expect(invalid(twice) == "invalid")
        #expect(invalid(object.with("kty", "ec")) == "invalid")
        #expect(invalid(["kty": "O\u{212A}P"]) == "invalid")
        #expect(invalid([:]) == "invalid")
        #expect(invalid(["kty": "oct"]) == "invalid")
        #expect(invalid(["kty": "oct", "k": ""]) == "weak")
        #expect(throws: JOSEError.self) { try JWK(parsing: "[]".utf8) }
        #expect(throws: JOSEError.self) { try JWK(parsing: #"{"kty":"oct","k":"AAAA","k":"AAAA"}"#.utf8) }
        #expect(throws: JOSEError.self) { try JWK(parsing: "nonsense".utf8) }
    }

    @Test func `an RSA key with the ROCA weakness is rejected`() throws {
        // A weak modulus: a power of 65537 modulo each small prime, here 1 modulo their product.
        let product = Self.productOfSmallPrimes
        var weak = [UInt8](repeating: 0, count: 256 - product.count) + product
        weak = Self.doubled(weak, times: (256 - product.count) * 8 + product[0].leadingZeroBitCount)
        weak[255] = 1
        #expect(
            invalid(["kty": "RSA", "n": .string(Base64URL.encode(weak)), "e": "AQAB"]) == "weak")
        weak[254] ^= 1
        #expect(invalid(["kty": "RSA", "n": .string(Base64URL.encode(weak)), "e": "AQAB"]) == nil)
    }

    /// The product of the odd primes up to 167, in big-endian bytes.
    private static var productOfSmallPrimes: [UInt8] {
        var product: [UInt8] = [1]
        for candidate in stride(from: 3, through: 167, by: 2)
        where !stride(from: 3, to: candidate, by: 2).contains(where: { candidate % $0 == 0 }) {
            var carry = 0
            for index in product.indices.reversed() {
                carry += Int(product[index]) * candidate
                product[index] = UInt8(carry & 255)
                carry >>= 8
            }
            while carry > 0 {
                product.insert(UInt8(carry & 255), at: 0)
                carry >>= 8
            }
        }
        return product
    }

    private static func doubled(_ number: [UInt8], times: Int) -> [UInt8] {
        var number = number
        for _ in 0..<times {
            var carry: UInt8 = 0
            for index in number.indices.reversed() {
                let next = number[index] >> 7
                number[index] = number[index] << 1 | carry
                carry = next
            }
        }
        return number
    }

    @Test func `descriptions of keys contain no key material`() throws {
        for (algorithm, key) in Self.keys {
            var key = key
            key.keyID = "the-name-of-the-key"
            var dumped = ""
            dump(key, to: &dumped)
            let texts = [dumped, "\(key)", String(reflecting: key), String(describing: [key]), "\(key.material)"]
            let members = try key.privateJSON().members.filter { !["kty", "crv", "alg", "use"].contains($0.name) }
            for text in texts {
                #expect(members.allSatisfy { !text.contains($0.value.string ?? "?") }, "\(algorithm)")
            }
            #expect(Mirror(reflecting: key).children.isEmpty)
        }
    }

    @Test func `concurrent tasks can verify with one key`() async throws {
        let key = try self.key(.es256)
        let rsa = try self.key(.ps256)
        let signature = try key.signature(of: [7], using: .es256)
        let other = try rsa.signature(of: [7], using: .ps256)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for index in 0..<64 {
                group.addTask {
                    let content: [UInt8] = index % 3 == 0 ? [8] : [7]
                    let first = try key.isSignature(signature, of: content, using: .es256)
                    let second = try rsa.isSignature(other, of: content, using: .ps256)
                    return first == second && first == (index % 3 != 0)
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
    }
}
