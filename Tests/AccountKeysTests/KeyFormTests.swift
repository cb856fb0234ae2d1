import Foundation
import JOSE
import TestSupport
import Testing

@testable import AccountKeys
import LodgePlatform
import SealedStorage

@Suite(.timeLimit(.scaled(minutes: 5)))
struct KeyFormTests {
    // MARK: Choices

    @Test func `each key location has a name that can be parsed`() throws {
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
    func `the error for a misspelled key location suggests the nearest name`(typed: String, near: String) {
        #expect { try KeyCustodyChoice(typed) } throws: { ($0 as? KeyCustodyError)?.hint == "did you mean \(near)?" }
    }

    @Test(arguments: ["", "fd:", "fd:1", "fd:2", "fd:-3", "fd:x", "fd:65536", "fd:99999999999", "Key-File", "vault"])
    func `an invalid key location is rejected`(typed: String) {
        #expect(throws: KeyCustodyError.self) { try KeyCustodyChoice(typed) }
    }

    // MARK: File descriptor

    @Test func `a file descriptor can provide a key as bytes, base64url or base64`() async throws {
        // These bytes differ between the two alphabets.
        let bytes = [UInt8](repeating: 0xFB, count: 16) + [UInt8](repeating: 0xEF, count: 16)
        let base64 = Data(bytes).base64EncodedString()
        let unpadded = base64.replacing("=", with: "")
        let url = Base64URL.encode(bytes)
        #expect(url != unpadded)
        for text in [base64, unpadded, url, url + "=", url + "\n", base64 + "\r\n"] {
            let pipe = try Pipe(holding: Array(text.utf8))
            let key = FileDescriptorKey(pipe.fileHandleForReading.fileDescriptor)
            #expect(try await key.key()?.bytes == bytes, "\(text.count) characters")
            // The key is read once and then cached.
            #expect(try await key.create().bytes == bytes)
        }
        let pipe = try Pipe(holding: bytes)
        #expect(try await FileDescriptorKey(pipe.fileHandleForReading.fileDescriptor).key()?.bytes == bytes)
    }

    @Test(arguments: [0, 1, 31, 33, 42, 45, 4096, 60_000])
    func `a file descriptor with another number of bytes is an error`(count: Int) async throws {
        let pipe = try Pipe(holding: [UInt8](repeating: UInt8(ascii: "A"), count: count))
        let key = FileDescriptorKey(pipe.fileHandleForReading.fileDescriptor)
        let error = try #require(try await thrownError(KeyCustodyError.self) { try await key.key() })
        #expect(error.reason.contains(count == 0 ? "empty" : "not a key"))
        #expect(!error.description.contains("AAAA"))
    }

    @Test func `invalid base64 from a file descriptor is an error`() async throws {
        let pipe = try Pipe(holding: [UInt8](repeating: UInt8(ascii: "!"), count: 43))
        let key = FileDescriptorKey(pipe.fileHandleForReading.fileDescriptor)
        #expect(
            try await thrownError(KeyCustodyError.self) { try await key.key() }?.reason.contains("not a key") == true)
    }

    @Test func `a closed, missing or silent file descriptor is an error with its reason`() async throws {
        #expect(
            try await thrownError(KeyCustodyError.self) { try await FileDescriptorKey(61_234).key() }?.reason
                == "it is not open")
        #expect(
            try await thrownError(KeyCustodyError.self) { try await FileDescriptorKey(nil).key() }?.hint.description
                .contains("fd:3") == true
        )
        let folder = open("/", O_RDONLY)
        defer { close(folder) }
        #expect(
            try await thrownError(KeyCustodyError.self) { try await FileDescriptorKey(folder).key() }?.reason.contains(
                "neither") == true)
        let pipe = Pipe()
        let silent = FileDescriptorKey(pipe.fileHandleForReading.fileDescriptor, patience: .zero)
        #expect(
            try await thrownError(KeyCustodyError.self) { try await silent.key() }?.reason.contains(
                "it is open, but contains no key")
                == true)
        withExtendedLifetime(pipe) {}
    }

    // MARK: Passphrase

    private func passphraseKey(_ storage: MemoryStorage, _ text: String?) throws -> PassphraseKey {
        PassphraseKey(storage: storage, parameters: try Scrypt(cost: 16, blockSize: 8, parallelization: 2)) { _ in
            text.map { Secret($0) }
        }
    }

    @Test func `a key sealed with a passphrase opens only with that passphrase`() async throws {
        let storage = MemoryStorage()
        #expect(try await passphraseKey(storage, nil).key() == nil)
        let key = try await passphraseKey(storage, "open sesame").create().bytes
        #expect(try await passphraseKey(storage, "open sesame").key()?.bytes == key)
        let wrong = try await thrownError(KeyCustodyError.self) {
            try await self.passphraseKey(storage, "open sesam").key()
        }
        #expect(wrong?.reason == "the passphrase is wrong")
        let none = try await thrownError(KeyCustodyError.self) { try await self.passphraseKey(storage, nil).key() }
        #expect(none?.reason == "there is no passphrase")
        #expect(none?.hint.actions.first as? KeyRemedy == .namePassphraseFile)
        let empty = try await thrownError(KeyCustodyError.self) { try await self.passphraseKey(storage, "").key() }
        #expect(empty?.reason == "the passphrase is empty")
        // The storage does not contain the key in plaintext.
        let kept = try #require(await storage.value("key-sealed"))
        #expect(!Data(kept).contains(Data(key.prefix(8))))
    }

    @Test func `a damaged sealed key is distinguished from a wrong passphrase`() async throws {
        let storage = MemoryStorage()
        _ = try await passphraseKey(storage, "open sesame").create()
        let kept = try #require(await storage.value("key-sealed"))
        for index in kept.indices {
            var damaged = kept
            damaged[index] ^= 1
            await storage.setValue(damaged, for: "key-sealed")
            let error = try await thrownError(KeyCustodyError.self) {
                try await self.passphraseKey(storage, "open sesame").key()
            }
            #expect(error?.reason == "it is damaged", "byte \(index)")
        }
        for count in [0, 1, kept.count - 1] {
            await storage.setValue(Array(kept.prefix(count)), for: "key-sealed")
            #expect(
                try await thrownError(KeyCustodyError.self) { try await self.passphraseKey(storage, "x").key() }?.reason
                    == "it is damaged")
        }
    }

    @Test func `excessive scrypt parameters are rejected before they are used`() {
        // The marker, log2 N of 31, r and p of 255: an attacker could write these into a store to exhaust the machine.
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
