import Platform

extension TerminalText {
    /// Splits a text that arrives in pieces into visible lines.
    package struct Lines {
        private var bytes: [UInt8] = []
        /// A line that has no end is shown in pieces of this many bytes.
        private static let maximumLine = 64 * 1024

        package init() {}

        /// Returns the lines that are complete with these bytes, or `nil` if they are not text.
        package mutating func take(_ chunk: Data) -> [String]? {
            bytes += chunk
            var lines: [String] = []
            while let end = bytes.firstIndex(of: 0x0A) ?? (bytes.count > Self.maximumLine ? Self.maximumLine : nil) {
                var line = bytes[..<end]
                let isBroken = bytes[end] != 0x0A
                // A piece ends where a character ends.
                while isBroken, let last = line.last, last & 0xC0 == 0x80, line.count > Self.maximumLine - 4 {
                    line.removeLast()
                }
                let next = isBroken ? line.endIndex : end + 1
                if line.last == 0x0D { line.removeLast() }
                guard let text = String(validating: line, as: UTF8.self), !text.utf8.contains(0) else { return nil }
                lines.append(Self.shown(text))
                bytes.removeFirst(next)
            }
            return bytes.contains(0) ? nil : lines
        }

        /// Returns the text after the last line break.
        package func rest() -> String? { bytes.isEmpty ? nil : Self.shown(String(decoding: bytes, as: UTF8.self)) }

        /// A tabulator stays: it is how text is laid out.
        private static func shown(_ line: String) -> String {
            line.split(separator: "\t", omittingEmptySubsequences: false).map { String($0).visible }.joined(
                separator: "\t")
        }
    }
}
