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

        /// Returns the position of the next line break, or the end of a piece: the start of a character.
        private func lineEnd(from start: Int) -> Int? {
            let limit = start + Self.maximumLine
            if let end = bytes[start..<min(limit + 1, bytes.count)].firstIndex(of: 0x0A) { return end }
            guard limit < bytes.count else { return nil }
            return ((limit - 3)...limit).last { bytes[$0] & 0xC0 != 0x80 } ?? limit
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
