import LodgePlatform
import Synchronization

/// The content of a request: bytes in memory, files, chunks from an `AsyncSequence`, or several of these in order.
///
/// The transport opens files and chunk sources each time it sends the request. It sends a request again after a
/// redirect or with a new token. This fails only for chunks that can be read once; see ``isReplayable``.
///
/// ```swift
/// var request = HTTPRequest(.put, url, content: .file(at: video))
/// request.content = .joined([.bytes(head), .file(at: photo), .bytes(tail)])
/// ```
///
/// Its descriptions contain the number of parts, never their content.
public struct HTTPBody: Sendable, Equatable {
    /// One part without nested parts.
    package enum Segment: Sendable, Equatable {
        case bytes(Data)
        case file(FileSegment)
        case chunks(ChunkSource)

        /// Returns the number of bytes, or `nil` if it is unknown.
        package func length() throws(HTTPFileError) -> Int64? {
            switch self {
            case .bytes(let bytes): Int64(bytes.count)
            case .file(let file): try file.measure()
            case .chunks(let source): source.length
            }
        }
    }

    package private(set) var segments: [Segment]

    /// Returns a body with these bytes.
    public static func bytes(_ bytes: Data) -> HTTPBody { HTTPBody(segments: [.bytes(bytes)]) }

    /// Returns a body with the content of a file, or with `length` bytes from `offset`.
    ///
    /// The transport reads the file while it sends the content.
    ///
    /// The file must be a regular file. Its length is determined when the request starts: bytes appended later are not
    /// sent, and if the file becomes shorter, the request fails with ``HTTPFileError``.
    public static func file(at url: URL, offset: Int64 = 0, length: Int64? = nil) -> HTTPBody {
        HTTPBody(segments: [.file(FileSegment(path: url.path(percentEncoded: false), offset: offset, length: length))])
    }

    /// Returns a body with the chunks of an asynchronous sequence.
    ///
    /// Chunks have any size. The transport buffers about 1 MiB at most.
    ///
    /// - Parameters:
    ///   - length: The number of bytes, which the transport sends as `Content-Length`, or `nil` if it is unknown. A
    ///     request with a different number of bytes fails. Without a length, HTTP/1.1 requires
    ///     `Transfer-Encoding: chunked`, which some servers reject.
    ///   - isReplayable: Whether `open` can return the same bytes again. The default is `true`. Pass `false` for a
    ///     source that can be read only once, like a pipe.
    ///   - open: A closure that returns the chunks from the start. Each time the transport sends the request, it calls
    ///     the closure in a separate task. It cancels the task if the request ends early.
    public static func chunks<Chunks: AsyncSequence & SendableMetatype>(
        length: Int64? = nil, isReplayable: Bool = true, _ open: @escaping @Sendable () async throws -> Chunks
    ) -> HTTPBody where Chunks.Element == Data, Chunks.AsyncIterator: SendableMetatype {
        let source = ChunkSource(length: length, isReplayable: isReplayable) { take in
            for try await chunk in try await open() where !chunk.isEmpty { try await take(chunk) }
        }
        return HTTPBody(segments: [.chunks(source)])
    }

    /// Returns a body with the content of these bodies in order.
    public static func joined(_ bodies: [HTTPBody]) -> HTTPBody { HTTPBody(segments: bodies.flatMap(\.segments)) }

    /// The bytes if all of them are in memory, otherwise `nil`.
    public var data: Data? {
        if segments.count == 1, case .bytes(let bytes) = segments[0] { return bytes }
        var whole = Data()
        for segment in segments {
            guard case .bytes(let bytes) = segment else { return nil }
            whole.append(bytes)
        }
        return whole
    }

    /// Returns the number of bytes to send, or `nil` if a part has an unknown length. Reads the sizes of files.
    ///
    /// - Throws: ``HTTPFileError`` if a file is unreadable, is not a regular file, or is shorter than the requested
    ///   range.
    public func length() throws(HTTPFileError) -> Int64? {
        var total: Int64 = 0
        for segment in segments {
            guard let length = try segment.length() else { return nil }
            total += length
        }
        return total
    }

    /// Whether the same bytes can be sent more than once.
    public var isReplayable: Bool {
        segments.allSatisfy { if case .chunks(let source) = $0 { source.isReplayable } else { true } }
    }

    /// Whether all bytes are in memory.
    package var isInMemory: Bool { segments.allSatisfy { if case .bytes = $0 { true } else { false } } }
}

extension HTTPBody: Redacted {
    /// The number of parts.
    public var description: String {
        segments.count == 1 ? "content of one part" : "content of \(segments.count) parts"
    }
}

/// A source of chunks. Two sources are equal only if they are the same instance.
package final class ChunkSource: Sendable, Equatable {
    package typealias Take = @Sendable (Data) async throws -> Void

    package let length: Int64?
    package let isReplayable: Bool
    private let make: @Sendable (_ take: @escaping Take) async throws -> Void
    private let wasOpened = Atomic<Bool>(false)

    init(length: Int64?, isReplayable: Bool, produce: @escaping @Sendable (_ take: @escaping Take) async throws -> Void)
    {
        self.length = length.map { max(0, $0) }
        self.isReplayable = isReplayable
        make = produce
    }

    /// Produces all chunks and passes each chunk to `take`, which waits until the buffer has space.
    package func produce(_ take: @escaping Take) async throws {
        guard !wasOpened.exchange(true, ordering: .acquiringAndReleasing) || isReplayable else {
            throw HTTPTransportError(
                .invalidRequest, host: "",
                reason: "The content can be read only once, and was; read it into memory or a file to send it again.")
        }
        try await make(take)
    }

    package static func == (left: ChunkSource, right: ChunkSource) -> Bool { left === right }
}
