import Foundation
import TestSupport
import Testing

@testable import JOSE

/// The test vectors of RFC 7914 section 12, except the vector that uses 1 GiB.
@Suite(.timeLimit(.scaled(minutes: 5)))
struct ScryptTests {
    @Test(
        .enabled(if: !Backend.isCryptoKit),
        arguments: [
            (
                "", "", 16, 1, 1,
                "77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442fcd0069ded0948f8326a753a0fc81f17e8d3e0fb2e0d3628cf35e20c38d18906"
            ),
            (
                "password", "NaCl", 1024, 8, 16,
                "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b3731622eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640"
            ),
            (
                "pleaseletmein", "SodiumChloride", 16384, 8, 1,
                "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887"
            ),
        ])
    func `scrypt matches the test vectors of RFC 7914`(
        passphrase: String, salt: String, cost: Int, blockSize: Int, parallelization: Int, expected: String
    ) throws {
        let scrypt = try Scrypt(cost: cost, blockSize: blockSize, parallelization: parallelization)
        let key = try scrypt.derive(passphrase: Array(passphrase.utf8), salt: Array(salt.utf8), count: 64)
        #expect(key.map { String(format: "%02x", $0) }.joined() == expected)
    }

    @Test(
        arguments: [
            (0, 8, 1), (1, 8, 1), (3, 8, 1), (-2, 8, 1), (16, 0, 1), (16, 8, 0), (16, 8, 17), (16, 1025, 1),
            (1 << 20, 8, 1),
            (.max, 1, 1), (.min, 1, 1),
        ])
    func `scrypt parameters out of range are rejected`(cost: Int, blockSize: Int, parallelization: Int) {
        #expect(throws: JOSEError.self) {
            try Scrypt(cost: cost, blockSize: blockSize, parallelization: parallelization)
        }
    }

    @Test(.enabled(if: !Backend.isCryptoKit))
    func `the standard parameters work, and a different salt derives a different key`() throws {
        #expect(Scrypt.standard.cost == 131_072)
        let first = try Scrypt.standard.derive(passphrase: [1], salt: [1], count: 32)
        #expect(try Scrypt.standard.derive(passphrase: [1], salt: [2], count: 32) != first)
        #expect(throws: JOSEError.self) { try Scrypt.standard.derive(passphrase: [1], salt: [1], count: 0) }
    }

    @Test(.enabled(if: Backend.isCryptoKit)) func `scrypt is unsupported with CryptoKit`() {
        #expect(throws: JOSEError.unsupported("CryptoKit does not have scrypt, which derives keys from passphrases")) {
            try Scrypt.standard.derive(passphrase: [1], salt: [1], count: 32)
        }
    }
}
