import LodgePlatform
import Synchronization

/// A response whose content arrives while it is read.
///
/// ```swift
/// let response = try await transport.stream(request)
/// for try await chunk in response.body { try file.write(contentsOf: chunk) }
/// ```
public struct HTTPStreamedResponse: Sendable {
    /// The status code, 200 to 599. Error responses stream their content too.
    public var status: Int
    /// The header fields.
    public var fields: HTTPFields
    /// The URL of the response, after redirects.
    public var url: URL?
    /// The content, decompressed.
    public var body: HTTPResponseBody

    /// Creates a response with this content.
    public init(status: Int, fields: HTTPFields = [:], body: HTTPResponseBody, url: URL? = nil) {
        self.status = status
        self.fields = fields
        self.body = body
        self.url = url
    }

    /// Reads the rest of the content and returns the complete response.
    ///
    /// - Parameter limit: The maximum size of the content in bytes.
    /// - Throws: ``HTTPTransportError`` of the kind `responseTooLarge` if the content is larger. Errors of reading the
    ///   content.
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

/// The content of a response as chunks of the size in which they arrive. It can be read once.
///
/// A slow reader slows the server down: about half a megabyte is buffered, then the connection is not read. The
/// connection is closed when the last copy of the body is released before its end, or when the reading task is
/// cancelled.
public struct HTTPResponseBody: AsyncSequence, Sendable {
    /// A chunk, never empty.
    public typealias Element = Data

    let source: any ResponseBodySource

    package init(source: any ResponseBodySource) { self.source = source }

    /// Creates content from bytes.
    public init(_ bytes: Data) { source = MemoryBody(bytes) }

    /// Creates content from a function that returns chunks, and `nil` at the end. For custom transports.
    public init(next: @escaping @Sendable () async throws -> Data?) { source = FunctionBody(function: next) }

    /// An iterator over the chunks.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let source: any ResponseBodySource

        /// Returns the next chunk, or `nil` at the end.
        ///
        /// - Throws: ``HTTPTransportError`` if the content is incomplete; `CancellationError` if the task is cancelled.
        public mutating func next() async throws -> Data? { try await source.next() }
    }

    /// Returns an iterator that continues where the last one stopped.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(source: source) }
}

/// A source of response chunks.
package protocol ResponseBodySource: Sendable {
    /// Returns the next chunk, or `nil` at the end.
    func next() async throws -> Data?
    /// Writes the remaining content to a file.
    func write(to file: OpenFile) async throws
}

extension ResponseBodySource {
    /// Writes each chunk on a thread that may block for a disk.
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
