/// Shows output in the user's pager if it is longer than the screen.
///
/// Buffers output until it fills the screen. If the user quits the pager early, writes fail like those to a closed
/// pipe. If the pager cannot start, the output is written directly.
@MainActor package final class Pager: OutputSink {
    /// The process of a pager.
    @MainActor package protocol Process: AnyObject {
        func write(_ bytes: [UInt8]) throws(OutputError)
        /// Closes the input, waits for the exit, and returns the exit status, or `nil` if a signal ended the process.
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
    /// The output that the pager may not have read. A pipe holds at most this much.
    private var unread: [UInt8] = []
    private static let pipeLimit = 64 * 1024
    private var lines = 0
    private var column = 0

    /// Creates a pager for an output. It is started only if the output exceeds the size of the terminal.
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
            // The shell prompt needs one line.
            guard lines >= rows else { return }
            guard let process = start() else { return try writeThrough() }
            state = .paging(process)
            let held = unread
            unread = []
            try page(held, process)
        }
    }

    /// Finishes the output: writes the buffer, or waits until the user quits the pager.
    package func finish() throws(OutputError) {
        guard case .paging(let process) = state else { return try writeThrough() }
        let couldStart = Self.couldStart(process.finish())
        if couldStart { unread = [] }
        try writeThrough()
    }

    /// Returns whether the shell could start the program, according to its exit status.
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

    /// Counts lines on the screen.
    ///
    /// A line wider than the screen counts several times; each character counts as one column.
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
