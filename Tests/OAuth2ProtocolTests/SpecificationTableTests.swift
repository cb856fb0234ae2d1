import Foundation
import StrictJSON
import Testing

/// Tests that the symbols and tests named in the article Specifications.md exist.
struct SpecificationTableTests {
    /// A row of a table that has a column of symbols.
    struct Row: Sendable, CustomTestStringConvertible {
        /// The cells, by the heading of their column.
        let cells: [String: String]
        /// The module of symbols without a named module.
        let module: String

        var testDescription: String { "\(cells["Section"] ?? "") \(cells["Requirement"] ?? "")" }

        /// Returns the code-quoted names in a cell, each with the text after it.
        func names(_ column: String) -> [(name: String, rest: String)] {
            (cells[column] ?? "").matches(of: /`([^`]+)`([^`]*)/).map { (String($0.1), String($0.2)) }
        }
    }

    static let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    static let rows = rows(
        of: text(package.appending(path: "Sources/OAuth2Protocol/OAuth2Protocol.docc/Specifications.md")))
    /// The declarations in each file, by module.
    static let modules = Dictionary(grouping: Source.all(below: package.appending(path: "Sources")), by: \.module)
        .mapValues { $0.map(\.declarations) }
    static let tests = Source.all(below: package.appending(path: "Tests"))

    static func text(_ file: URL) -> String { (try? String(contentsOf: file, encoding: .utf8)) ?? "" }

    /// Returns the rows of all tables that name symbols.
    static func rows(of article: String) -> [Row] {
        var rows: [Row] = []
        var headings: [String]?
        var module = "OAuth2Protocol"
        for line in article.split(separator: "\n", omittingEmptySubsequences: false) {
            guard line.hasPrefix("|") else {
                headings = nil
                continue
            }
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard let columns = headings else {
                // The heading of a table can name the module of its symbols.
                let named = cells.firstIndex { $0.hasPrefix("Symbol (") }
                module = named.map { String(cells[$0].dropFirst(8).dropLast()) } ?? "OAuth2Protocol"
                headings = named.map { cells[..<$0] + ["Symbol"] + cells[($0 + 1)...] } ?? cells
                continue
            }
            if columns.contains("Symbol"), !line.hasPrefix("|---") {
                rows.append(Row(cells: Dictionary(zip(columns, cells)) { first, _ in first }, module: module))
            }
        }
        return rows
    }

    @Test func `the article contains its tables`() {
        #expect(Self.rows.count > 200)
        #expect(Self.rows.allSatisfy { !$0.names("Symbol").isEmpty })
        #expect(Self.rows.allSatisfy { !$0.names("Test").isEmpty || $0.cells["Checked by"]?.isEmpty == false })
    }

    @Test func `each symbol of the article is declared in its module`() {
        var known: Set<String> = []
        for row in Self.rows {
            for (name, rest) in row.names("Symbol") {
                let module = rest.firstMatch(of: /\((\w+)\)/).map { String($0.1) } ?? row.module
                guard known.insert("\(module) \(name)").inserted else { continue }
                let isDeclared = Symbol(name).isDeclared(in: Self.modules[module] ?? [])
                #expect(isDeclared, "\(row.testDescription): \(name) in \(module)")
            }
        }
        #expect(known.count > 150)
    }

    @Test func `each test of the article exists`() {
        let names = Set(Self.tests.flatMap(\.testNames))
        for row in Self.rows {
            for (name, _) in row.names("Test") {
                let isTest = names.contains(name)
                #expect(isTest, "\(row.testDescription): \(name)")
            }
            for (name, _) in row.names("Checked by") {
                #expect(FileManager.default.fileExists(atPath: Self.package.appending(path: name).path), "\(name)")
            }
        }
    }

    @Test func `each case of the article is in a vector file and no test omits it`() throws {
        let cases = try Cases(below: Self.package.appending(path: "Tests"), tests: Self.tests)
        #expect(cases.known.count > 500 && cases.leftOut.count > 20)
        var count = 0
        for row in Self.rows {
            for (_, rest) in row.names("Test") {
                let named = cases.named(in: rest)
                count += named.count
                for id in named {
                    let isKnown = cases.known.contains(id), isLeftOut = cases.leftOut.contains(id)
                    #expect(isKnown && !isLeftOut, "\(row.testDescription): \(id)")
                }
            }
        }
        #expect(count > 500)
    }

    @Test(arguments: [
        ("Symbl", false), ("Symbol.isDeclared(in:)", true), ("Symbol.isDeclared(at:)", false),
        ("Symbol.isDeclared(in:at:)", false), ("Symbol.init(_:)", true), ("Symbol.init(…)", true),
        ("SpecificationTableTests.Row.names(…)", true), ("Row.names(_:)", false), ("Symbol.names(_:)", false),
        ("SpecificationTableTests.Row.cells", true),
        ("SpecificationTableTests.Row.cell", false), ("Cases.named(in:)", true), ("Symbol.fits(_:)", false),
    ])
    func `a symbol is found only if it is declared`(name: String, isDeclared: Bool) {
        let own = Source(module: "", text: Self.text(URL(filePath: #filePath)))
        #expect(Symbol(name).isDeclared(in: [own.declarations]) == isDeclared)
    }
}

/// A Swift file without its comments.
struct Source: Sendable {
    /// The folder below Sources or Tests.
    let module: String
    let lines: [Substring]

    init(module: String, text: String) {
        self.module = module
        lines = text.split(separator: "\n").filter { !$0.drop { $0 == " " }.hasPrefix("//") }
    }

    static func all(below folder: URL) -> [Source] {
        let paths = (try? FileManager.default.subpathsOfDirectory(atPath: folder.path)) ?? []
        return paths.filter { $0.hasSuffix(".swift") }.sorted().map { path in
            let text = SpecificationTableTests.text(folder.appending(path: path))
            return Source(module: String(path.prefix { $0 != "/" }), text: text)
        }
    }

    var declarations: [Declaration] { lines.indices.compactMap { Declaration(at: $0, of: lines) } }

    /// The names of the test functions.
    var testNames: [String] {
        var names: [String] = []
        var isTest = false
        for line in lines {
            if line.contains("@Test") { isTest = true }
            guard let declaration = line.firstMatch(of: /\bfunc (?:`([^`]+)`)?/) else { continue }
            if isTest, let name = declaration.1 { names.append(String(name)) }
            isTest = false
        }
        return names
    }
}

/// The declaration on one line. The indentation shows its extent.
struct Declaration: Sendable {
    static let types: Set<Substring> = ["struct", "enum", "class", "actor", "protocol", "typealias"]
    private static let members: Set<Substring> = ["extension", "func", "var", "let", "init", "case"]
    private static let modifiers: Set<Substring> = [
        "public", "package", "internal", "private", "fileprivate", "static", "final", "mutating", "nonisolated",
        "indirect", "convenience", "lazy", "weak",
    ]

    let kind: Substring
    /// The name, the names of all cases on the line, or the dotted name of an extended nested type.
    let names: [String]
    /// The labels of the parameters, or `nil` if it is not a function or an initializer.
    let labels: [String]?
    let indentation: Int
    /// The lines between its braces.
    let body: Range<Int>

    init?(at index: Int, of lines: [Substring]) {
        var rest = lines[index].drop { $0 == " " }
        let indentation = lines[index].utf8.count - rest.utf8.count
        func word() -> Substring { rest.prefix { $0 == "@" || $0.isLetter } }
        while word().hasPrefix("@") || Self.modifiers.contains(word()) {
            let modifier = word()
            rest = rest.dropFirst(modifier.count)
            // Private declarations are not symbols, except those with `private(set)`.
            if modifier.hasSuffix("private"), rest.first != "(" { return nil }
            if rest.first == "(" { rest = rest.drop { $0 != ")" }.dropFirst() }
            rest = rest.drop { $0 == " " }
        }
        kind = word()
        guard Self.types.contains(kind) || Self.members.contains(kind) else { return nil }
        self.indentation = indentation
        rest = rest.dropFirst(kind.count).drop { $0 == " " }
        switch kind {
        case "init": names = ["init"]
        case "case": names = Self.parts(rest).map(Self.name)
        default: names = [Self.name(rest)]
        }
        if kind == "init" || kind == "func" {
            let text = ([rest] + lines[(index + 1)...].prefix(8)).joined(separator: "\n")
            labels = Self.parts(text.drop { $0 != "(" }.dropFirst()).map(Self.label)
        } else {
            labels = nil
        }
        let brace = String(repeating: " ", count: indentation) + "}"
        let isOpen = lines[index].hasSuffix("{") || !lines[index].hasSuffix("}")
        let hasMembers = isOpen && (Self.types.contains(kind) || kind == "extension")
        body = (index + 1)..<(hasMembers ? lines[index...].firstIndex { $0 == brace } ?? index + 1 : index + 1)
    }

    private static func name(_ text: some StringProtocol) -> String {
        String(text.drop { $0 == " " || $0 == "`" }.prefix { $0.isLetter || $0.isNumber || "._".contains($0) })
    }

    private static func label(_ parameter: String) -> String {
        String(parameter.drop(while: \.isWhitespace).prefix { !$0.isWhitespace && $0 != ":" })
    }

    /// Returns the parts between commas, until the closing parenthesis.
    private static func parts(_ text: some StringProtocol) -> [String] {
        var parts = [""]
        var depth = 0
        for character in text {
            if character == ")", depth == 0 { break }
            if "([{<".contains(character) { depth += 1 }
            if ")]}".contains(character) || (character == ">" && parts.last?.last != "-") { depth -= 1 }
            if character == ",", depth == 0 { parts.append("") } else { parts[parts.count - 1].append(character) }
        }
        return parts == [""] ? [] : parts
    }
}

/// A symbol in the article's notation: `Type.member(label:label:)`. Trailing dots stand for additional labels.
struct Symbol {
    let path: [String]
    let labels: [String]?
    let hasMoreLabels: Bool

    init(_ text: String) {
        path = text.prefix { $0 != "(" }.split(separator: ".").map(String.init)
        let inside = text.drop { $0 != "(" }.dropFirst().dropLast()
        hasMoreLabels = inside.hasSuffix("…")
        labels = text.contains("(") ? inside.split(separator: ":").map(String.init).filter { $0 != "…" } : nil
    }

    /// Returns whether one of these files declares the symbol in the body or an extension of its type.
    func isDeclared(in files: [[Declaration]]) -> Bool {
        files.contains { declarations(of: path[...], in: $0, files).contains(where: fits) }
    }

    /// Returns the declarations of a name in one file. Another file may declare its type.
    private func declarations(
        of path: ArraySlice<String>, in file: [Declaration], _ files: [[Declaration]]
    ) -> [Declaration] {
        guard let name = path.last else { return [] }
        let owners = path.dropLast()
        guard !owners.isEmpty else {
            return file.filter { $0.indentation == 0 && $0.kind != "extension" && $0.names == [name] }
        }
        let members = file.filter { $0.names.contains(name) }
        let isType = files.contains { other in
            declarations(of: owners, in: other, files).contains { Declaration.types.contains($0.kind) }
        }
        guard !members.isEmpty, isType else { return [] }
        let whole = owners.joined(separator: ".")
        let bodies =
            declarations(of: owners, in: file, files) + file.filter { $0.kind == "extension" && $0.names == [whole] }
        return members.filter { member in
            bodies.contains { $0.body.contains(member.body.lowerBound - 1) && $0.indentation + 4 == member.indentation }
        }
    }

    private func fits(_ declaration: Declaration) -> Bool {
        guard let labels else { return true }
        guard let found = declaration.labels else { return false }
        return hasMoreLabels ? found.count > labels.count && found.starts(with: labels) : found == labels
    }
}

/// The cases of the vector files, and the cases that the tests omit.
struct Cases {
    let known: Set<String>
    let leftOut: Set<String>

    init(below folder: URL, tests: [Source]) throws {
        var known: Set<String> = []
        for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path) where path.hasSuffix(".json") {
            let file = try? JSONValue(parsing: Data(contentsOf: folder.appending(path: path))).object
            for entry in file?["cases"]?.array ?? [] {
                if let id = entry.object?["id"]?.string { known.insert(id) }
            }
        }
        self.known = known
        let lists = tests.flatMap {
            $0.lines.joined(separator: "\n").matches(of: /leftOut(?:: \[String: String\])? = \[([^\]]*)\]/)
        }
        leftOut = Set(lists.flatMap { $0.1.matches(of: /"([A-Z]{2}-\d{3})":/) }.map { String($0.1) })
    }

    /// Returns the cases that `text` names, including the cases in its ranges.
    func named(in text: String) -> [String] {
        text.matches(of: /([A-Z]{2}-\d{3})(?:…([A-Z]{2}-\d{3}))?/).flatMap { match -> [String] in
            let first = String(match.1)
            guard let last = match.2.map(String.init) else { return [first] }
            let between = known.filter { $0.prefix(3) == first.prefix(3) && $0 > first && $0 < last }
            return [first] + between.sorted() + [last]
        }
    }
}
