import Foundation
import Testing

/// Tests that each claim in SECURITY.md names a test that exists.
struct SecurityPolicyTests {
    /// The rows of the table: the claim, and the code-quoted names in the other cells.
    static let rows: [(claim: String, tests: [String], files: [String])] = {
        let text = SpecificationTableTests.text(SpecificationTableTests.package.appending(path: "SECURITY.md"))
        let table = text.split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst()
        return table.map { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            func names(_ index: Int) -> [String] {
                index < cells.count ? cells[index].matches(of: /`([^`]+)`/).map { String($0.1) } : []
            }
            return (cells.first ?? "", names(1), names(2))
        }
    }()

    @Test func `each claim of the security policy names an existing test`() {
        let names = Set(SpecificationTableTests.tests.flatMap(\.testNames))
        #expect(Self.rows.count > 15)
        for row in Self.rows {
            #expect(!row.tests.isEmpty || !row.files.isEmpty, "\(row.claim)")
            for name in row.tests {
                let isTest = names.contains(name)
                #expect(isTest, "\(row.claim): \(name)")
            }
            for file in row.files {
                let path = SpecificationTableTests.package.appending(path: file).path
                #expect(FileManager.default.fileExists(atPath: path), "\(row.claim): \(file)")
            }
        }
    }
}
