import Foundation
import StoreTestSupport
import TestSupport
import Testing

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import LodgePlatform

/// Records that another program changed.
@Suite(.timeLimit(.scaled(minutes: 5)))
struct SealTests {
    private let storage = MemoryStorage()

    /// Replaces the record with the same identifier.
    private func plant(_ record: SealedRecord) async throws {
        let kept = try #require(await storage.record(record.id))
        // The storage accepts only the next revision, so remove the current record first.
        _ = await storage.remove(record.id)
        _ = try await storage.insert(record)
        #expect(await storage.record(record.id)?.sealed == record.sealed || kept == record)
    }

    /// Expects that only this account is damaged, has no token, and its record is unchanged.
    private func expectDamage(_ id: Account.ID, others: Int) async throws {
        let before = await storage.record(id.rawValue)
        let test = try await TestStore(storage: storage)
        #expect(try await test.store.accounts().count == others)
        #expect(try await test.store.damagedRecords().map(\.id) == [id])
        let error = try await failure { try await test.store.accessToken(for: id) }
        #expect(error?.kind == .damagedRecord)
        let data = try await failure { try await test.store.setUserData("x", for: id) }
        #expect(data?.kind == .damagedRecord)
        #expect(await storage.record(id.rawValue) == before)
    }

    @Test func `a flipped bit anywhere in a record is detected`() async throws {
        let test = try await TestStore(storage: storage)
        let ada = try await test.signIn("ada")
        try await test.signIn("bob")
        let record = try #require(await storage.record(ada.id.rawValue))
        let seal = test.store.repository.seal
        #expect(seal.open(record) != nil)
        for index in record.sealed.indices {
            var changed = record
            changed.sealed[index] ^= 1 << UInt8(index % 8)
            #expect(seal.open(changed) == nil)
        }
        for count in 0..<40 {
            var cut = record
            cut.sealed = Array(record.sealed.prefix(count))
            #expect(seal.open(cut) == nil)
        }
        var changed = record
        changed.sealed[record.sealed.count / 2] ^= 4
        try await plant(changed)
        try await expectDamage(ada.id, others: 1)
    }

    @Test func `swapped records are detected`() async throws {
        let test = try await TestStore(storage: storage)
        let ada = try await test.signIn("ada"), bob = try await test.signIn("bob")
        let first = try #require(await storage.record(ada.id.rawValue))
        let second = try #require(await storage.record(bob.id.rawValue))
        try await plant(SealedRecord(id: first.id, type: first.type, revision: 1, sealed: second.sealed))
        try await expectDamage(ada.id, others: 1)
    }

    @Test func `an old record with the new revision number is detected`() async throws {
        let test = try await TestStore(storage: storage)
        let ada = try await test.signIn("ada")
        let old = try #require(await storage.record(ada.id.rawValue))
        try await test.store.setUserData("new", for: ada.id)
        let new = try #require(await storage.record(ada.id.rawValue))
        #expect(new.revision == old.revision + 1)
        try await plant(SealedRecord(id: old.id, type: old.type, revision: new.revision, sealed: old.sealed))
        try await expectDamage(ada.id, others: 0)
    }

    @Test func `a complete older record opens, like a restored copy of the file`() async throws {
        let test = try await TestStore(storage: storage)
        let ada = try await test.signIn("ada")
        let old = try #require(await storage.record(ada.id.rawValue))
        try await test.store.setUserData("new", for: ada.id)
        try await plant(old)
        let again = try await TestStore(storage: storage)
        #expect(try await again.store.damagedRecords().isEmpty)
        #expect(try await again.store.account(ada.id)?.userData(as: String.self) == nil)
    }

    @Test func `a record moved to another type is detected`() async throws {
        let test = try await TestStore(storage: storage)
        let ada = try await test.signIn("ada")
        var record = try #require(await storage.record(ada.id.rawValue))
        record.type = "other"
        try await plant(record)
        try await expectDamage(ada.id, others: 0)
    }

    @Test func `a user whose record is damaged can sign in again, and no other account becomes current`()
        async throws
    {
        let test = try await TestStore(storage: storage)
        try await test.signIn("bob")
        let ada = try await test.signIn("ada")
        var record = try #require(await storage.record(ada.id.rawValue))
        record.sealed[20] ^= 1
        try await plant(record)
        let again = try await TestStore(storage: storage)
        let error = try await failure { try await again.store.currentAccount(ofType: "graph") as Any }
        #expect(error?.kind == .damagedRecord)
        #expect(try await failure { try await again.store.activeAccount() as Any }?.kind == .damagedRecord)
        let new = try await again.signIn("ada")
        #expect(new.id != ada.id)
        #expect(try await again.store.currentAccount(ofType: "graph")?.id == new.id)
        #expect(try await again.store.damagedRecords().map(\.id) == [ada.id])
    }
}
