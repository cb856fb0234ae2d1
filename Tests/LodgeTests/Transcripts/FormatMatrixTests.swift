import Foundation
import StrictJSON
import Testing

@testable import CommandLineKit
@testable import lodge

/// Tests every command with every format: the output has the format, or the command rejects it.
@MainActor @Suite struct FormatMatrixTests {
    private func signedIn() async throws -> Terminal {
        let terminal = try await Terminal()
        #expect(await terminal.run("sign-in").status == 0)
        return terminal
    }

    /// The commands whose results are records.
    nonisolated private static let things = [
        ["accounts"], ["accounts", "show", "ada@contoso.example"], ["status"], ["providers"],
        ["providers", "show", "local"], ["providers", "show", "github"], ["providers", "check", "local"], ["config"],
        ["doctor", "--offline"], ["me"], ["show", "ada@contoso.example"], ["search", "ada"], ["lookup"],
    ]
    /// The commands that print sentences or a value for another program.
    nonisolated private static let sentences = [
        ["sign-in"], ["sign-out"], ["accounts", "use", "ada@contoso.example"],
        ["accounts", "rename", "ada@contoso.example", "work"], ["accounts", "remove", "x"],
        ["token"], ["sync"],
        ["providers", "add", "x"], ["providers", "remove", "x"], ["config", "get", "store"], ["config", "path"],
        ["config", "set", "key-custody", "key-file"], ["serve"], ["credential", "keyring", "get", "unknown.example"],
    ]
    /// The commands whose output another program defines.
    nonisolated private static let texts = [
        ["accounts", "export", "--reveal-secrets"], ["exec", "true"], ["credential", "git", "get"],
        ["credential", "git", "store"], ["credential", "git", "erase"], ["credential", "docker", "list"],
        ["credential", "cargo"], ["credential", "google"], ["credential", "oidc-agent"],
        ["credential", "aws", "arn:aws:iam::123456789012:role/reader"], ["demo"], ["completion", "bash"],
    ]

    @Test(arguments: things) func `commands with records support every record format`(words: [String]) async throws {
        let terminal = try await signedIn()
        let input = words == ["lookup"] ? "ada@contoso.example\nli.ming@contoso.example\n" : ""
        let table = await terminal.run(words: words, input: input)
        #expect(table.status == 0, "\(table.errors)")
        #expect(table.output.hasSuffix("\n") && !table.output.contains("\u{1B}"))

        let json = await terminal.run(words: words + ["--output=json"], input: input)
        #expect(json.status == 0, "\(json.errors)")
        let value = try JSONValue(parsing: json.output)
        let isList = [["accounts"], ["providers"], ["config"], ["search", "ada"], ["lookup"]].contains(words)
        #expect(!isList || value.array != nil)
        #expect(!["me", "show", "status"].contains(words[0]) || value.object != nil)

        let lines = await terminal.run(words: words + ["-o", "jsonl"], input: input).lines
        #expect(!lines.isEmpty)
        for line in lines { #expect(try JSONValue(parsing: line).object != nil, "\(line)") }
        if let list = value.array { #expect(list.count == lines.count) }

        let csv = await terminal.run(words: words + ["-ocsv"], input: input).output
        let rows = Self.rows(csv)
        #expect(!rows.isEmpty && csv.hasSuffix("\r\n"), "\(csv)")
        #expect(rows.allSatisfy { $0.count == rows[0].count && rows[0].count > 1 }, "\(csv)")

        let tsv = await terminal.run(words: words + ["--output", "tsv"], input: input).output
        let cells = tsv.split(separator: "\n").map { $0.split(separator: "\t", omittingEmptySubsequences: false).count }
        #expect(cells.count == rows.count && Set(cells).count == 1, "\(tsv)")

        let cards = await terminal.run(words: words + ["-o", "vcard"], input: input)
        if ["me", "show", "search", "lookup"].contains(words[0]) {
            #expect(cards.status == 0 && cards.output.hasPrefix("BEGIN:VCARD\r\n"), "\(cards.errors)")
        } else {
            #expect(cards.status == 2 && cards.output.isEmpty && cards.errors.contains("vCards are for users"))
        }
    }

    /// Returns the values of CSV (RFC 4180 section 2).
    private static func rows(_ text: String) -> [[String]] {
        var rows: [[String]] = []
        var row = [""]
        var isQuoted = false
        var rest = Substring(text)
        while let character = rest.popFirst() {
            switch character {
            case "\"" where isQuoted && rest.first == "\"": row[row.count - 1].append(rest.removeFirst())
            case "\"": isQuoted.toggle()
            case "," where !isQuoted: row.append("")
            case "\r\n" where !isQuoted:
                rows.append(row)
                row = [""]
            default: row[row.count - 1].append(character)
            }
        }
        return rows
    }

    @Test(arguments: sentences) func `a command rejects an option for a format that it does not support`(
        words: [String]
    ) async throws {
        let terminal = try await Terminal()
        let refused = await terminal.run(words: words + ["-o", "csv"])
        #expect(refused.status == 2 && refused.output.isEmpty)
        let name = words.prefix { $0 != "x" && !$0.hasPrefix("-") }.first ?? ""
        #expect(refused.errors.hasPrefix("lodge: \(name)"), "\(refused.errors)")
        #expect(refused.errors.contains("has no format csv: it has table or json\nhint: lodge help formats\n"))
    }

    @Test(arguments: texts) func `a command that prints text rejects every other format`(words: [String]) async throws {
        let terminal = try await Terminal()
        for format in OutputFormat.names where format != "table" {
            let refused = await terminal.run(words: words + ["-o", format])
            #expect(refused.status == 2 && refused.output.isEmpty)
            let message = refused.errors
            #expect(
                message.contains("has no format \(format)") && message.contains("it prints only text"), "\(message)")
        }
    }

    @Test func `LODGE_OUTPUT applies to commands that support the format`() async throws {
        let terminal = try await signedIn()
        terminal.set("LODGE_OUTPUT", "csv")
        #expect(await terminal.run("token").status == 0)
        #expect(await terminal.run("accounts").output.contains("\r\n"))
        terminal.set("LODGE_OUTPUT", "json")
        let error = await terminal.run("search", "zzz", "--account", "nobody")
        let object = try JSONValue(parsing: error.errors).object?["error"]?.object
        #expect(error.status == 3 && object?["status"] == 3)
        terminal.set("LODGE_OUTPUT", "yaml")
        let wrong = await terminal.run("token")
        #expect(wrong.status == 2 && wrong.errors.contains(#"LODGE_OUTPUT cannot be "yaml""#))
    }

    @Test func `a search without matches is an empty list in each format, with status 3`() async throws {
        let terminal = try await signedIn()
        for (format, empty) in [
            ("table", "NAME\tMAIL\tTITLE\tPHONE\n"), ("json", "[]\n"), ("jsonl", ""), ("csv", "mail\r\n"),
            ("tsv", "mail\n"), ("vcard", ""),
        ] {
            let words = ["search", "zzz", "-o", format] + (format == "table" ? [] : ["--fields", "mail"])
            let found = await terminal.run(words: words)
            #expect(found.status == 3 && found.output == empty, "\(format)")
            #expect(found.errors.contains("starts with \"zzz\""))
            let quiet = await terminal.run(words: words + ["--quiet"])
            #expect(quiet.status == 3 && quiet.errors.isEmpty)
        }
    }
}
