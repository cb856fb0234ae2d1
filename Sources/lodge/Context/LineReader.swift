import CommandLineKit
import LodgePlatform

/// A reader of lines as they arrive, of any number. It holds one chunk in memory.
@MainActor final class LineReader {
    private static let maximumLine = 64 * 1024
    private static let patience = Duration.milliseconds(10)

    private let file: Int32
    private let name: String
    private var bytes: [UInt8]
    private var start = 0
    private var hasEnded = false

    static func standardInput() -> LineReader { LineReader(file: 0, "standard input") }

    private init(file: Int32, _ name: String, _ bytes: [UInt8] = [], hasEnded: Bool = false) {
        self.file = file
        self.name = name
        self.bytes = bytes
        self.hasEnded = hasEnded
    }

    convenience init(text: String) { self.init(file: -1, "the text", Array(text.utf8), hasEnded: true) }

    convenience init(path: String) throws(CommandError) {
        // Without O_NONBLOCK, opening a pipe without a writer would block.
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else {
            throw CommandError(
                .usage, "cannot read the names from \(path)", reason: String(cString: strerror(errno)),
                hint: "use a file with one identifier, user principal name or mail address per line")
        }
        self.init(file: file, path)
    }

    /// Returns the number of lines of a file that satisfy a condition.
    static func count(_ path: String, where isCounted: (String) -> Bool) throws -> Int {
        let reader = try LineReader(path: path)
        var count = 0
        while true {
            if let end = reader.bytes[reader.start...].firstIndex(where: endsLine) {
                if isCounted(String(decoding: reader.bytes[reader.start..<end], as: UTF8.self)) { count += 1 }
                reader.start = end + 1
            } else {
                reader.bytes.removeFirst(reader.start)
                reader.start = 0
                var chunk = [UInt8](repeating: 0, count: 64 * 1024)
                let read = try FileDescriptor.read(reader.file, into: &chunk, waiting: 0) ?? 0
                guard read > 0, reader.bytes.count <= maximumLine else { break }
                reader.bytes += chunk[..<read]
            }
        }
        let isLast = !reader.bytes.isEmpty && isCounted(String(decoding: reader.bytes, as: UTF8.self))
        return count + (isLast ? 1 : 0)
    }

    deinit { if file > 0 { close(file) } }

    /// Returns the next line without its terminator, or `nil` after the last. Waiting blocks no thread.
    func next() async throws -> String? {
        while true {
            if let end = bytes[start...].firstIndex(where: Self.endsLine) {
                defer { start = end + 1 }
                return String(decoding: bytes[start..<end], as: UTF8.self)
            }
            if hasEnded {
                defer { start = bytes.count }
                return start < bytes.count ? String(decoding: bytes[start...], as: UTF8.self) : nil
            }
            bytes.removeFirst(start)
            start = 0
            guard bytes.count <= Self.maximumLine else {
                throw CommandError(
                    .usage, "a line of \(name) is too long", reason: "expected at most \(Self.maximumLine) bytes",
                    hint: "write one name per line")
            }
            try await readMore()
        }
    }

    func isReady(within limit: Duration) async throws -> Bool {
        let end = ContinuousClock.now + limit
        while !hasEnded, !bytes[start...].contains(where: Self.endsLine), bytes.count - start <= Self.maximumLine {
            guard try await readMore(until: end) else { return false }
        }
        return true
    }

    private static func endsLine(_ byte: UInt8) -> Bool { byte == 0x0A || byte == 0x0D }

    /// Reads the next bytes, waiting until `end`. Returns whether there were any.
    @discardableResult private func readMore(until end: ContinuousClock.Instant? = nil) async throws -> Bool {
        var chunk = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            try Task.checkCancellation()
            let count: Int?
            do throws(SystemError) {
                count = try FileDescriptor.read(file, into: &chunk, waiting: 0)
            } catch {
                throw CommandError(.usage, "cannot read \(name)", reason: error.explanation)
            }
            guard let count else {
                if let end, ContinuousClock.now >= end { return false }
                try await Task.sleep(for: Self.patience)
                continue
            }
            hasEnded = count == 0
            bytes += chunk[..<count]
            return true
        }
    }
}
