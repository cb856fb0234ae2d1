import SealedStorage

/// The checks of records and values.
enum RecordChecks {
    static func order(_ open: StorageCheck.Open) async throws {
        let storage = try await open()
        try await expect(try await storage.records(ofType: nil).isEmpty, "no records at first")
        for id in ["c", "a", "b"] { _ = try await storage.insert(record(id, type: id == "a" ? "other" : "graph")) }
        _ = try await storage.replace(record("c", revision: 2, [9]), kind: .tokens)
        let all = try await storage.records(ofType: nil)
        try await expect(all.map(\.id) == ["c", "a", "b"] && all.map(\.position) == [1, 2, 3], "c, a, b: \(all)")
        try await expect(try await storage.records(ofType: "graph").map(\.id) == ["c", "b"], "the records of the type")
        try await expect(try await storage.records(ofType: "none").isEmpty, "no records of an unknown type")
        let changed = try await storage.record("c")
        try await expect(
            changed?.revision == 2 && changed?.sealed == [9] && changed?.position == 1 && changed?.type == "graph",
            "the replaced record at its position: \(String(describing: changed))")
        try await expect(try await storage.record("nobody") == nil, "no record with an unknown identifier")
        let large = (0..<300_000).map { UInt8(truncatingIfNeeded: $0) }
        _ = try await storage.insert(record("", type: "größe '\"\\", large))
        _ = try await storage.insert(record("empty", []))
        try await expect(try await storage.record("")?.sealed == large, "a large record is returned")
        try await expect(try await storage.record("")?.type == "größe '\"\\", "a type with any characters is returned")
        try await expect(try await storage.record("empty")?.sealed == [], "an empty record is returned")
    }

    static func pages(_ open: StorageCheck.Open) async throws {
        let storage = try await open()
        for number in 0..<10 { _ = try await storage.insert(record("r\(number)", type: number % 3 == 0 ? "x" : "y")) }
        _ = try await storage.remove("r4")
        var found: [String] = []
        var position: Int64 = 0
        while let page = try await storage.records(ofType: nil, after: position, limit: 4) as [SealedRecord]?,
            let last = page.last
        {
            try await expect(page.count <= 4, "at most four records")
            found += page.map(\.id)
            position = last.position
        }
        try await expect(found == [0, 1, 2, 3, 5, 6, 7, 8, 9].map { "r\($0)" }, "each record once: \(found)")
        let second = try await storage.records(ofType: "x", after: 1, limit: 2)
        try await expect(second.map(\.id) == ["r3", "r6"], "a page of a type")
        try await expect(
            try await storage.records(ofType: nil, after: 0, limit: 0).isEmpty, "no records with a limit of 0")
        try await expect(
            try await storage.records(ofType: nil, after: -1, limit: 1).first?.id == "r0",
            "the first record after position -1")
        try await expect(
            try await storage.records(ofType: nil, after: .max, limit: 5).isEmpty, "no records after the end")
    }

    static func identity(_ open: StorageCheck.Open) async throws {
        let storage = try await open()
        let (ada, bob) = ([UInt8](repeating: 1, count: 16), [UInt8](repeating: 2, count: 16))
        _ = try await storage.insert(record("a", identity: ada))
        _ = try await storage.insert(record("b"))
        _ = try await storage.insert(record("c", type: "other", identity: ada))
        _ = try await storage.insert(record("d", identity: ada))
        func found(_ identity: [UInt8]) async throws -> [String] {
            try await storage.records(ofType: "graph", identity: identity).map(\.id)
        }
        try await expect(try await found(ada) == ["a", "d"], "the records of the type, in order")
        try await expect(try await storage.record("a")?.identity == ada, "the identity is returned")
        try await expect(try await storage.record("b")?.identity == nil, "no identity is returned")
        _ = try await storage.replace(record("a", revision: 2, identity: bob), kind: .profile)
        _ = try await storage.replace(record("b", revision: 2, identity: bob), kind: .profile)
        _ = try await storage.replace(record("d", revision: 2), kind: .profile)
        try await expect(try await found(ada).isEmpty, "no record with the previous identity")
        try await expect(try await found(bob) == ["a", "b"], "the records with the new identity")
        _ = try await storage.replace(record("a", revision: 2, identity: ada), kind: .profile)
        _ = try await storage.remove("b")
        try await expect(try await found(bob) == ["a"], "the record that was not replaced, without the removed record")
    }

