import Foundation
import StrictJSON
import Testing

@testable import JOSE

/// Tests the interface to the cryptographic libraries, and the conversions for them.
@Suite struct CryptoTests {
    /// Returns the RSA key pair of RFC 7515 A.2 as the backend exports it.
    private func numbers() throws -> RSANumbers {
        let example = try #require(
            Vectors.load("rfc7515-rfc8037-examples.json").objects("vectors").first {
                $0["id"]?.string == "RFC7515-A.2"
            })
        guard case .pair(let handle) = try JWK(try example.object("jwk")).material else { throw Missing(what: "pair") }
        return try #require(handle.rsaNumbers)
    }

    /// Compares with the digests of the output of `openssl rsa -traditional -outform DER`, without and with `-RSAPublicKey_out`.
    @Test func `PKCS #1 equals the output of OpenSSL`() throws {
        var numbers = try numbers()
        let pair = try #require(PKCS1.encode(numbers))
        #expect(
            SHA2.sha256.digest(pair) == "3dad339ffec4b52d3fc6247e7a2df8fd3c4bb66700c5ab7ffe0ff463a1a84266".hexadecimal)
        let read = try #require(PKCS1.decode(pair))
        #expect(read.n == numbers.n && read.e == numbers.e && read.d == numbers.d)
        #expect(read.remainders == numbers.remainders && read.remainders.count == 5)

        numbers.remainders = []
        #expect(PKCS1.encode(numbers) == nil)
        numbers.d = nil
        let key = try #require(PKCS1.encode(numbers))
        #expect(
            SHA2.sha256.digest(key) == "4d45852a70eef278cafe4a2cdfcc544827b7b35f4475c4feca270e3e4d069e01".hexadecimal)
        #expect(PKCS1.decode(key)?.n == numbers.n && PKCS1.decode(key)?.d == nil)
    }

    @Test func `PKCS #1 that is truncated, extended or of another form is rejected`() throws {
        let pair = try #require(PKCS1.encode(numbers()))
        for count in pair.indices { #expect(PKCS1.decode(Array(pair.prefix(count))) == nil) }
        #expect(PKCS1.decode(pair + [0]) == nil)
        // A version other than 0, three numbers, a negative number, another tag, a length of five bytes.
        var other = pair
        other[6] = 1
        #expect(PKCS1.decode(other) == nil)
        #expect(PKCS1.decode([0x30, 9, 2, 1, 1, 2, 1, 1, 2, 1, 1]) == nil)
        #expect(PKCS1.decode([0x30, 6, 2, 1, 0x80, 2, 1, 3]) == nil)
        #expect(PKCS1.decode([0x30, 6, 2, 1, 1, 4, 1, 3]) == nil)
        #expect(PKCS1.decode([0x30, 0x85, 0, 0, 0, 0, 6, 2, 1, 1, 2, 1, 3]) == nil)
    }

    @Test func `numbers of any length have the right size, parity and remainder`() {
        #expect(UnsignedNumber.bitCount([]) == 0 && UnsignedNumber.bitCount([0, 0]) == 0)
        #expect(UnsignedNumber.bitCount([0, 1]) == 1 && UnsignedNumber.bitCount([0x80, 0]) == 16)
        #expect(!UnsignedNumber.isOdd([]) && UnsignedNumber.isOdd([2, 1]) && !UnsignedNumber.isOdd([1, 2]))
        var bytes: [UInt8] = []
        var value: UInt64 = 0
        for byte: UInt8 in [0, 0x12, 0xFF, 0, 0x80, 0x7F, 0xAB, 0x01] {
            bytes.append(byte)
            value = value << 8 | UInt64(byte)
            for divisor: UInt64 in [3, 97, 167, 4_294_967_291] {
                #expect(UnsignedNumber.remainder(UnsignedNumber.digits(bytes), dividingBy: divisor) == value % divisor)
            }
        }
    }

    @Test func `only the files of the two backends import a cryptographic library`() throws {
        let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Sources/JOSE")
        let importLine = #/^\s*(?:@\w+ |\w+ )?import (?:CLodgeOpenSSL|CryptoKit|CommonCrypto|Security)\b/#
            .anchorsMatchLineEndings()
        let names = try FileManager.default.contentsOfDirectory(atPath: sources.path).filter { $0.hasSuffix(".swift") }
        let importing = try names.filter {
            try String(contentsOf: sources.appending(path: $0), encoding: .utf8).contains(importLine)
        }
        #expect(
            importing.sorted() == [
                "Certificate+Libcrypto.swift", "Crypto+CryptoKit.swift", "Crypto+Libcrypto.swift",
                "DeviceKey+Libcrypto.swift", "KeyHandle+Libcrypto.swift", "KeySignature+Libcrypto.swift",
                "PrivateKeyFile+Libcrypto.swift", "QueuedError+Libcrypto.swift",
            ])
    }
}
