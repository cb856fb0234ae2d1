import Foundation
import Testing

@testable import CommandLineKit
@testable import lodge

/// The documented environment variables are the variables that the program reads.
@Suite struct EnvironmentTests {
    private static let sources = URL(filePath: #filePath).deletingLastPathComponent().appending(
        path: "../../../Sources"
    ).standardized

    /// The variables that the help lists.
    private var documented: Set<String> {
        Set(
            commandSyntax.variables.map(\.name)
                + commandSyntax.reference.variables.flatMap { $0.name.components(separatedBy: ", ") })
    }

    /// Returns the string literals of Swift and C sources that look like variable names, except the literals of the help.
    private func literals() throws -> [String: Set<String>] {
        var found: [String: Set<String>] = [:]
        let files = try #require(FileManager.default.enumerator(at: Self.sources, includingPropertiesForKeys: nil))
        for case let file as URL in files where ["swift", "h", "c"].contains(file.pathExtension) {
            guard file.lastPathComponent != "HelpPages.swift" else { continue }
            let text = try String(contentsOf: file, encoding: .utf8)
            for match in text.matches(of: /"([A-Z][A-Z0-9_]+)"/) {
                found[String(match.1), default: []].insert(file.lastPathComponent)
            }
        }
        return found
    }

    @MainActor @Test func `the sources contain every documented variable`() throws {
        let literals = try literals()
        let options = Set(commandSyntax.variables.map(\.name))
        // Console+Screen.swift derives this name from the program's name.
        for name in documented.subtracting(options).subtracting(["LODGE_PAGER"]) {
            #expect(literals[name] != nil, "\(name) is not read")
        }
        let terminal = CapturedConsole(terminal: true, environment: ["LODGE_PAGER": "lodge-pager", "PAGER": "pager"])
        #expect(terminal.console.pagerCommand == "lodge-pager")
    }

    @Test func `the help documents every variable that the sources read`() throws {
        let text = try sourcesThatReadTheEnvironment()
        let read = Set(
            (text.matches(of: /environment\[\s*"([A-Za-z0-9_]+)"/).map { $0.1 }
                + text.matches(of: /getenv\("([A-Za-z0-9_]+)"\)/).map { $0.1 }
                + text.matches(of: /\bhas\("([A-Z0-9_]+)"\)/).map { $0.1 }
                + text.matches(of: /"(LODGE_[A-Z0-9_]+)"/).map { $0.1 }).map(String.init))
        #expect(read.count > 10)
        // The launcher passes it to the program, which removes it.
        for name in read.subtracting(["LODGE_LAUNCHED"]) {
            #expect(documented.contains(name.uppercased()), "\(name) is not documented")
        }
    }

    @Test func `help, manual page and documentation list the same variables`() {
        let help = HelpText(syntax: commandSyntax).text(.page("environment"))
        let manual = ManualPage(syntax: commandSyntax, date: "", chain: [commandSyntax.root]).text
        let document = ReferencePage.all(commandSyntax).first { $0.name == "lodge-help-environment.md" }?.text ?? ""
        for name in documented {
            #expect(help.contains(name), "\(name)")
            #expect(manual.contains(name), "\(name)")
            #expect(document.contains(name), "\(name)")
        }
        let named = Set(help.matches(of: /LODGE_[A-Z_]+/).map { String($0.0) })
        #expect(named.isSubset(of: documented), "\(named.subtracting(documented))")
    }

    private func sourcesThatReadTheEnvironment() throws -> String {
        var all = ""
        let files = try #require(FileManager.default.enumerator(at: Self.sources, includingPropertiesForKeys: nil))
        for case let file as URL in files where ["swift", "h", "c"].contains(file.pathExtension) {
            guard file.lastPathComponent != "HelpPages.swift" else { continue }
            all += try String(contentsOf: file, encoding: .utf8)
        }
        return all
    }
}
