/// Shows output in the user's pager, if it is longer than the screen.
///
/// It holds the output back until it fills the screen. A pager that is left early is a closed reader: the writing ends quietly.
/// If the pager cannot be started, the output is written as it is.
@MainActor package final class Pager: OutputSink {
    /// A program that reads what is written to it.
    @MainActor package protocol Process: AnyObject {
        func write(_ bytes: [UInt8]) throws(OutputError)
        /// Ends its input, waits for its end, and gives its exit status; nil where a signal ended it.
        func finish() -> Int32?
    }

    private enum State {
        case holding
        case paging(any Process)
        case writingThrough
    }

    private let output: any OutputSink
    private let rows: Int
    private let columns: Int
    private let start: @MainActor () -> (any Process)?
    private var state = State.holding
    /// What no pager has certainly read. A pipe takes at most this much from a program that reads nothing.
    private var unread: [UInt8] = []
    private static let pipeLimit = 64 * 1024
    private var lines = 0
    private var column = 0

    /// Creates a pager in front of this output. The size of the terminal decides whether it is needed.
    package init(
        before output: any OutputSink, _ terminal: TerminalState, start: @escaping @MainActor () -> (any Process)?
    ) {
        self.output = output
        rows = terminal.rows
        columns = max(1, terminal.columns)
        self.start = start
    }

    package func write(_ bytes: [UInt8]) throws(OutputError) {
        switch state {
        case .writingThrough: try output.write(bytes)
        case .paging(let process): try page(bytes, process)
        case .holding:
            unread += bytes
            count(bytes)
            // The prompt of the shell needs a line too.
            guard lines >= rows else { return }
            guard let process = start() else { return try writeThrough() }
            state = .paging(process)
            let held = unread
            unread = []
            try page(held, process)
        }
    }

    /// Ends the answer: writes what was held back, or waits until the person has left the pager.
    package func finish() throws(OutputError) {
        guard case .paging(let process) = state else { return try writeThrough() }
        let couldStart = Self.couldStart(process.finish())
        if couldStart { unread = [] }
        try writeThrough()
    }

    /// Shells say with these numbers that there is no such program, or that it cannot be run.
    private static func couldStart(_ status: Int32?) -> Bool { status != 126 && status != 127 }

    private func page(_ bytes: [UInt8], _ process: any Process) throws(OutputError) {
        if unread.count <= Self.pipeLimit { unread += bytes }
        do throws(OutputError) {
            try process.write(bytes)
        } catch {
            guard Self.couldStart(process.finish()) else { return try writeThrough() }
            (state, unread) = (.writingThrough, [])
            throw error
        }
    }

    private func writeThrough() throws(OutputError) {
        let held = unread
        (state, unread) = (.writingThrough, [])
        if !held.isEmpty { try output.write(held) }
    }

    /// Counts the lines of the screen. A line longer than the screen is wide takes several; letters are counted one each.
    private func count(_ bytes: [UInt8]) {
        for byte in bytes where byte & 0xC0 != 0x80 {
            if byte == 0x0A {
                (lines, column) = (lines + 1, 0)
            } else if column == columns {
                (lines, column) = (lines + 1, 1)
            } else {
                column += 1
            }
        }
    }
}
