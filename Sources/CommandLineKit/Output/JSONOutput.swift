import StrictJSON

/// Writes a JSON array element by element, so that memory use is constant.
@MainActor package final class JSONArrayWriter: RecordWriter {
    package let console: Console
    private var isEmpty = true
    private var hasEnded = false

    package init(on console: Console) { self.console = console }

    package func write(_ record: some OutputRecord) throws(OutputError) { try write(record.json) }

    package func write(_ element: JSONValue) throws(OutputError) {
        assert(!hasEnded, "an element after the end of its array")
        var bytes = Array((isEmpty ? "[\n  " : ",\n  ").utf8)
        isEmpty = false
        element.write(to: &bytes, .indented, indent: 1)
        try console.write(bytes: bytes)
    }

    /// Closes the array.
    ///
    /// Call it even after an error, so that the output is valid JSON. A second call has no effect.
    package func finish() throws(OutputError) {
        guard !hasEnded else { return }
        hasEnded = true
        try console.write(isEmpty ? "[]\n" : "\n]\n")
        try console.flush()
    }
}

/// Writes one JSON value per line.
@MainActor package final class JSONLinesWriter: RecordWriter {
    package let console: Console

    package init(on console: Console) { self.console = console }

    package func write(_ record: some OutputRecord) throws(OutputError) {
        try console.write { output in
            record.writeLine(to: &output)
            output.append(0x0A)
        }
    }
}

extension Console {
    package func write(_ value: JSONValue) throws(OutputError) {
        var bytes: [UInt8] = []
        value.write(to: &bytes, .indented)
        bytes.append(0x0A)
        try write(bytes: bytes)
    }
}
