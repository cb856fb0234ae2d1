import CLodgeSQLite
import Foundation
import OAuth2Protocol
import StorageSuite
import StoreTestSupport
import TestSupport
import Testing

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import LodgePlatform

/// Files with damaged bytes: the store does not crash or return wrong tokens, and undamaged accounts remain usable.
@Suite(.serialized, .timeLimit(.scaled(minutes: 10)))
struct DamageTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// Random numbers that are the same in every run.
    private struct Numbers: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            var value = state ^ state >> 33
            value = value &* 0xFF51_AFD7_ED55_8CCD
            return value ^ value >> 29
        }
    }

    /// Creates and closes a store with many users. Returns the bytes of the file and the tokens of each account.
    private func makeStore(_ count: Int = 40) async throws -> (image: Data, known: [String: String]) {
        let test = try await TestStore(storage: SQLiteStorage(directory: directory.store))
        var known: [String: String] = [:]
        for number in 0..<count {
            let account = try await test.signIn("person-\(number)")
            known[account.id.rawValue] = "person-\(number) " + (try await test.token(account.id))
        }
        return (try Data(contentsOf: URL(filePath: directory.store.file("accounts.sqlite"))), known)
    }

    private func plant(_ image: Data, _ name: String) throws -> StoreLocation {
        let location = StoreLocation(directory.path + "/" + name)
        try FileManager.default.createDirectory(atPath: location.path, withIntermediateDirectories: true)
        #expect(chmod(location.path, 0o700) == 0)
        let file = location.file("accounts.sqlite")
        try image.write(to: URL(filePath: file))
        #expect(chmod(file, 0o600) == 0)
        return location
    }

    /// Reads all accounts of a store, which must be as they were saved, and returns their identifiers and the number of
    /// errors.
    private func look(
        _ location: StoreLocation, _ known: [String: String], _ comment: Comment
    ) async throws -> (listed: Set<String>, found: Set<String>, damaged: Set<String>, errors: Int) {
        var listed: Set<String> = [], found: Set<String> = [], damaged: Set<String> = []
        var errors = 0
        let test: TestStore
        do {
            test = try await TestStore(storage: SQLiteStorage(directory: location))
        } catch let error as AccountStoreError {
            #expect(error.hint != nil || error.remedy != .nothing, comment)
            return ([], [], [], 1)
        }
        func check(_ account: Account) async throws {
            let tokens = try await test.token(account.id)
            #expect(known[account.id.rawValue] == "\(account.subject ?? "") \(tokens)", comment)
        }
        func noting(_ body: () async throws -> Void) async throws {
            do {
                try await body()
            } catch let error as AccountStoreError {
                errors += 1
                #expect(error.hint != nil || error.remedy != .nothing, comment)
            }
        }
        try await noting {
            for account in try await test.store.accounts() {
                #expect(known[account.id.rawValue]?.hasPrefix((account.subject ?? "?") + " ") == true, comment)
                listed.insert(account.id.rawValue)
            }
        }
        try await noting { damaged = Set(try await test.store.damagedRecords().map(\.id.rawValue)) }
        for id in known.keys {
            try await noting {
                guard let account = try await test.store.account(Account.ID(rawValue: id)) else { return }
                try await check(account)
                found.insert(id)
            }
        }
        return (listed, found, damaged, errors)
    }

    @Test(arguments: 0..<4)
    func `a flipped bit anywhere in the file is detected, and undamaged accounts remain usable`(seed: UInt64)
        async throws
    {
        let (image, known) = try await makeStore()
        var numbers = Numbers(state: seed)
        for round in 0..<40 {
            var changed = image
            // Change one bit, or several bytes of a page.
            let location = Int.random(in: 0..<image.count, using: &numbers)
            if round % 3 == 0 {
                for index in location..<min(location + 40, image.count) {
                    changed[index] = UInt8.random(in: 0...255, using: &numbers)
                }
            } else {
                changed[location] ^= 1 << UInt8.random(in: 0..<8, using: &numbers)
            }
            let store = try plant(changed, "flip-\(round)")
            defer { try? FileManager.default.removeItem(atPath: store.path) }
            let comment: Comment = "seed \(seed), round \(round), byte \(location)"
            let seen = try await look(store, known, comment)
            #expect(seen.listed.isSubset(of: known.keys) && seen.damaged.isDisjoint(with: seen.found), comment)
            let missing = Set(known.keys).subtracting(seen.found)
            // If an account is missing, the store reports an error.
            if !missing.isEmpty, seen.errors == 0, seen.damaged.isEmpty {
                #expect(try await !SQLiteStorage(directory: store).errors().isEmpty, comment)
            }
        }
    }

    @Test func `a damaged page does not affect other accounts, and salvage copies them to a new file`() async throws {
        let (image, known) = try await makeStore(60)
        var copied = 0
        let pageSize = 4096
        for page in stride(from: 1, to: image.count / pageSize, by: 5) {
            var changed = image
            for index in page * pageSize..<(page + 1) * pageSize { changed[index] = 0xA5 }
            let store = try plant(changed, "page-\(page)")
            defer { try? FileManager.default.removeItem(atPath: store.path) }
            let before = try await look(store, known, "page \(page)")
            let report: SalvageReport
            do {
                report = try await SQLiteStorage(directory: store).salvage(with: try TestStore.key().key())
            } catch {
                // There was no account to copy.
                #expect(before.found.isEmpty, "page \(page): \(error)")
                continue
            }
            copied += 1
            #expect(try Data(contentsOf: URL(filePath: store.file("accounts.sqlite"))) == changed)
            #expect(report.opening ?? 0 >= before.found.count, "page \(page)")
            let again = await #expect(throws: StorageError.self) { try await SQLiteStorage(directory: store).salvage() }
            #expect(again?.reason.contains("not overwritten") == true)
            let new = StoreLocation(store.path + "-new")
            defer { try? FileManager.default.removeItem(atPath: new.path) }
            _ = try plant(try Data(contentsOf: URL(filePath: report.path)), "page-\(page)-new")
            let after = try await look(new, known, "page \(page), copied")
            #expect(
                after.found.isSuperset(of: before.found) && after.listed == after.found
                    && after.errors == after.damaged.count)
            #expect(after.found.count == report.opening)
            #expect(try await SQLiteStorage(directory: new).errors().isEmpty)
        }
        #expect(copied > 3)
    }

    @Test func `records that were swapped or copied between accounts do not open`() async throws {
        let (_, known) = try await makeStore(4)
        let ids = known.keys.sorted()
        var connection: OpaquePointer?
        #expect(sqlite3_open(directory.store.file("accounts.sqlite"), &connection) == SQLITE_OK)
        let record = "(SELECT record FROM accounts WHERE id = '\(ids[1])')"
        #expect(
            sqlite3_exec(connection, "UPDATE accounts SET record = \(record) WHERE id = '\(ids[0])'", nil, nil, nil)
                == 0)
        #expect(
            sqlite3_exec(
                connection,
                "INSERT INTO accounts SELECT 'copy', type, 99, revision, record, identity FROM accounts WHERE id = '\(ids[2])'",
                nil, nil, nil) == 0)
        sqlite3_close(connection)
        let test = try await TestStore(storage: SQLiteStorage(directory: directory.store))
        #expect(Set(try await test.store.accounts().map(\.id.rawValue)) == Set(ids.dropFirst()))
        #expect(Set(try await test.store.damagedRecords().map(\.id.rawValue)) == [ids[0], "copy"])
        var found: [String] = []
        for try await account in test.store.accountSequence() { found.append(account.id.rawValue) }
        #expect(Set(found) == Set(ids.dropFirst()))
    }

    @Test func `a wrong key opens no account and changes nothing`() async throws {
        let (image, _) = try await makeStore(2)
        let error = try await failure {
            try await TestStore(storage: SQLiteStorage(directory: directory.store), custody: try TestStore.key(9))
        }
        #expect(error?.kind == .key)
        #expect(try Data(contentsOf: URL(filePath: directory.store.file("accounts.sqlite"))) == image)
    }

    @Test func `salvage copies a row with the largest row number`() async throws {
        let location = try plant(try await makeStore(1).image, "last")
        do {
            let connection = try SQLiteConnection(path: location.file("accounts.sqlite"))
            try connection.run("UPDATE accounts SET rowid = ?", [.integer(.max - 5)])
            // Damage the index, so that salvage searches the rows one by one.
            guard
                case .integer(let page)? = try connection.run(
                    "SELECT rootpage FROM sqlite_schema WHERE name = 'accounts_by_type'"
                ).first?.first,
                case .integer(let size)? = try connection.run("PRAGMA page_size").first?.first
            else {
                Issue.record("no index")
                return
            }
            let file = try FileHandle(forUpdating: URL(filePath: location.file("accounts.sqlite")))
            try file.seek(toOffset: UInt64((page - 1) * size))
            try file.write(contentsOf: Data(repeating: 0xEE, count: Int(size)))
            try file.close()
        }
        let report = try await SQLiteStorage(directory: location).salvage(with: try TestStore.key().key())
        #expect(report.records == 1 && report.opening == 1)
    }
}
