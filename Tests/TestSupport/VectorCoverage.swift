import Foundation
import Testing

/// Checks that each case of a vector file has a test.
package enum VectorCoverage {
    /// The cases without a test, and the reasons.
    package static let exceptions = [
        "PK-009":
            "RFC 7636 section 4.2: a client capable of S256 MUST use S256, so this library does not support plain",
        "RS-050": "records are always sealed: there is no plain-text storage to opt in to",
        "RS-051": "the store runs no other program for its key: it uses a file, or the app's code",
    ]

    /// Records an issue for each case of a file without a test.
    ///
    /// - Parameters:
    ///   - run: the identifiers of the cases that parameterized tests run.
    ///   - held: the names of the tests that cover a case. A test whose name starts with identifiers, as in
    ///     `TP-042, TP-043: a token request …`, covers these cases without an entry.
    package static func check(
        _ file: String, run: [String], held: [String: [String]] = [:],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let cases = try #require(try VectorFile.object("\(file).json")["cases"]?.array).compactMap {
            $0.object?["id"]?.string
        }
        let known = Set(cases), tests = try testNames()
        #expect(!cases.isEmpty && known.count == cases.count, "\(file)", sourceLocation: sourceLocation)
        for (id, names) in held {
            #expect(known.contains(id) && !names.isEmpty, "\(id)", sourceLocation: sourceLocation)
            for name in names {
                #expect(tests.contains(name), "\(id): no test is named \(name)", sourceLocation: sourceLocation)
            }
        }
        let named = Set(tests.flatMap(identifiers))
        for id in known.sorted() {
            let isTested = run.contains(id) || held[id] != nil || named.contains(id)
            #expect(isTested != (exceptions[id] != nil), "\(file) \(id)", sourceLocation: sourceLocation)
        }
        #expect(Set(run).isSubset(of: known), sourceLocation: sourceLocation)
    }

    /// Returns the identifiers of the cases at the start of a test name.
    package static func identifiers(_ name: String) -> [String] {
        guard let head = name.prefixMatch(of: #/[A-Z]{2}-\d{3}(, [A-Z]{2}-\d{3})*: /#) else { return [] }
        return head.0.matches(of: /[A-Z]{2}-\d{3}/).map { String($0.0) }
    }

    /// Returns the names of all tests of the package, from their sources.
    package static func testNames() throws -> Set<String> {
        var names: Set<String> = []
        for text in try sources() {
            for match in text.matches(of: /func `([^`]+)`\(/) { names.insert(String(match.1)) }
        }
        return names
    }

    /// Returns the sources of all tests of the package.
    package static func sources() throws -> [String] {
        let folder = URL(filePath: #filePath).appending(path: "../..").standardizedFileURL
        return try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }.map {
            try String(contentsOf: folder.appending(path: $0), encoding: .utf8)
        }
    }
}
