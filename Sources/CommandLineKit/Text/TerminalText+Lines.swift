import Platform

extension TerminalText {
    /// Splits text that arrives in chunks into visible lines.
    package struct Lines {
        private var bytes: [UInt8] = []
        /// The maximum size of a piece of an unterminated line in bytes.
        private static let maximumLine = 64 * 1024

        package init() {}

        /// Returns the lines completed by these bytes, or `nil` if they are not text.
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

        /// Returns the index of the next line break, or of the end of a piece at a character boundary.
        private func lineEnd(from start: Int) -> Int? {
            let limit = start + Self.maximumLine
            if let end = bytes[start..<min(limit + 1, bytes.count)].firstIndex(of: 0x0A) { return end }
            guard limit < bytes.count else { return nil }
            return ((limit - 3)...limit).last { bytes[$0] & 0xC0 != 0x80 } ?? limit
        }

        /// Returns the text after the last line break.
        package func rest() -> String? { bytes.isEmpty ? nil : Self.shown(String(decoding: bytes, as: UTF8.self)) }

        /// Returns the line with invisible characters escaped, except tabs, which are part of the layout.
        private static func shown(_ line: String) -> String {
            line.split(separator: "\t", omittingEmptySubsequences: false).map { String($0).visible }.joined(
                separator: "\t")
        }
    }
}
