import Foundation
import LodgePlatform
import StrictJSON
import TestSupport
import Testing

@testable import CommandLineKit

private let suites = SharedFolder.url("suites/text/blns.json") != nil

/// Published test data of other projects: max-mapper/csv-spectrum, minimaxir/big-list-of-naughty-strings and
/// flenniken/utf8tests.
@MainActor @Suite(.enabled(if: suites, "the folder with the published suites does not exist"))
struct PublishedTextTests {
    private struct Row: OutputRecord {
        var cells: [String]
        var json: JSONValue { .array(cells.map { .string($0) }) }
        var detail: Detail {
            var detail = Detail()
            for cell in cells { detail.add("Value", cell) }
            return detail
        }
        var vCard: VCard? { VCard(name: cells.first ?? "") }
    }

    private func bytes(_ path: String) throws -> Data {
        try Data(contentsOf: #require(SharedFolder.url("suites/\(path)")))
    }

    private func output(_ format: OutputFormat, _ columns: [String], _ rows: [[String]], isTerminal: Bool = false)
        throws
        -> [UInt8]
    {
        let sink = CapturedOutput()
        var terminal = TerminalState()
        terminal.outputIsTerminal = isTerminal
        let console = Console(program: "test", output: sink, errorOutput: CapturedOutput(), terminal: terminal)
        let writer = format.list(columns.map { TableColumn($0) }, console)
        for row in rows { try writer.write(Row(cells: row)) }
        try writer.finish()
        return sink.bytes
    }

    /// Reads CSV as RFC 4180 defines it, without code of the product.
    private func table(_ bytes: some Collection<UInt8>) -> [[String]] {
        var rows: [[String]] = []
        var row: [String] = []
        var cell: [UInt8] = []
        var isQuoted = false
        var isEmpty = true
        var rest = Array(bytes)[...]
        func end() {
            row.append(String(decoding: cell, as: UTF8.self))
            cell = []
        }
        while let byte = rest.popFirst() {
            isEmpty = false
            if isQuoted {
                if byte != 0x22 {
                    cell.append(byte)
                } else if rest.first == 0x22 {
                    cell.append(0x22)
                    rest.removeFirst()
                } else {
                    isQuoted = false
                }
                continue
            }
            switch byte {
            case 0x22: isQuoted = true
            case 0x2C: end()
            case 0x0D where rest.first == 0x0A: break
            case 0x0A:
                end()
                rows.append(row)
                row = []
                isEmpty = true
            default: cell.append(byte)
            }
        }
        if !isEmpty {
            end()
            rows.append(row)
        }
        return rows
    }

    /// Published tables whose CSV and JSON differ, with the reason. These tests write and read the rows of the JSON.
    private static let inconsistent = ["location_coordinates.csv": "the file is Latin-1, and has another phone number"]

    @Test func `each published table is unchanged after writing and reading it as CSV`() throws {
        let folder = try #require(SharedFolder.url("suites/csv/csvs"))
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(names.count == 12)
        for name in names {
            let original = table(try bytes("csv/csvs/\(name)"))
            let value = try JSONValue(parsing: bytes("csv/json/\(name.replacing(".csv", with: ".json"))"))
            // A table with one row is a JSON object.
            let expected = (value.array ?? [value]).compactMap(\.object)
            let columns = try #require(original.first)
            let rows = expected.map { object in columns.map { object[$0]?.string ?? "" } }
            // Check the reader of this test with the published file.
            if Self.inconsistent[name] == nil { #expect(Array(original.dropFirst()) == rows, "\(name)") }
            #expect(table(try output(.csv, columns, rows)) == [columns] + rows, "\(name)")
        }
    }

    @Test func `machine-readable formats keep each naughty string, and terminal output escapes it`() throws {
        let strings = try #require(try JSONValue(parsing: bytes("text/blns.json")).array).compactMap(\.string)
        #expect(strings.count == 515)
        let rows = strings.map { [$0, "b"] }
        let json = try JSONValue(parsing: output(.json, ["A", "B"], rows))
        #expect(json.array?.compactMap { $0.array?.first?.string } == strings)
        let lines = try output(.jsonLines, ["A", "B"], rows).split(separator: 0x0A)
        #expect(try lines.map { try JSONValue(parsing: $0).array?.first?.string } == strings)
        let csv = table(try output(.csv, ["A", "B"], rows)).dropFirst().map { $0[0] }
        #expect(csv.count == strings.count)
        // A leading apostrophe may protect a formula.
        for (cell, string) in zip(csv, strings) { #expect(cell.filter { $0 != "'" } == string.filter { $0 != "'" }) }
        for format in [OutputFormat.table, .csv, .tsv, .vCard, .json, .jsonLines] {
            let bytes = try output(format, ["A", "B"], rows, isTerminal: true)
            let text = try #require(String(validating: bytes, as: UTF8.self))
            let harmful = text.unicodeScalars.filter { scalar in
                switch scalar.value {
                case 0x09, 0x0A, 0x0D: false
                case 0..<0x20, 0x7F..<0xA0, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
                default: false
                }
            }
            #expect(harmful.isEmpty, "\(format)")
        }
        for string in strings {
            #expect(TerminalText.width(TerminalText.truncated(string.visible, to: 20)) <= 20)
            for line in VCard(name: string).text.utf8.split(separator: 0x0A) { #expect(line.count <= 76) }
        }
    }

    @Test func `valid UTF-8 is read, and invalid UTF-8 is rejected`() throws {
        let text = String(decoding: try bytes("text/utf8tests.txt"), as: UTF8.self)
        var count = (valid: 0, invalid: 0)
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            let parts = line.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
            guard parts.count >= 3 else { continue }
            let isHexadecimal = parts[1].hasSuffix("hex")
            let value = parts[2].trimmingCharacters(in: .whitespaces)
            let digits = Array(value.filter { $0 != " " })
            let bytes =
                isHexadecimal
                ? stride(from: 0, to: digits.count - 1, by: 2).compactMap {
                    UInt8(String(digits[$0...($0 + 1)]), radix: 16)
                }
                : Array(value.utf8)
            // Control characters must be escaped in JSON.
            guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x22 && $0 != 0x5C }) else { continue }
            let json = try? JSONValue(parsing: [0x22] + bytes + [0x22])
            if parts[1].trimmingCharacters(in: .whitespaces).hasPrefix("valid") {
                count.valid += 1
                #expect(json?.string.map { Array($0.utf8) } == bytes, "\(parts[0])")
            } else {
                count.invalid += 1
                #expect(json == nil, "\(parts[0])")
            }
        }
        #expect(count.valid > 40 && count.invalid > 80, "\(count)")
    }
}
