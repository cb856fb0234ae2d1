import Testing

@testable import JOSE

@Suite struct SealingKeyTests {
    private static let zeros32 = String(repeating: "0", count: 64)
    private static let zeros12 = String(repeating: "0", count: 24)

    let key: SealingKey

    init() throws { key = try SealingKey([UInt8](0..<32)) }

    @Test(arguments: [0, 1, 15, 16, 17, 100_000])
    func `a sealed text opens with the same key and additional data`(count: Int) throws {
        let plaintext = [UInt8](repeating: 0xA5, count: count)
        let sealed = try key.seal(plaintext, authenticating: "record".bytes)
        #expect(sealed.count == count + SealingKey.overhead)
        #expect(try key.open(sealed, authenticating: "record".bytes) == plaintext)
    }

    /// Uses test cases 13, 14 and 16 of the GCM specification, which NIST SP 800-38D references. Each backend seals and opens the
    /// same bytes, so each opens the records of the other.
    @Test(arguments: [
        (Self.zeros32, Self.zeros12, "", "", "530f8afbc74536b9a963b4f1c4cb738b"),
        (
            Self.zeros32, Self.zeros12, "00000000000000000000000000000000", "",
            "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919"
        ),
        (
            "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888",
            "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525"
                + "b16aedf5aa0de657ba637b39",
            "feedfacedeadbeeffeedfacedeadbeefabaddad2",
            "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
                + "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662" + "76fc6ece0f4e1768cddf8853bb2d551b"
        ),
    ])
    func `the published AES-GCM ciphertext seals and opens`(
        key: String, nonce: String, plaintext: String, authenticated: String, sealed: String
    ) throws {
        let key = try SealingKey(key.hexadecimal)
        let sealed = (nonce + sealed).hexadecimal
        let authenticated = authenticated.hexadecimal
        #expect(try key.open(sealed, authenticating: authenticated) == plaintext.hexadecimal)
        #expect(
            try key.seal(plaintext.hexadecimal, nonce: nonce.hexadecimal, authenticating: authenticated) == sealed)
    }

    @Test func `open detects every changed bit`() throws {
        let sealed = try key.seal("secret".bytes, authenticating: "a".bytes)
        for index in sealed.indices {
            for bit in 0..<8 {
                var changed = sealed
                changed[index] ^= 1 << bit
                #expect(throws: JOSEError.unsealing) { try key.open(changed, authenticating: "a".bytes) }
            }
        }
    }

    @Test func `open rejects another key, other additional data and a truncated text`() throws {
        let sealed = try key.seal("secret".bytes, authenticating: "a".bytes)
        #expect(throws: JOSEError.unsealing) { try key.open(sealed, authenticating: "b".bytes) }
        #expect(throws: JOSEError.unsealing) { try key.open(sealed) }
        #expect(throws: JOSEError.unsealing) { try SealingKey.random().open(sealed, authenticating: "a".bytes) }
        for count in sealed.indices {
            #expect(throws: JOSEError.unsealing) { try key.open(sealed.prefix(count), authenticating: "a".bytes) }
        }
    }

    @Test func `sealing the same text twice produces two different texts`() throws {
        #expect(try key.seal("x".bytes) != key.seal("x".bytes))
        #expect(try SealingKey.random().bytes != SealingKey.random().bytes)
    }

    @Test(arguments: [0, 16, 31, 33]) func `a sealing key of another length is rejected`(count: Int) {
        #expect(throws: JOSEError.self) { try SealingKey([UInt8](repeating: 1, count: count)) }
    }

    @Test func `descriptions of a sealing key contain no key bytes`() throws {
        #expect(key.bytes == [UInt8](0..<32))
        var dumped = ""
        dump(key, to: &dumped)
        for text in [dumped, "\(key)", String(reflecting: key), String(reflecting: [key])] {
            #expect(text.contains("hidden"))
            #expect(!text.contains("31") && !text.contains("0x"))
        }
        #expect(Mirror(reflecting: key).children.isEmpty)
    }
}
