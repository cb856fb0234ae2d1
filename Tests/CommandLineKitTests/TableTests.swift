import StrictJSON
import Testing

@testable import CommandLineKit

@Suite @MainActor struct TableTests {
    private let columns = [
        TableColumn("NAME"), TableColumn("MAIL", .keep), TableColumn("TITLE"), TableColumn("PHONE", .keep),
    ]
    private let rows = [
        ["Ada Lovelace", "ada@contoso.com", "Engineer", "+1 425 555 0100"],
        ["李小龍", "li@contoso.com", "", ""],
        ["Zoë \u{202E}x\ty", "zoe@contoso.com", "👩\u{200D}💻 Lead"],
    ]

    private func table(_ captured: CapturedConsole) throws -> [String] {
        let writer = TableWriter(columns, on: captured.console)
        for row in rows { try writer.write(row) }
        try writer.finish()
        return captured.output.text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    @Test func `columns are aligned by display width on a terminal`() throws {
        #expect(
            try table(CapturedConsole(terminal: true))
                == [
                    "NAME              MAIL             TITLE     PHONE",
                    "Ada Lovelace      ada@contoso.com  Engineer  +1 425 555 0100",
                    "李小龍            li@contoso.com",
                    #"Zoë \u{202E}x\ty  zoe@contoso.com  "# + "👩\u{200D}💻 Lead",
                    "",
                ])
    }

