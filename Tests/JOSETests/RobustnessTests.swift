import StrictJSON
import Testing

@testable import JOSE

/// Random changes to valid input. The seed is fixed, so that a failure is reproducible.
@Suite struct RobustnessTests {
    /// The SplitMix64 generator of pseudo-random numbers.
    struct Numbers: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var value = state
            value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
            value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
            return value ^ value >> 31
        }
    }

    private func changed(_ bytes: [UInt8], _ numbers: inout Numbers) -> [UInt8] {
        var bytes = bytes
        for _ in 0...Int.random(in: 0..<3, using: &numbers) where !bytes.isEmpty {
            let index = Int.random(in: bytes.indices, using: &numbers)
            switch Int.random(in: 0..<4, using: &numbers) {
            case 0: bytes[index] = UInt8.random(in: 0...255, using: &numbers)
            case 1: bytes.remove(at: index)
            case 2: bytes.insert(bytes[index], at: index)
            default: bytes.removeSubrange(index..<min(index + 40, bytes.count))
            }
        }
        return bytes
    }

    @Test(arguments: [JWSAlgorithm.rs256, .ps512, .es256, .es512, .edDSA, .hs256])
    func `no changed token verifies or crashes`(algorithm: JWSAlgorithm) throws {
        var numbers = Numbers(state: 1)
        let key = try #require(JWKTests.keys[algorithm])
        let text = try JWT.sign(["sub": "s", "aud": ["a"]], with: key, algorithm: algorithm).bytes
        for _ in 0..<400 {
            let other = changed(text, &numbers)
            guard other != text, let token = try? JWT(parsing: String(decoding: other, as: UTF8.self)) else { continue }
            #expect(throws: JOSEError.self) { try token.verified(with: key, algorithms: [algorithm]) }
        }
    }

    @Test(arguments: [JWSAlgorithm.rs256, .es256, .es512, .edDSA, .hs256])
    func `a changed private key that is accepted still forms a valid pair`(algorithm: JWSAlgorithm) throws {
        var numbers = Numbers(state: 2)
        let key = try #require(JWKTests.keys[algorithm])
        let text = JSONValue.object(try key.privateJSON()).serialized()
        for _ in 0..<400 {
            guard var other = try? JWK(parsing: changed(text, &numbers)), other.isPrivate else { continue }
            (other.algorithm, other.use, other.keyOperations) = (nil, nil, nil)
            guard other.canSign(with: algorithm) else { continue }
            let signature = try other.signature(of: [1], using: algorithm)
            #expect(try other.isSignature(signature, of: [1], using: algorithm))
            if let publicKey = other.publicKey {
                #expect(try publicKey.isSignature(signature, of: [1], using: algorithm))
            }
        }
    }

    @Test func `no changed JSON signature or key set crashes`() throws {
        var numbers = Numbers(state: 3)
        let key = try #require(JWKTests.keys[.es256])
        let jws = try JWS(signing: [1, 2, 3], with: key, algorithm: .es256).signed(with: key, algorithm: .es256)
        let text = JSONValue.object(try #require(jws.json())).serialized()
        let set = JSONValue.object(JWKSet([key, key]).json).serialized()
        for _ in 0..<2000 {
            if let read = try? JWS(parsingJSON: changed(text, &numbers)) {
                // One of two valid signatures is enough if it covers the payload.
                if let verified = try? read.verified(with: key, algorithms: [.es256]) {
                    #expect(verified.payload == [1, 2, 3])
                }
            }
            if let read = try? JWKSet(parsing: changed(set, &numbers)) { #expect(read.keys.count <= 3) }
        }
    }
}
