import LodgePlatform
import HTTPExchange

/// Reads the parts of a request's content for libcurl. Used only on the worker's thread.
final class ContentReader {
    enum Found {
        case bytes(Int)
        /// There are no bytes yet. `wake` is called when there are.
        case nothing
        case end
        /// Reading failed; see ``failure``.
        case failed
    }

    /// The number of bytes, or `nil` if a part has an unknown length.
    let length: Int64?
    /// The error that ended the content.
    private(set) var failure: (any Error)?
    private(set) var isComplete = false

    private let segments: [HTTPBody.Segment]
    /// The lengths measured at the start. The content must match them.
    private let lengths: [Int64?]
    private let wake: @Sendable () -> Void
    private var index = 0
    /// The number of bytes read from the current part.
    private var position: Int64 = 0
    private var descriptor: Int32?
    private var feed: UploadStream?

    /// Creates a reader and checks every file, so that a missing file fails the request before anything is sent.
    init(_ content: HTTPBody, wake: @escaping @Sendable () -> Void) throws(HTTPFileError) {
        segments = content.segments
        self.wake = wake
        var lengths: [Int64?] = []
        for segment in segments { lengths.append(try segment.length()) }
        self.lengths = lengths
        length = lengths.reduce(Int64(0)) { total, length in
            guard let total, let length else { return nil }
            let sum = total.addingReportingOverflow(length)
            return sum.overflow ? nil : sum.partialValue
        }
    }

    deinit { leave() }

    /// Fills the buffer as far as possible. Blocks only for the disk.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Found {
        var filled = 0
        while filled < buffer.count {
            guard failure == nil else { return .failed }
            guard index < segments.count else {
                isComplete = true
                break
            }
            switch readPart(into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])) {
            case .bytes(let count):
                filled += count
                position += Int64(count)
            case .end: next()
            case .nothing: return filled > 0 ? .bytes(filled) : .nothing
            case .failed: return .failed
            }
        }
        return filled > 0 ? .bytes(filled) : .end
    }

    /// Whether parts can be read again.
    var canSeek: Bool { segments.allSatisfy { if case .chunks = $0 { false } else { true } } }

    /// Moves to an offset. Returns `false` if that is impossible, because chunks can be read only once.
    func seek(to target: Int64) -> Bool {
        let hasRead = segments.prefix(index + 1).contains { if case .chunks = $0 { true } else { false } }
        guard target >= 0, !hasRead, failure == nil else { return false }
        leave()
        index = 0
        position = 0
        isComplete = false
        var rest = target
        while rest > 0 {
            guard index < segments.count, let length = lengths[index] else { return false }
            if case .chunks = segments[index] { return false }
            if rest < length {
                position = rest
                return true
            }
            rest -= length
            index += 1
        }
        return true
    }

    private func readPart(into buffer: UnsafeMutableRawBufferPointer) -> Found {
        switch segments[index] {
        case .bytes(let bytes):
            let start = bytes.startIndex + Int(position)
            let count = min(bytes.endIndex - start, buffer.count)
            guard count > 0 else { return .end }
            return .bytes(bytes[start..<start + count].copyBytes(to: buffer))
        case .file(let file): return read(file, into: buffer)
        case .chunks(let source): return read(source, into: buffer)
        }
    }

    private func read(_ file: FileSegment, into buffer: UnsafeMutableRawBufferPointer) -> Found {
        let left = (lengths[index] ?? 0) - position
        guard left > 0 else { return .end }
        if descriptor == nil {
            do {
                descriptor = try file.open().descriptor
            } catch {
                failure = error
                return .failed
            }
        }
        guard let descriptor else { return .failed }
        let slice = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(min(left, Int64(buffer.count)))))
        var reason = "the file became shorter while it was sent; send it again when no program writes to it."
        do throws(SystemError) {
            let count = try FileDescriptor.read(descriptor, into: slice, at: off_t(file.offset + position))
            if count > 0 { return .bytes(count) }
        } catch {
            reason = "cannot continue to read the file (\(error.explanation))."
        }
        failure = HTTPFileError(path: file.path, reason: reason)
        return .failed
    }

    private func read(_ source: ChunkSource, into buffer: UnsafeMutableRawBufferPointer) -> Found {
        let feed = feed ?? UploadStream(source, wake: wake)
        self.feed = feed
        switch feed.take(into: buffer) {
        case .bytes(let count):
            guard let length = source.length, position + Int64(count) > length else { return .bytes(count) }
            return wrongLength(length, "more")
        case .nothing: return .nothing
        case .end:
            guard let length = source.length, position != length else { return .end }
            return wrongLength(length, "fewer")
        case .failure(let error):
            failure = error
            return .failed
        }
    }

    private func wrongLength(_ length: Int64, _ word: String) -> Found {
        failure = HTTPTransportError(
            .invalidRequest, host: "",
            reason: "The chunks of the content have \(word) than the \(length) bytes that were announced for them.")
        return .failed
    }

    private func next() {
        leave()
        index += 1
        position = 0
    }

    private func leave() {
        if let descriptor { FileDescriptor.close(descriptor) }
        descriptor = nil
        feed?.close()
        feed = nil
    }
}
