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

    private func written(_ format: OutputFormat, _ rows: [[String]], terminal: Bool = false) throws -> String {
        let captured = CapturedConsole(terminal: terminal)
        let writer = format.list([TableColumn("a"), TableColumn("b,c")], captured.console)
        for row in rows { try writer.write(Row(cells: row)) }
        try writer.finish()
        return captured.output.text
    }

    @Test func `values that would part a line stand in quotes`() throws {
        #expect(
            try written(.csv, [["x,y", "say \"hi\""], ["two\nlines", "ü"]])
                == "a,\"b,c\"\r\n\"x,y\",\"say \"\"hi\"\"\"\r\n\"two\nlines\",ü\r\n")
        #expect(try written(.csv, []) == "a,\"b,c\"\r\n")
        #expect(try written(.tsv, [["x\ty", "a\\b\nc"]]) == "a\tb,c\nx\\ty\ta\\\\b\\nc\n")
    }

    @Test(arguments: ["=1+1", "+1 425", "-2", "@x", "\tx", "\rx"]) func `a formula is none`(text: String) throws {
        let line = try written(.csv, [[text, "b"]]).dropFirst("a,\"b,c\"\r\n".count)
        #expect(line.hasPrefix("'" + text) || line.hasPrefix("\"'" + text))
    }

    @Test func `what a terminal shows cannot steer it`() throws {
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
