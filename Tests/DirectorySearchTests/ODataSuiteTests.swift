import DirectorySearch
import Foundation
import TestSupport
import Testing

@testable import LocalProvider

private let suite = SharedFolder.url("suites/odata/odata-abnf-testcases.yaml")

/// The OData ABNF test cases of OASIS.
@Suite(.enabled(if: suite != nil, "the folder with the published suites does not exist"))
struct ODataSuiteTests {
    private struct Case {
        var name = ""
        var rule = ""
        var input = ""
        var mustFail = false
    }

    /// Reads the test cases; supports the subset of YAML in the file.
    private func cases() throws -> [Case] {
        let text = try String(contentsOf: #require(suite), encoding: .utf8)
        var cases: [Case] = []
        var current: String?
        for line in text.components(separatedBy: "\n").drop(while: { !$0.hasPrefix("TestCases") }).dropFirst() {
            if line.hasPrefix("  - Name:") {
                cases.append(Case(name: Self.value(line)))
                current = "Name"
            } else if let match = line.wholeMatch(of: #/    ([A-Za-z]+):(.*)/#), !cases.isEmpty {
                let last = cases.count - 1
                current = String(match.1)
                switch current {
                case "Rule": cases[last].rule = Self.value(line)
                case "Input": cases[last].input = Self.value(line)
                case "FailAt": cases[last].mustFail = true
                default: break
                }
            } else if line.hasPrefix("      "), current == "Input", !cases.isEmpty {
                let more = line.trimmingCharacters(in: .whitespaces)
                let before = cases[cases.count - 1].input
                let isFolded = before.isEmpty || before == ">-" || before == "|-"
                cases[cases.count - 1].input = isFolded ? more : before + " " + more
            }
        }
        return cases.map { entry in
            var entry = entry
            entry.input = Self.unquoted(entry.input)
            return entry
        }
    }

    private static func value(_ line: String) -> String {
        let parts = line.split(separator: ":", maxSplits: 1)
        return parts.count == 2 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
    }

    private static func unquoted(_ text: String) -> String {
        if text.count > 1, text.hasPrefix("'"), text.hasSuffix("'") {
            return String(text.dropFirst().dropLast()).replacing("''", with: "'")
        }
        if text.count > 1, text.hasPrefix("\""), text.hasSuffix("\"") {
            return String(text.dropFirst().dropLast()).replacing("\\\"", with: "\"").replacing("\\\\", with: "\\")
        }
        return text
    }

    /// Returns the filter expression, with its properties renamed to properties of users.
    private static func filter(_ entry: Case) -> String? {
        let text: String
        switch entry.rule {
        case "filter": text = String(entry.input.drop { $0 != "=" }.dropFirst())
        case "boolCommonExpr", "commonExpr": text = entry.input
        default: return nil
        }
        return text.removingPercentEncoding?
            .replacing(/\b(CompanyName|LastName|FirstName|Name|Street|City|Country|Currency)\b/, with: "displayName")
            .replacing(/\b(Tags|Sizes|EmailAddresses)\b/, with: "businessPhones")
    }

    /// The expressions that the local provider accepts. Like Graph, it supports `startswith`, `endswith`, `in`, `any`,
    /// comparisons of a property with a literal, and `$count` of a list; it rejects arithmetic, other functions, casts,
    /// paths and annotations.
    private static let accepted: Set<String> = [
        "displayName ne 'Milk'", "displayName in ('Milk', 'Cheese')", "not endswith(displayName,'ilk')",
        "displayName eq 'Milk'", "displayName in ('Miller','Smith')", "businessPhones/$count gt 0",
        "displayName lt 'Milk'",
        "displayName gt 'Milk'", "displayName le 'Milk'", "(displayName eq 'Milk')", "displayName ge 'Milk'",
        "startswith(displayName,'Futterkiste')", "displayName eq 'Hugo'", "endswith(displayName,'Futterkiste')",
    ]

    @Test func `the local provider accepts exactly its subset of the published filters`() throws {
        let cases = try cases()
        #expect(cases.count == 840)
        #expect(cases.count(where: \.mustFail) == 79)
        var accepted: Set<String> = []
        var filters = 0
        for entry in cases {
            // Every case must return.
            _ = try? ODataFilter(parsing: entry.input)
            _ = ODataSearch(parsing: entry.input)
            guard let text = Self.filter(entry) else { continue }
            filters += 1
            guard (try? ODataFilter(parsing: text)) != nil else { continue }
            if entry.mustFail { Issue.record("\(entry.name) is read: \(text)") }
            if !entry.mustFail { accepted.insert(text) }
        }
        #expect(filters > 150)
        #expect(accepted == Self.accepted, "\(accepted.symmetricDifference(Self.accepted).sorted())")
    }

    @Test func `the local provider reads each filter text of the client as one literal`() throws {
        var literals = 0
        for entry in try cases() where !entry.input.isEmpty {
            let filter = try UserFilter.givenName(startsWith: entry.input).odata()
            #expect(
                try ODataFilter(parsing: filter) == .startsWith(.init(property: .givenName), entry.input),
                "\(entry.name)")
            literals += 1
        }
        #expect(literals > 800)
    }
}
