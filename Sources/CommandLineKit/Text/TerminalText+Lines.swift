import LodgePlatform

extension TerminalText {
    /// A splitter of chunks into lines, with invisible characters escaped.
    package struct Lines {
        private var bytes: [UInt8] = []
        /// The maximum size of a line in bytes. A longer line is split.
        private static let maximumLine = 64 * 1024

        package init() {}

        /// Adds a chunk. Returns the lines that are now complete, or `nil` if they are not UTF-8 or if a byte is NUL.
        package mutating func take(_ chunk: Data) -> [String]? {
            bytes += chunk
            var lines: [String] = []
            var start = 0
            defer { bytes.removeFirst(start) }
            while let end = lineEnd(from: start) {
                var line = bytes[start..<end]
                let next = bytes[end] == 0x0A ? end + 1 : end
                if line.last == 0x0D { line.removeLast() }
                guard let text = String(validating: line, as: UTF8.self), !text.utf8.contains(0) else { return nil }
                lines.append(Self.shown(text))
                start = next
            }
            return bytes[start...].contains(0) ? nil : lines
        }

        /// Returns the index of the next line feed, or the last character boundary within the maximum size.
        ///
        /// Returns `nil` if the line is not complete.
        private func lineEnd(from start: Int) -> Int? {
            let limit = start + Self.maximumLine
            if let end = bytes[start..<min(limit + 1, bytes.count)].firstIndex(of: 0x0A) { return end }
            guard limit < bytes.count else { return nil }
            return ((limit - 3)...limit).last { bytes[$0] & 0xC0 != 0x80 } ?? limit
        }

        /// Returns the text of the incomplete last line, or `nil` if it is empty.
        package func rest() -> String? { bytes.isEmpty ? nil : Self.shown(String(decoding: bytes, as: UTF8.self)) }

        /// Returns the line with invisible characters escaped, except tabs, which are part of the layout.
        private static func shown(_ line: String) -> String {
            line.split(separator: "\t", omittingEmptySubsequences: false).map { String($0).visible }.joined(
                separator: "\t")
        }
    }
}
