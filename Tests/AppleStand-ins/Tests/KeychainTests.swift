import Foundation
import JOSE
import OAuth2AccountStore
import Security
import Testing

@testable import AccountKeys

/// Tests the key in the Keychain. The stand-in's keychain is shared by all tests of the process.
@Suite(.serialized) struct KeychainTests {
    private let keychain = StandInKeychain.shared

    init() { keychain.removeAll() }

    private func key(_ identity: String = "a", _ change: (inout KeychainOptions) -> Void = { _ in }) -> KeychainKey {
        var options = KeychainOptions()
        change(&options)
        return KeychainKey(identity: identity, label: "Key of the accounts", options: options)
    }

    @Test func `a created key is found again, only on this device and after the first unlock`() async throws {
        let custody = key()
        #expect(try await custody.key() == nil)
        let created = try await custody.create()
        #expect(try await custody.create().bytes == created.bytes)
        #expect(try await key().key()?.bytes == created.bytes)
        #expect(try await key("b").key() == nil)
        let item = try #require(keychain.items.first)
        #expect(keychain.items.count == 1 && item.usesDataProtection && item.data == Data(created.bytes))
        #expect(item.strings[kSecAttrAccessible] == kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly)
        #expect(item.strings[kSecAttrSynchronizable] == nil && item.strings[kSecAttrLabel] == "Key of the accounts")
    }

    @Test func `options choose the protection, the access group and the file-based keychain`() async throws {
        keychain.setAccessGroups(["", "TEAM.shared"])
        _ = try await key { $0.isReadableWhenLocked = false }.create()
        #expect(
            keychain.items.last?.strings[kSecAttrAccessible] == kSecAttrAccessibleWhenUnlockedThisDeviceOnly)
        let shared = try await key("b") { $0.accessGroup = "TEAM.shared" }.create()
        #expect(keychain.items.last?.strings[kSecAttrAccessGroup] == "TEAM.shared")
        #expect(try await key("b") { $0.accessGroup = "TEAM.shared" }.key()?.bytes == shared.bytes)
        _ = try await key("c") { $0.usesFileBasedKeychain = true }.create()
        #expect(keychain.items.last?.usesDataProtection == false)
        #expect(try await key("c").key() == nil)
    }

    @Test func `a locked keychain is an error and never a new key`() async throws {
        let created = try await key().create()
        keychain.setLocked(true)
        for call in [{ _ = try await key().key() }, { _ = try await key().create() }] as [() async throws -> Void] {
            let error = await #expect(throws: KeyCustodyError.self) { try await call() }
            #expect(error.map { "\($0.hint)".contains("unlock") } == true)
        }
        keychain.setLocked(false)
        #expect(keychain.items.count == 1)
        #expect(try await key().key()?.bytes == created.bytes)
    }

    @Test func `a program without entitlements gets an error with the alternatives, and no key elsewhere`() async throws
    {
        keychain.setAccessGroups(nil)
        let error = await #expect(throws: KeyCustodyError.self) { try await key().create() }
        #expect(error.map { "\($0.hint)".contains("key file") && $0.reason.contains("entitlement") } == true)
        #expect(keychain.items.isEmpty)
        _ = try await key { $0.usesFileBasedKeychain = true }.create()
        keychain.setAccessGroups([""])
        let group = await #expect(throws: KeyCustodyError.self) { try await key { $0.accessGroup = "OTHER" }.key() }
        #expect(group != nil)
    }

    @Test func `save keeps another key, and remove deletes only its own`() async throws {
        let created = try await key().create()
        try await key().save(created)
        await #expect(throws: KeyCustodyError.self) { try await key().save(.random()) }
        try await key().remove(.random())
        #expect(keychain.items.count == 1)
        try await key().remove(created)
        #expect(keychain.items.isEmpty)
    }

    @Test func `the default location of a new store is the Keychain`() { #expect(Keychain.defaultChoice == .keychain) }
}