    @Test func `a pipe gets tabs, headings and complete values`() throws {
        #expect(
            try table(CapturedConsole(columns: 20)) == [
                "NAME\tMAIL\tTITLE\tPHONE", "Ada Lovelace\tada@contoso.com\tEngineer\t+1 425 555 0100",
                "李小龍\tli@contoso.com\t\t", "Zoë \\u{202E}x\\ty\tzoe@contoso.com\t👩\u{200D}💻 Lead\t", "",
            ])
    }

    @Test(arguments: 1...70) func `no line is wider than the terminal`(width: Int) throws {
        for line in try table(CapturedConsole(terminal: true, columns: width)) {
            #expect(TerminalText.width(line) <= width, "\(line)")
        }
    }

    @Test func `mail addresses and phone numbers are complete at any width, and names shrink first`() throws {
        let lines = try table(CapturedConsole(terminal: true, columns: 50))
        #expect(lines[1] == "Ada Lo…  ada@contoso.com  Engine…  +1 425 555 0100", "\(lines)")
        // With fewer columns, the row continues on the next line.
        let narrow = try table(CapturedConsole(terminal: true, columns: 34))
        #expect(
            narrow[1...3] == ["Ada…  ada@contos  Eng…  +1 425 555", "      o.com             0100", "李…   li@contoso"],
            "\(narrow)")
    }

    @Test func `a sentence wraps at its spaces before other columns shrink`() throws {
        let captured = CapturedConsole(terminal: true, columns: 40)
        let writer = TableWriter([TableColumn("CHECK"), TableColumn("REMEDY", .wrap)], on: captured.console)
        try writer.write(["the clock", "set the clock of this machine with timedatectl"])
        try writer.finish()
        #expect(
            captured.output.text
                == "CHECK      REMEDY\nthe clock  set the clock of this machine\n           with timedatectl\n")
    }

    @Test(
        arguments: [
            ([10, 10, 10], [.cut, .cut, .cut], 34, [10, 10, 10]),
            ([10, 10, 10], [.cut, .cut, .cut], 33, [10, 10, 9]),
            ([4, 40, 40], [.cut, .cut, .cut], 48, [4, 20, 20]),
            ([4, 40, 40], [.cut, .cut, .cut], 49, [4, 21, 20]),
            ([40, 8, 40], [.cut, .cut, .cut], 34, [11, 8, 11]), ([20, 30], [.cut, .keep], 45, [13, 30]),
            ([20, 30], [.cut, .keep], 30, [4, 24]), ([20, 20, 20], [.cut, .cut, .cut], 11, [5, 4]),
            ([20], [.cut], 3, [3]), ([20], [.keep], 3, [3]), ([], [], 80, []), ([0, 0], [.cut, .cut], 0, [0]),
        ] as [([Int], [TableColumn.Overflow], Int, [Int])])
    func `the widest columns shrink to the same width`(
        natural: [Int], overflows: [TableColumn.Overflow], available: Int, widths: [Int]
    ) {
        #expect(TableLayout(natural: natural, overflows, available: available).widths == widths)
    }

    @Test func `a pipe gets rows immediately, and on a terminal the first rows decide the widths`() throws {
        let pipe = CapturedConsole()
        let piped = TableWriter([TableColumn("A"), TableColumn("B")], on: pipe.console)
        try piped.write(["1", "2"])
        try pipe.console.flush()
        #expect(pipe.output.text == "A\tB\n1\t2\n")

        let terminal = CapturedConsole(terminal: true)
        let shown = TableWriter([TableColumn("A"), TableColumn("B")], on: terminal.console)
        try shown.write(["123", "x"])
        try shown.flush()
        #expect(terminal.output.text == "A    B\n123  x\n")
        try shown.write(["12345", "y"])
        try shown.finish()
        #expect(terminal.output.text == "A    B\n123  x\n12…  y\n")
    }

    @Test func `an empty table prints its headings only in a pipe`() throws {
        let (pipe, terminal) = (CapturedConsole(), CapturedConsole(terminal: true))
        try TableWriter(columns, on: pipe.console).finish()
        try TableWriter(columns, on: terminal.console).finish()
        #expect(pipe.output.text == "NAME\tMAIL\tTITLE\tPHONE\n")
        #expect(terminal.output.text.isEmpty)
    }

    @Test func `headings are bold if color is enabled`() throws {
        let captured = CapturedConsole(terminal: true, environment: ["TERM": "xterm"])
        let writer = TableWriter([TableColumn("A")], on: captured.console)
        try writer.write(["1", "dropped"])
        try writer.finish()
        #expect(captured.output.text == "\u{1B}[1mA\u{1B}[0m\n1\n")
    }

    @Test func `a detail is aligned on a terminal and has a label on each line in a pipe`() throws {
        var detail = Detail()
        detail.add("Name", "Ada\u{1B} Lovelace")
        detail.add("Mail", nil)
        detail.add("Office", "")
        detail.add("Phones", ["+1", "+2\n+3"])
        detail.add("Groups", [])
        let (pipe, terminal) = (CapturedConsole(), CapturedConsole(terminal: true))
        try detail.write(to: pipe.console)
        try detail.write(to: terminal.console)
        try pipe.console.flush()
        try terminal.console.flush()
        #expect(pipe.output.text == "Name\tAda\\u{1B} Lovelace\nPhones\t+1\nPhones\t+2\\n+3\n")
        #expect(terminal.output.text == "Name:    Ada\\u{1B} Lovelace\nPhones:  +1\n         +2\\n+3\n")
    }

    @Test func `a JSON array is written element by element and is valid JSON`() throws {
        let captured = CapturedConsole()
        let writer = JSONArrayWriter(on: captured.console)
        try writer.write(["mail": "a\u{202E}b", "phones": [1, 2]])
        try writer.write(nil)
        try writer.finish()
        try writer.finish()
        #expect(
            captured.output.text == """
                [
                  {
                    "mail": "a\\u202eb",
                    "phones": [
                      1,
                      2
                    ]
                  },
                  null
                ]

                """)
        #expect(try JSONValue(parsing: captured.output.text).array?.count == 2)

        let empty = CapturedConsole()
        try JSONArrayWriter(on: empty.console).finish()
        #expect(empty.output.text == "[]\n")

        let object = CapturedConsole()
        try object.console.write(["a": 1] as JSONValue)
        try object.console.flush()
        #expect(object.output.text == "{\n  \"a\": 1\n}\n")
    }

    private struct StoredUser: OutputRecord {
        var name: String
        var cells: [String] { [name] }
        var detail: Detail {
            var detail = Detail()
            detail.add("Name", name)
            return detail
        }
        var json: JSONValue { ["displayName": .string(name)] }
    }

    @Test(arguments: [
        ("table", "NAME\nAda\n", "Name\tAda\n"),
        ("json", "[\n  {\n    \"displayName\": \"Ada\"\n  }\n]\n", "{\n  \"displayName\": \"Ada\"\n}\n"),
        ("jsonl", "{\"displayName\":\"Ada\"}\n", "{\"displayName\":\"Ada\"}\n"),
        ("csv", "NAME\r\nAda\r\n", "Ada\r\n"), ("tsv", "NAME\nAda\n", "Ada\n"),
    ])
    func `a record is written in the selected format`(name: String, list: String, one: String) throws {
        let format = OutputFormat(try parsed("me --output " + name))
        let (many, single) = (CapturedConsole(), CapturedConsole())
        let writer = format.list([TableColumn("NAME")], many.console)
        try writer.write(StoredUser(name: "Ada"))
        try writer.flush()
        try writer.finish()
        try format.show(StoredUser(name: "Ada"), single.console)
        try single.console.flush()
        #expect(many.output.text == list)
        #expect(single.output.text == one)
    }

    @Test func `the default format is the table, and an unknown format is nil`() throws {
        #expect(OutputFormat(try parsed("me")) == .table)
        #expect(OutputFormat(rawValue: "xml") == nil)
    }
}
