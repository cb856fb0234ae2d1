import TestSupport
import Testing

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import LodgePlatform

/// Pages of records, and the record cache.
@Suite(.timeLimit(.scaled(minutes: 5)))
struct PageTests {
    private func record(_ id: String, type: String = "graph", revision: Int64 = 1, identity: [UInt8]? = nil)
        -> SealedRecord
    {
        SealedRecord(id: id, type: type, revision: revision, identity: identity, sealed: [1])
    }

    @Test func `the LRU cache keeps the values used last, like a plain list`() {
        var numbers = SystemRandomNumberGenerator()
        for capacity in [1, 2, 3, 10] {
            var kept = LRUCache<Int, Int>(capacity: capacity)
            var model: [(key: Int, value: Int)] = []
            for step in 0..<5000 {
                let key = Int.random(in: 0..<capacity * 2 + 2, using: &numbers)
                let index = model.firstIndex { $0.key == key }
                switch Int.random(in: 0..<4, using: &numbers) {
                case 0:
                    kept[key] = nil
                    if let index { model.remove(at: index) }
                case 1:
                    kept[key] = step
                    if let index { model.remove(at: index) }
                    model.append((key, step))
                    if model.count > capacity { model.removeFirst() }
                default:
                    #expect(kept[key] == index.map { model[$0].value })
                    if let index { model.append(model.remove(at: index)) }
                }
                #expect(kept.count == model.count)
            }
            for entry in model.reversed() { #expect(kept[entry.key] == entry.value) }
        }
    }

    @Test func `an identity is distinct for each type, issuer, subject and key`() throws {
        let identities = RecordIdentity(key: try .init([UInt8](repeating: 7, count: 32)))
        let other = RecordIdentity(key: try .init([UInt8](repeating: 8, count: 32)))
        func digest(_ type: String, _ issuer: String?, _ subject: String?, client: Bool = false) -> [UInt8]? {
            identities.digest(type: type, issuer: issuer, subject: subject, isClient: client)
        }
        let all = [
            digest("graph", "https://a", "ada"), digest("graph", "https://a", "bob"),
            digest("graph", "https://b", "ada"),
            digest("graph", nil, "ada"), digest("grap", "hhttps://a", "ada"), digest("graph", "https://aad", "a"),
            digest("graph", nil, nil), digest("graph", nil, nil, client: true), digest("graph", "", "ada"),
            other.digest(type: "graph", issuer: "https://a", subject: "ada", isClient: false),
        ]
        #expect(Set(all).count == all.count)
        #expect(all.allSatisfy { $0?.count == 16 })
        #expect(digest("graph", "https://a", "ada") == all[0])
        #expect(digest("graph", "https://a", nil) == digest("graph", nil, nil))
    }
}
