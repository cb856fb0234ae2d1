import Foundation
import LodgePlatform
import StrictJSON
import Testing

@testable import CommandLineKit

@MainActor struct LongTextTests {
    @Test func `a cell shows at most 4,096 characters`() throws {
        let long = String(repeating: "a", count: 4097)
        #expect(TerminalText.cell(String(long.dropLast())) == String(long.dropLast()))
        #expect(TerminalText.cell(long).count == 4096 && TerminalText.cell(long).hasSuffix("a…"))
        // Escapes and marks count too.
        #expect(TerminalText.cell(String(repeating: "\u{1B}", count: 4096)).count == 4096)
        let marked = String(repeating: "e\u{301}", count: 2000)
        #expect(TerminalText.cell(marked) == marked)
        let hostile = "Ada" + String(repeating: "\u{301}", count: 1_000_000)
        #expect(TerminalText.cell(hostile).unicodeScalars.count == 4096)
    }

    @Test func `a grapheme that is wider than a line is wrapped`() {
        let joined = String(repeating: "\u{0915}\u{094D}", count: 1000)
        let lines = TerminalText.wrapped(joined, to: 20, limit: 6)
        #expect(lines.count == 6)
        #expect(lines.allSatisfy { TerminalText.width($0) <= 20 && !$0.isEmpty }, "\(lines)")
    }

    @Test func `the table and the detail view show the start of a long value`() throws {
        for isTerminal in [true, false] {
            let output = CapturedOutput()
            var terminal = TerminalState()
            terminal.outputIsTerminal = isTerminal
            let console = Console(
                program: "test", output: output, errorOutput: CapturedOutput(), terminal: terminal)
            let long = String(repeating: "x", count: 10_000)
            let table = TableWriter([TableColumn("A"), TableColumn("B")], on: console)
            try table.write([long, "b"])
            try table.finish()
            var detail = Detail()
            detail.add("Name", long)
            try detail.write(to: console)
            try console.flush()
            #expect(output.text.count < 10_000)
            let runs = output.text.split { $0 != "x" }.map(\.count)
            #expect(runs.allSatisfy { $0 <= 4095 } && runs.last == 4095, "\(runs)")
        }
    }

    @Test func `a quote before a combining mark is doubled in CSV`() throws {
        let output = CapturedOutput()
        let console = Console(program: "test", output: output, errorOutput: CapturedOutput())
        try console.write(csv: ["\"\u{301}", "b"])
        #expect(output.text == "\"\"\"\u{301}\",b\r\n")
    }

    @Test(arguments: [
        ("'\u{301}'", "'", "''", "''\u{301}''"), ("aaa", "aa", "b", "ba"), ("", "a", "b", ""), ("ab", "", "c", "ab"),
        ("abc", "abc", "", ""), ("e\u{301}", "e", "x", "x\u{301}"), ("token\u{301}", "token", "***", "***\u{301}"),
    ])
    func `replacingBytes replaces every occurrence`(text: String, part: String, with: String, expected: String) {
        #expect(Array(text.replacingBytes(part, with: with).utf8) == Array(expected.utf8))
    }

    @Test(arguments: ["é", "a", "\u{1F600}", "中"], [0, 1, 2, 3])
    func `a line without an end is split into pieces of whole characters`(character: String, shift: Int) throws {
        let text =
            String(repeating: "x", count: shift) + String(repeating: character, count: 200_000 / character.utf8.count)
        var lines = TerminalText.Lines()
        let taken = lines.take(Data(text.utf8))
        let shown = try #require(taken)
        #expect(shown.count == 3)
        #expect(shown.joined() + (lines.rest() ?? "") == text)
    }

    @Test func `many short lines take linear time`() {
        var lines = TerminalText.Lines()
        let count = 1 << 19
        let taken = lines.take(Data(repeating: 0x0A, count: count))
        #expect(taken?.count == count)
        #expect(lines.rest() == nil)
    }
}

extension Console {
    fileprivate func write(csv cells: [String]) throws {
        struct Row: OutputRecord {
            let cells: [String]
            var json: JSONValue { .null }
        }
        let writer = DelimitedWriter(.comma, nil, on: self)
        try writer.write(Row(cells: cells))
        try writer.finish()
    }
}
