import StrictJSON
import Testing

@testable import CommandLineKit

@MainActor @Suite struct PagerTests {
    /// A pager that records its input.
    private final class Reader: Pager.Process {
        var text = ""
        var ended = 0
        var status: Int32? = 0
        /// The number of bytes that it accepts before it closes.
        var appetite = Int.max

        func write(_ bytes: [UInt8]) throws(OutputError) {
            guard text.utf8.count + bytes.count <= appetite else { throw .closed }
            text += String(decoding: bytes, as: UTF8.self)
        }

        func finish() -> Int32? {
            ended += 1
            return status
        }
    }

    private let reader = Reader()

    /// Creates a console on a terminal of ten lines with a pager in its environment.
    private func terminal(
        _ environment: [String: String] = ["PAGER": "less"], isTerminal: Bool = true,
        _ options: ConsoleOptions = .init()
    ) -> CapturedConsole {
        let captured = CapturedConsole(terminal: isTerminal, rows: 10, environment: environment, options)
        let reader = reader
        captured.console.startPager = { _, _ in reader }
        return captured
    }

    private func table(_ captured: CapturedConsole, rows: Int) throws {
        let writer = OutputFormat.table.list([TableColumn("N")], captured.console)
        for row in 0..<rows {
            try writer.write(Row(cells: ["row \(row)"]))
            if row % 5 == 4 { try writer.flush() }
        }
        try writer.finish()
    }

    private struct Row: OutputRecord {
        let cells: [String]
        var json: JSONValue { .array(cells.map { .string($0) }) }
    }

    @Test func `a table longer than the screen goes to the pager completely`() throws {
        let captured = terminal()
        try table(captured, rows: 30)
        #expect(captured.output.bytes.isEmpty)
        #expect(reader.text.split(separator: "\n").count == 31 && reader.ended == 1)
        captured.console.note("after")
        #expect(captured.errorOutput.text == "after\n")
    }

    @Test func `a table that fits the screen is written directly`() throws {
        let captured = terminal()
        try table(captured, rows: 8)
        #expect(reader.text.isEmpty && reader.ended == 0)
        #expect(captured.output.text.split(separator: "\n").count == 9)
        try table(captured, rows: 9)
        #expect(reader.text.split(separator: "\n").count == 10, "with the shell prompt, the table has eleven lines")
    }

    @Test(
        arguments: [
            ([:], ConsoleOptions()), (["PAGER": ""], ConsoleOptions()), (["PAGER": "cat"], ConsoleOptions()),
            (["PAGER": "less", "LODGE_PAGER": ""], ConsoleOptions()),
        ] as [([String: String], ConsoleOptions)])
    func `an unset or empty PAGER or cat means no pager`(environment: [String: String], options: ConsoleOptions) throws
    {
        let captured = terminal(environment, options)
        try table(captured, rows: 30)
        #expect(reader.text.isEmpty && captured.output.text.split(separator: "\n").count == 31)
    }

    @Test func `LODGE_PAGER precedes PAGER`() {
        #expect(terminal(["PAGER": "less", "LODGE_PAGER": "most"]).console.pagerCommand == "most")
        #expect(terminal(["PAGER": "less"]).console.pagerCommand == "less")
    }

    @Test func `a pipe, --no-input, --no-pager, --debug and other formats disable the pager`() throws {
        #expect(terminal(isTerminal: false).console.pagerCommand == nil)
        for words in ["me --no-input", "me --no-pager", "me --debug"] {
            #expect(terminal(ConsoleOptions(try parsed(words))).console.pagerCommand == nil, "\(words)")
        }
        let captured = terminal()
        let writer = OutputFormat.csv.list([TableColumn("N")], captured.console)
        for row in 0..<30 { try writer.write(Row(cells: ["row \(row)"])) }
        try writer.finish()
        #expect(reader.text.isEmpty && captured.output.text.split(separator: "\r\n").count == 31)
    }

    private func terminal(_ options: ConsoleOptions) -> CapturedConsole { terminal(["PAGER": "less"], options) }

    private func terminal(_ environment: [String: String], _ options: ConsoleOptions) -> CapturedConsole {
        terminal(environment, isTerminal: true, options)
    }

    @Test func `a long record is paged too, and wrapped lines count by their drawn height`() throws {
        struct Long: OutputRecord {
            var json: JSONValue { .null }
            var detail: Detail {
                var detail = Detail()
                detail.add("Text", String(repeating: "x", count: 80 * 10))
                return detail
            }
        }
        let captured = terminal()
        try OutputFormat.table.show(Long(), captured.console)
        #expect(reader.text.contains("xxx") && reader.ended == 1 && captured.output.bytes.isEmpty)
    }

    @Test func `messages during paging go to the pager`() throws {
        let captured = terminal()
        let writer = OutputFormat.table.list([TableColumn("N")], captured.console)
        for row in 0..<20 { try writer.write(Row(cells: ["row \(row)"])) }
        try writer.flush()
        captured.console.note("one is missing")
        captured.console.showProgress("20 of 40")
        try writer.finish()
        #expect(captured.errorOutput.bytes.isEmpty)
        #expect(reader.text.hasSuffix("row 19\none is missing\n"))
    }

    @Test func `a pager that exits early ends the output without an error`() throws {
        reader.appetite = 100
        let captured = terminal()
        #expect(throws: OutputError.closed) { try table(captured, rows: 5000) }
        #expect(reader.ended == 1)
        try? captured.console.endPaging()
        #expect(captured.output.bytes.isEmpty)
        #expect(reader.ended == 1)
    }

    @Test(arguments: [126, 127] as [Int32], [0, 100])
    func `if the pager cannot start, the table is written directly`(status: Int32, appetite: Int) throws {
        (reader.status, reader.appetite) = (status, appetite)
        let captured = terminal()
        try table(captured, rows: 30)
        #expect(captured.output.text.split(separator: "\n").count == 31)
        let refused = terminal()
        refused.console.startPager = { _, _ in nil }
        try table(refused, rows: 30)
        #expect(refused.output.text.split(separator: "\n").count == 31)
    }

    @Test func `a pager process reads all input and returns its exit status`() throws {
        let ended = try #require(PagerProcess("test \"$LESS\" = FRX && exec cat >/dev/null", environment: [:]))
        try ended.write([UInt8](repeating: 0x61, count: 200_000))
        #expect(ended.finish() == 0 && ended.finish() == 0)
        let missing = try #require(PagerProcess("exec 2>/dev/null; no-such-program", environment: ["PATH": "/bin"]))
        #expect(missing.finish() == 127)
        let isLeft = !PagerProcess.hasTerminal.load(ordering: .relaxed)
        #expect(isLeft)
        #expect(try #require(PagerProcess("kill -9 $$", environment: [:])).finish() == nil)
    }
}
