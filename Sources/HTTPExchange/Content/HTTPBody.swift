import Platform
import Synchronization

/// What a request carries: bytes in memory, files that are read while they are sent, chunks that a program makes, or any of these one
/// after the other.
///
/// A body is a recipe: nothing is opened before the request is sent, and sending it again (after a redirect, or with a new token) opens
/// it anew. Only chunks made for one use cannot be sent twice; ``isReplayable`` says so.
///
/// ```swift
/// var request = HTTPRequest(.put, url, content: .file(at: video))
/// request.content = .joined([.bytes(head), .file(at: photo), .bytes(tail)])
/// ```
///
/// Its descriptions give the number of parts, never what is in them.
public struct HTTPBody: Sendable, Equatable {
    /// One part, without parts of its own.
    package enum Segment: Sendable, Equatable {
        case bytes(Data)
        case file(FileSegment)
        case chunks(ChunkSource)

        /// Returns the number of bytes, or `nil` if it is not known.
        package func length() throws(HTTPFileError) -> Int64? {
            switch self {
            case .bytes(let bytes): Int64(bytes.count)
            case .file(let file): try file.measure()
            case .chunks(let source): source.length
            }
        }
    }

    package private(set) var segments: [Segment]

    /// These bytes.
    public static func bytes(_ bytes: Data) -> HTTPBody { HTTPBody(segments: [.bytes(bytes)]) }

    /// The file at this place, or `length` bytes of it from `offset` on. It is read while it is sent, never whole.
    ///
    /// The file must be a regular one. Its length is taken when the request starts: what is added later is not sent, and where it becomes
    /// shorter the request fails with ``HTTPFileError``.
    public static func file(at url: URL, offset: Int64 = 0, length: Int64? = nil) -> HTTPBody {
        HTTPBody(segments: [.file(FileSegment(path: url.path(percentEncoded: false), offset: offset, length: length))])
    }

    /// Chunks as a program makes them, in the size it makes them; at most about 1 MiB of them waits for the network.
    ///
    /// - Parameters:
    ///   - length: The number of bytes, where it is known: it becomes the `Content-Length`, and any other number of bytes is an error.
    ///     Without it the content is sent in chunks (`Transfer-Encoding: chunked`; HTTP/2 needs nothing), which some servers refuse.
    ///   - isReplayable: Whether `open` can be called again for the same bytes. False for what can be read only once, like a pipe.
    ///   - open: Gives the chunks from the first on. Called each time the request is sent, in a task of its own, which is cancelled when the
    ///     request ends early.
    public static func chunks<Chunks: AsyncSequence & SendableMetatype>(
        length: Int64? = nil, isReplayable: Bool = true, _ open: @escaping @Sendable () async throws -> Chunks
    ) -> HTTPBody where Chunks.Element == Data, Chunks.AsyncIterator: SendableMetatype {
        let source = ChunkSource(length: length, isReplayable: isReplayable) { take in
            for try await chunk in try await open() where !chunk.isEmpty { try await take(chunk) }
        }
        return HTTPBody(segments: [.chunks(source)])
    }

    /// These, one after the other.
    public static func joined(_ bodies: [HTTPBody]) -> HTTPBody { HTTPBody(segments: bodies.flatMap(\.segments)) }

    /// The bytes, where all of them are in memory; nil where a part comes from elsewhere.
    public var data: Data? {
        if segments.count == 1, case .bytes(let bytes) = segments[0] { return bytes }
        var whole = Data()
        for segment in segments {
            guard case .bytes(let bytes) = segment else { return nil }
            whole.append(bytes)
        }
        return whole
    }

    /// The number of bytes that would be sent now; nil where a part does not know its length. Asks the file system for files.
    ///
    /// - Throws: ``HTTPFileError`` for a file that cannot be read, is not a regular file, or is shorter than the part of it that is asked for.
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

/// Where chunks come from. Two are equal when they are the same.
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

    /// Makes all chunks and gives each to the function, which waits until there is room.
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
