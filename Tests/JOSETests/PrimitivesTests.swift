import StrictJSON
import Testing

@testable import JOSE

@Suite struct PrimitivesTests {
    // MARK: Base64url

    @Test(arguments: [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
        ("foobar", "Zm9vYmFy"),
    ])
    func `base64url matches the examples of RFC 4648`(plain: String, text: String) {
        #expect(Base64URL.encode(plain.utf8) == text)
        #expect(Base64URL.decode(text) == plain.bytes)
    }

    @Test func `base64url matches the octets of RFC 7515 appendix C`() throws {
        let example = try Vectors.load("rfc7636-rfc7638-hashes.json").object("base64url_no_padding")
        let octets = try #require(example["octets"]?.array).compactMap { $0.number?.int64.map { UInt8($0) } }
        #expect(Base64URL.encode(octets) == (try example.string("text")))
        #expect(Base64URL.decode(try example.string("text")) == octets)
    }

    @Test func `bytes of any length survive a base64url round trip`() {
        var bytes: [UInt8] = []
        for index in 0..<600 {
            #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
            bytes.append(UInt8(truncatingIfNeeded: index &* 151 &+ 7))
        }
    }

    @Test func `base64url rejects a byte outside the alphabet at any position`() {
        let alphabet = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        for byte in UInt8.min...127 {
            for position in 0..<7 {
                var text = Array("AAAAAAA".utf8)
                text[position] = byte
                // The last letter of seven has two bits that must be zero.
                let fits = alphabet.contains(byte) && (position < 6 || "AEIMQUYcgkosw048".utf8.contains(byte))
                #expect((Base64URL.decode(String(decoding: text, as: UTF8.self)) != nil) == fits)
            }
        }
        #expect(Base64URL.decode("AAAÄ") == nil)
    }

    @Test(arguments: [
        "Zg==", "Zg=", "Zm9v=", "A", "AAAAA", "Zh", "Zm9", "Zm9vY", " Zg", "Zg\n", "Zm 9v", "+/+/", "Zg.",
    ])
    func `base64url rejects padding, white space, other alphabets and unused bits`(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    @Test func `base64url accepts non-contiguous collections`() {
        let bytes = [UInt8](0...250)
        #expect(Base64URL.encode(bytes.lazy.map { $0 }) == Base64URL.encode(bytes))
        #expect(Base64URL.decode("xZm9vx".dropFirst().dropLast()) == "foo".bytes)
    }

    // MARK: Digests

    @Test func `SHA-2 matches the examples of FIPS 180`() {
        #expect(
            SHA2.sha256.digest("abc".utf8)
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".hexadecimal)
        #expect(
            SHA2.sha384.digest("abc".utf8)
                == ("cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed"
                + "8086072ba1e7cc2358baeca134c825a7").hexadecimal)
        #expect(
            SHA2.sha512.digest("abc".utf8)
                == ("ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f").hexadecimal)
        #expect(
            SHA2.sha256.digest([UInt8]())
                == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855".hexadecimal)
    }

    @Test func `digests match the PKCE challenge of RFC 7636 and at_hash of OpenID Connect`() throws {
        let file = try Vectors.load("rfc7636-rfc7638-hashes.json")
        let pkce = try file.object("pkce")
        #expect(
            Base64URL.encode(SHA2.sha256.digest(try pkce.string("code_verifier").utf8))
                == (try pkce.string("code_challenge")))
        let hashes = try file.object("at_hash")
        let digest = SHA2.sha256.digest(try hashes.string("access_token").utf8)
        #expect(Base64URL.encode(digest.prefix(16)) == (try hashes.string("at_hash")))
    }

    // MARK: Random bytes and comparison

    @Test func `random bytes have the requested length and differ`() throws {
        #expect(try SecureRandom.bytes(0).isEmpty)
        #expect(try SecureRandom.bytes(33).count == 33)
        #expect(Set(try (0..<100).map { _ in try SecureRandom.bytes(16) }).count == 100)
        #expect(throws: JOSEError.self) { try SecureRandom.bytes(-1) }
        #expect(throws: JOSEError.self) { try SecureRandom.bytes(.max) }
    }

    @Test func `equalInConstantTime compares all bytes`() {
        #expect(equalInConstantTime([], []))
        #expect(equalInConstantTime([1, 2, 3], [1, 2, 3]))
        #expect(!equalInConstantTime([1, 2, 3], [1, 2, 4]))
        #expect(!equalInConstantTime([0, 2, 3], [1, 2, 3]))
        #expect(!equalInConstantTime([1, 2], [1, 2, 3]))
        #expect(!equalInConstantTime([], [1]))
        #expect(equalInConstantTime([1, 2].lazy.map { $0 }, [1, 2]))
        #expect(!equalInConstantTime([1, 2].lazy.map { $0 }, [1, 3]))
    }
}