    static func count(_ open: StorageCheck.Open) async throws {
        let storage = try await open()
        try await expect(try await storage.count(ofType: nil) == 0, "no records")
        try await expect(try await storage.lastRecord(ofType: "graph") == nil, "no last record")
        for id in ["a", "b", "c"] { _ = try await storage.insert(record(id, type: id == "c" ? "other" : "graph")) }
        try await expect(try await storage.count(ofType: nil) == 3, "three records")
        try await expect(try await storage.count(ofType: "graph") == 2, "two records of the type")
        try await expect(try await storage.lastRecord(ofType: "graph")?.id == "b", "the last record of the type")
        _ = try await storage.remove("b")
        try await expect(try await storage.lastRecord(ofType: "graph")?.id == "a", "the previous record")
        try await expect(try await storage.count(ofType: "graph") == 1, "one record of the type")
    }

    static func taken(_ open: StorageCheck.Open) async throws {
        let storage = try await open()
        _ = try await storage.insert(record("a"))
        do {
            _ = try await storage.insert(record("a", [5]))
            throw StorageCheckFailure(description: "expected: an existing identifier is rejected")
        } catch is StorageError {}
        try await expect(try await storage.record("a")?.sealed == [1, 2, 0, 3], "the first record is unchanged")
        try await expect(try await storage.lastSequence() == 1, "no change in the log")
        let next = try await storage.insert(record("b"))
        try await expect(next.sequence == 2, "no gap in the log")
    }

    static func revision(_ open: StorageCheck.Open) async throws {
        let storage = try await open()
        _ = try await storage.insert(record("a"))
        try await expect(
            try await storage.replace(record("a", revision: 1, [7]), kind: .tokens) == nil,
            "no replacement with the same revision")
        try await expect(
            try await storage.replace(record("a", revision: 3, [7]), kind: .tokens) == nil,
            "no replacement with a later revision")
        try await expect(
            try await storage.replace(record("b", revision: 2, [7]), kind: .tokens) == nil,
            "no replacement of a missing record")
        try await expect(try await storage.record("a")?.sealed == [1, 2, 0, 3], "the record is unchanged")
        try await expect(
            try await storage.replace(record("a", revision: 2, [7]), kind: .tokens) == 2,
            "a replacement with the next revision")
        try await expect(try await storage.remove("a") == 3, "the record is removed")
        try await expect(try await storage.remove("a") == nil, "no second removal")
        try await expect(
            try await storage.replace(record("a", revision: 3, [7]), kind: .tokens) == nil,
            "no replacement of a removed record")
    }

    static func removed(_ open: StorageCheck.Open) async throws {
        let storage = try await open()
        for id in ["a", "b", "c"] { _ = try await storage.insert(record(id)) }
        _ = try await storage.remove("b")
        _ = try await storage.insert(record("d"))
        try await expect(
            try await storage.records(ofType: nil).map(\.id) == ["a", "c", "d"], "the new record at the end")
    }

    static func values(_ open: StorageCheck.Open) async throws {
        let storage = try await open()
        try await expect(try await storage.value("x") == nil, "no value at first")
        try await storage.setValue([0, 1], for: "x")
        try await storage.setValue([], for: "y")
        try await storage.setValue([2], for: "x")
        let another = try await open()
        try await expect(try await another.value("x") == [2], "the last value")
        try await expect(try await another.value("y") == [], "an empty value is not nil")
        try await storage.setValue(nil, for: "x")
        try await expect(try await another.value("x") == nil, "the value is removed")
    }

    static func valuesOfRecord(_ open: StorageCheck.Open) async throws {
        let (storage, another) = (try await open(), try await open())
        func expectValues(_ expected: [String: [UInt8]], line: Int = #line) async throws {
            for name in ["x", "y", "z"] {
                let value = try await another.value(name)
                try await expect(
                    value == expected[name], "\(name) is \(String(describing: expected[name]))", line: line)
            }
        }
        let added = try await storage.insert(record("a"), setting: ["x": [1], "y": []])
        try await expect(added.position > 0 && added.sequence == 1, "the first position and change: \(added)")
        try await expectValues(["x": [1], "y": []])
        do {
            _ = try await storage.insert(record("a", [5]), setting: ["x": [9], "z": [9]])
            throw StorageCheckFailure(description: "expected: an existing identifier is rejected")
        } catch is StorageError {}
        for rejected in [record("a", revision: 3), record("b", revision: 2)] {
            try await expect(
                try await storage.replace(rejected, kind: .tokens, setting: ["x": [9], "z": [9]]) == nil,
                "only the next revision replaces a record")
        }
        try await expectValues(["x": [1], "y": []])
        try await expect(
            try await storage.replace(record("a", revision: 2), kind: .profile, setting: ["x": [2], "z": [3]]) == 2,
            "the second change")
        try await expectValues(["x": [2], "y": [], "z": [3]])
        try await expect(try await another.changes(after: 0)?.count == 2, "two changes, none of a value")
    }
}
