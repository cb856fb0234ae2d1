import StrictJSON
import Testing

@testable import CommandLineKit

@MainActor @Suite struct FormatTests {
    private struct Row: OutputRecord {
        var cells: [String]
        var json: JSONValue { .array(cells.map { .string($0) }) }
        var vCard: VCard? {
            var card = VCard(name: cells.first ?? "")
            card.familyName = cells.last
            card.add("TITLE", cells.last)
            return card
        }
    }

    private func written(
        _ format: OutputFormat, _ rows: [[String]], terminal: Bool = false, isRaw: Bool = false
    ) throws -> String {
        let captured = CapturedConsole(terminal: terminal)
        captured.console.options.writesRawCSV = isRaw
        let writer = format.list([TableColumn("a"), TableColumn("b,c")], captured.console)
        for row in rows { try writer.write(Row(cells: row)) }
        try writer.finish()
        return captured.output.text
    }

    @Test func `CSV and TSV quote or escape separators and line ends`() throws {
        #expect(
            try written(.csv, [["x,y", "say \"hi\""], ["two\nlines", "ü"]])
                == "a,\"b,c\"\r\n\"x,y\",\"say \"\"hi\"\"\"\r\n\"two\nlines\",ü\r\n")
        #expect(try written(.csv, []) == "a,\"b,c\"\r\n")
        #expect(try written(.tsv, [["x\ty", "a\\b\nc"]]) == "a\tb,c\nx\\ty\ta\\\\b\\nc\n")
    }

    @Test(arguments: [
        ("=1+1", "'=1+1"), ("+SUM(A1)", "'+SUM(A1)"), ("-2", "'-2"), ("@x", "'@x"), ("\tx", "\"'\tx\""),
        ("\rx", "\"'\rx\""),
        ("\nx", "\"'\nx\""), ("\n=x", "\"'\n'=x\""), ("Ada\n=1+1", "\"Ada\n'=1+1\""), ("Ada\r\n+x", "\"Ada\r\n'+x\""),
        ("\u{FF1D}1", "'\u{FF1D}1"), ("\u{FF0B}1", "'\u{FF0B}1"), ("\u{FF0D}1", "'\u{FF0D}1"),
        ("\u{FF20}x", "'\u{FF20}x"),
        ("  =1", "'  =1"), (";=1", "\"';=1\""), ("\u{200B}=1", "'\u{200B}=1"), ("Ada;=1", "\"Ada;=1\""),
        ("+1 425 555 0100", "+1 425 555 0100"), ("+44 (0)20-7946.0958 x12", "+44 (0)20-7946.0958 x12"),
        ("+1 425 555 0100 ext. 7", "+1 425 555 0100 ext. 7"), ("+1|cmd", "'+1|cmd"), ("a=b", "a=b"),
        ("R&D - x", "R&D - x"),
    ])
    func `CSV guards formulas with an apostrophe, except raw CSV and phone numbers`(text: String, cell: String) throws {
        #expect(try written(.csv, [[text, "b"]]) == "a,\"b,c\"\r\n\(cell),b\r\n")
        let raw = cell.replacing("'", with: "")
        #expect(try written(.csv, [[text, "b"]], isRaw: true) == "a,\"b,c\"\r\n\(raw),b\r\n")
    }

    @Test(arguments: [true, false]) func `TSV adds no apostrophe and escapes values once`(isTerminal: Bool) throws {
        let written = try written(.tsv, [["=1+1", "x\ty"]], terminal: isTerminal)
        #expect(written == "a\tb,c\n=1+1\tx\\ty\n")
    }

    @Test func `formats escape control characters on a terminal`() throws {
        let evil = "\u{1B}]0;x\u{7}\u{202E}"
        for format in [OutputFormat.csv, .tsv, .vCard, .jsonLines] {
            let text = try written(format, [[evil, evil]], terminal: true)
            #expect(!text.unicodeScalars.contains { $0 == "\u{1B}" || $0 == "\u{7}" || $0 == "\u{202E}" })
        }
    }

    @Test func `a vCard is escaped and folded`() throws {
        let long = String(repeating: "李", count: 60)
        let text = try written(.vCard, [["A;B,C\\D\nE", long]])
        #expect(text.contains("FN:A\\;B\\,C\\\\D\\nE\r\n"))
        #expect(text.split(separator: "\r\n").allSatisfy { $0.utf8.count <= 75 })
        #expect(text.replacing("\r\n ", with: "").contains("TITLE:\(long)\r\n"))
        #expect(text.hasSuffix("END:VCARD\r\n"))
    }
}
