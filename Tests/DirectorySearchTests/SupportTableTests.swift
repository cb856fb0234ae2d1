import Foundation
import StrictJSON
import TestSupport
import Testing

@testable import DirectorySearch

private let table = SharedFolder.url("graph/query-support.json")

@Suite(.enabled(if: table != nil, "the table file does not exist"))
struct SupportTableTests {
    private func file() throws -> JSONObject {
        let url = try #require(table)
        return try #require(try JSONValue(parsing: Data(contentsOf: url)).object)
    }

    private func level(_ value: JSONValue?) throws -> PropertySupport.Level? {
        switch value?.string {
        case nil: nil
        case "default": .byDefault
        case "advanced": .advanced
        case "no": .never
        case let other?: throw BadLevel(word: other)
        }
    }

    private struct BadLevel: Error { var word: String }

    @Test func `the compiled support table equals the file`() throws {
        let rows = try #require(try file()["filter"]?.object?.members)
        #expect(rows.count == 60 && PropertySupport.table.count == 60)
        for row in rows {
            let support = try #require(PropertySupport.table[row.name], "\(row.name)")
            let levels = try #require(row.value.object)
            #expect(support.equals == (try level(levels["eq"])), "\(row.name) eq")
            #expect(support.startsWith == (try level(levels["startsWith"])), "\(row.name) startsWith")
            #expect(support.null == (try level(levels["null"])), "\(row.name) null")
            #expect(support.ordered == (try level(levels["ge"])), "\(row.name) ge")
            #expect(try level(levels["ge"]) == (try level(levels["le"])))
        }
    }

    @Test func `the sort properties and single-user properties equal the file`() throws {
        let order = try #require(try file()["orderby"]?.object?.members)
        #expect(order.count == PropertySupport.orderBy.count)
        for row in order { #expect(PropertySupport.orderBy[row.name] == (try level(row.value))) }
        let single = try #require(try file()["singleUserOnly"]?.array?.compactMap(\.string))
        #expect(Set(single) == PropertySupport.singleUserOnly)
        let given = try #require(try file()["returnedByDefault"]?.array?.compactMap(\.string))
        #expect(Set(given).isSubset(of: UserQuery.defaultProperties))
    }
}
