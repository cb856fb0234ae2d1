import Platform
import Synchronization

/// An answer whose content comes while it is read.
///
/// ```swift
/// let answer = try await transport.stream(request)
/// for try await chunk in answer.body { try file.write(contentsOf: chunk) }
/// ```
public struct HTTPStreamedResponse: Sendable {
    /// The status code, 200 to 599. An answer that says no streams its content like any other.
    public var status: Int
    /// The header fields.
    public var fields: HTTPFields
    /// Where the answer came from, after redirects.
    public var url: URL?
    /// The content, decompressed.
    public var body: HTTPResponseBody

    /// An answer with this content.
    public init(status: Int, fields: HTTPFields = [:], body: HTTPResponseBody, url: URL? = nil) {
        self.status = status
        self.fields = fields
        self.body = body
        self.url = url
    }

    /// Reads the rest of the content and gives the whole answer.
    ///
    /// - Parameter limit: The most bytes that the content may have.
    /// - Throws: ``HTTPTransportError`` of the kind `responseTooLarge` where it has more, and what reading the content throws.
    public func whole(limit: Int = 1 << 20) async throws -> HTTPResponse {
        var content = Data()
        for try await chunk in body {
            guard chunk.count <= limit - content.count else {
                throw HTTPTransportError(
                    .responseTooLarge, host: url?.shownHost ?? "",
                    reason: "The response has more than the \(limit) bytes that the request allows.")
            }
            content.append(chunk)
        }
        return HTTPResponse(status: status, fields: fields, body: content, url: url)
    }
}

extension HTTPStreamedResponse: Redacted {
    /// The status.
    public var description: String { "HTTP \(status), streamed" }
}

/// The content of an answer as chunks of bytes, in the size in which they came. It can be read once.
///
/// A reader that is slow slows the server down: about half a megabyte waits in memory, and then the connection is not read. Once the last
/// copy of the body is gone before its end, or the reading task is cancelled, the connection is closed.
public struct HTTPResponseBody: AsyncSequence, Sendable {
    /// One chunk; never empty.
    public typealias Element = Data

    let source: any ResponseBodySource

    package init(source: any ResponseBodySource) { self.source = source }

    /// Content that is already there.
    public init(_ bytes: Data) { source = MemoryBody(bytes) }

    /// Content that the function gives chunk by chunk, nil at the end: for transports of your own.
    public init(next: @escaping @Sendable () async throws -> Data?) { source = FunctionBody(function: next) }

    /// Reads the content.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let source: any ResponseBodySource

        /// The next chunk, or nil at the end.
        ///
        /// - Throws: ``HTTPTransportError`` when the content does not come to its end; `CancellationError` when the task was cancelled.
        public mutating func next() async throws -> Data? { try await source.next() }
    }

    /// Reads the content from where the last reader left off.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(source: source) }
}

/// Where the chunks of an answer come from.
package protocol ResponseBodySource: Sendable {
    /// The next chunk, or nil at the end.
    func next() async throws -> Data?
    /// Writes the rest to a file.
    func write(to file: OpenFile) async throws
}

extension ResponseBodySource {
    /// Chunk by chunk, each on a thread where waiting for a disk does no harm.
    package func write(to file: OpenFile) async throws {
        while let chunk = try await next() {
            try await FileThread.run { () throws(HTTPFileError) in try file.write(chunk) }
        }
    }
}

private final class MemoryBody: ResponseBodySource {
    private let rest: Mutex<Data?>

    init(_ bytes: Data) { rest = Mutex(bytes.isEmpty ? nil : bytes) }

    func next() async throws -> Data? {
        try Task.checkCancellation()
        return rest.withLock { rest in
            defer { rest = nil }
            return rest
        }
    }
}

private struct FunctionBody: ResponseBodySource {
    let function: @Sendable () async throws -> Data?

    func next() async throws -> Data? {
        while let chunk = try await function() {
            if !chunk.isEmpty { return chunk }
        }
        return nil
    }
}
