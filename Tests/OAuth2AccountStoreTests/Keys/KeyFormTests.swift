import Foundation
import JOSE
import OAuth2Protocol
import TestSupport
import Testing

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import Platform

@Suite(.timeLimit(.scaled(minutes: 5)))
struct KeyFormTests {
    // MARK: The words

    @Test func `the words of the choices are read and written`() throws {
        for word in KeyCustodyChoice.words { #expect(try KeyCustodyChoice(word).description == word) }
        #expect(try KeyCustodyChoice("fd:3") == .descriptor(3))
        #expect(try KeyCustodyChoice("fd:3").description == "fd:3")
        #expect(try KeyCustodyChoice("fd:3").word == "fd")
        #expect(try KeyCustodyChoice("fd:0") == .descriptor(0))
    }

    @Test(
        arguments: [
            ("keyfile", "key-file"), ("secretservice", "secret-service"), ("key-chain", "keychain"),
            ("pasphrase", "passphrase"),
        ])
    func `a slip in a word names the nearest`(typed: String, near: String) {
        #expect { try KeyCustodyChoice(typed) } throws: { ($0 as? KeyCustodyError)?.hint == "did you mean \(near)?" }
    }

    @Test(arguments: ["", "fd:", "fd:1", "fd:2", "fd:-3", "fd:x", "fd:65536", "fd:99999999999", "Key-File", "vault"])
    func `what is no choice is refused`(typed: String) {
        #expect(throws: KeyCustodyError.self) { try KeyCustodyChoice(typed) }
    }

    // MARK: The descriptor

    /// A descriptor that has these bytes.
    private func descriptor(_ bytes: [UInt8]) throws -> Pipe {
        let pipe = Pipe()
        try pipe.fileHandleForWriting.write(contentsOf: Data(bytes))
        try pipe.fileHandleForWriting.close()
        return pipe
    }

    @Test func `a key comes through a descriptor as bytes, base64url and base64`() async throws {
        // With bytes that the two alphabets write differently.
        let bytes = [UInt8](repeating: 0xFB, count: 16) + [UInt8](repeating: 0xEF, count: 16)
        let base64 = Data(bytes).base64EncodedString()
        let unpadded = base64.replacing("=", with: "")
        let url = Base64URL.encode(bytes)
        #expect(url != unpadded)
        for text in [base64, unpadded, url, url + "=", url + "\n", base64 + "\r\n"] {
            let pipe = try descriptor(Array(text.utf8))
            let key = FileDescriptorKey(pipe.fileHandleForReading.fileDescriptor)
            #expect(try await key.key()?.bytes == bytes, "\(text.count) characters")
            // Read once, kept afterwards.
            #expect(try await key.create().bytes == bytes)
        }
        let pipe = try descriptor(bytes)
        #expect(try await FileDescriptorKey(pipe.fileHandleForReading.fileDescriptor).key()?.bytes == bytes)
    }

    @Test(arguments: [0, 1, 31, 33, 42, 45, 4096, 60_000])
    func `a descriptor with another length is a fault`(count: Int) async throws {
        let pipe = try descriptor([UInt8](repeating: UInt8(ascii: "A"), count: count))
        let key = FileDescriptorKey(pipe.fileHandleForReading.fileDescriptor)
        let fault = try #require(try await custodyFault { try await key.key() })
        #expect(fault.reason.contains(count == 0 ? "empty" : "no key"))
        #expect(!fault.description.contains("AAAA"))
    }

    @Test func `letters that are no base64 are a fault`() async throws {
        let pipe = try descriptor([UInt8](repeating: UInt8(ascii: "!"), count: 43))
        let key = FileDescriptorKey(pipe.fileHandleForReading.fileDescriptor)
        #expect(try await custodyFault { try await key.key() }?.reason.contains("no key") == true)
    }

    @Test func `a descriptor that is closed, not named or silent is a fault that says so`() async throws {
        #expect(try await custodyFault { try await FileDescriptorKey(61_234).key() }?.reason == "it is not open")
        #expect(
            try await custodyFault { try await FileDescriptorKey(nil).key() }?.hint.description.contains("fd:3") == true
        )
        let folder = open("/", O_RDONLY)
        defer { close(folder) }
        #expect(
            try await custodyFault { try await FileDescriptorKey(folder).key() }?.reason.contains("neither") == true)
        let pipe = Pipe()
        let silent = FileDescriptorKey(pipe.fileHandleForReading.fileDescriptor, patience: .zero)
        #expect(try await custodyFault { try await silent.key() }?.reason.contains("nothing came") == true)
        withExtendedLifetime(pipe) {}
    }

    @Test func `a store moves to a descriptor only with its own key in it`() async throws {
        let test = TestPlaces()
        let key = try await test.open().key.bytes
        let wrong = try descriptor([UInt8](repeating: 1, count: 32))
        let error = try await failure {
            try await test.move(to: .descriptor(wrong.fileHandleForReading.fileDescriptor))
        }
        #expect(error?.reason.contains("another key") == true)
        #expect(await test.copies() == ["key-file"])
        let right = try descriptor(key)
        #expect(try await test.move(to: .descriptor(right.fileHandleForReading.fileDescriptor)).isMoved)
        #expect(await test.copies() == [])
        #expect(try await custodyFault { try await test.open() }?.reason == "no descriptor is named")
        let again = try descriptor(key)
        #expect(try await test.open(.descriptor(again.fileHandleForReading.fileDescriptor)).key.bytes == key)
    }

    // MARK: The passphrase

    private func passphraseKey(_ storage: MemoryStorage, _ text: String?) throws -> PassphraseKey {
        PassphraseKey(storage: storage, parameters: try Scrypt(cost: 16, blockSize: 8, parallelization: 2)) { _ in
            text.map { Secret($0) }
        }
    }

    @Test func `a key that a passphrase seals comes back with it alone`() async throws {
        let storage = MemoryStorage()
        #expect(try await passphraseKey(storage, nil).key() == nil)
        let key = try await passphraseKey(storage, "open sesame").create().bytes
        #expect(try await passphraseKey(storage, "open sesame").key()?.bytes == key)
        let wrong = try await custodyFault { try await self.passphraseKey(storage, "open sesam").key() }
        #expect(wrong?.reason == "the passphrase is wrong")
        let none = try await custodyFault { try await self.passphraseKey(storage, nil).key() }
        #expect(none?.reason == "there is no passphrase")
        #expect(none?.hint.actions.first as? KeyRemedy == .namePassphraseFile)
        let empty = try await custodyFault { try await self.passphraseKey(storage, "").key() }
        #expect(empty?.reason == "the passphrase is empty")
        // Nothing of the key stands in the storage.
        let kept = try #require(await storage.value("key-sealed"))
        #expect(!Data(kept).contains(Data(key.prefix(8))))
    }

    @Test func `a damaged sealed key is told from a wrong passphrase`() async throws {
        let storage = MemoryStorage()
        _ = try await passphraseKey(storage, "open sesame").create()
        let kept = try #require(await storage.value("key-sealed"))
        for index in kept.indices {
            var damaged = kept
            damaged[index] ^= 1
            await storage.setValue(damaged, for: "key-sealed")
            let fault = try await custodyFault { try await self.passphraseKey(storage, "open sesame").key() }
            #expect(fault?.reason == "it is damaged", "byte \(index)")
        }
        for count in [0, 1, kept.count - 1] {
            await storage.setValue(Array(kept.prefix(count)), for: "key-sealed")
            #expect(
                try await custodyFault { try await self.passphraseKey(storage, "x").key() }?.reason == "it is damaged")
        }
    }

    @Test func `parameters that take too much are refused before they are tried`() {
        // Mark, log2 N of 31, r and p of 255: what somebody may write into a store to stop a machine.
        var bytes = Array("DSK1".utf8) + [31, 255, 255] + [UInt8](repeating: 0, count: 16 + 60)
        bytes += SHA2.sha256.digest(bytes).prefix(8)
        #expect(SealedKey(bytes) == nil)
        bytes[4] = 1
        bytes[5] = 1
        bytes[6] = 1
        bytes = bytes.dropLast(8) + SHA2.sha256.digest(bytes.dropLast(8)).prefix(8)
        #expect(SealedKey(bytes) != nil)
    }
}

/// The vectors of RFC 7914 section 12; the one that takes 1 GiB is left out.
@Suite(.timeLimit(.scaled(minutes: 5)))
struct ScryptTests {
    @Test(
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
    func `scrypt gives what RFC 7914 says`(
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
    func `parameters out of range are refused`(cost: Int, blockSize: Int, parallelization: Int) {
        #expect(throws: JOSEError.self) {
            try Scrypt(cost: cost, blockSize: blockSize, parallelization: parallelization)
        }
    }

    @Test func `the standard parameters work, and another salt gives another key`() throws {
        #expect(Scrypt.standard.cost == 131_072)
        let first = try Scrypt.standard.derive(passphrase: [1], salt: [1], count: 32)
        #expect(try Scrypt.standard.derive(passphrase: [1], salt: [2], count: 32) != first)
        #expect(throws: JOSEError.self) { try Scrypt.standard.derive(passphrase: [1], salt: [1], count: 0) }
    }
}
