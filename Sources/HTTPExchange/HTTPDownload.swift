import LodgePlatform
import Synchronization

/// The result of a download.
public struct HTTPDownload: Sendable, Equatable {
    /// The response.
    ///
    /// Its body is empty if the content was saved to the file; otherwise it contains the content of an error response.
    public var response: HTTPResponse
    /// The location of the content, or `nil` if the status is not 2xx; the destination is then unchanged.
    public var file: URL?
    /// The size of the file in bytes.
    public var size: Int64
    /// The number of bytes that an earlier attempt had received.
    public var resumed: Int64

    /// Creates a result.
    package init(response: HTTPResponse, file: URL?, size: Int64 = 0, resumed: Int64 = 0) {
        self.response = response
        self.file = file
        self.size = size
        self.resumed = resumed
    }
}

extension HTTPTransport {
    /// Sends the request and saves the content of a 2xx response to a file.
    ///
    /// The content is written to `.NAME.part` in the same folder, which replaces `destination` when it is complete, so
    /// readers never see a partial file. An interrupted GET leaves the partial file if the server sent a strong
    /// validator (`ETag`, `Last-Modified`). The next download of the same URL to the same destination then requests
    /// only the rest, and starts again if the content has changed ([RFC 9110 section
    /// 13.1.5](https://www.rfc-editor.org/rfc/rfc9110#section-13.1.5)). The request does not accept compression.
    ///
    /// A destination that is not a regular file, such as a pipe or a device, is written to directly.
    ///
    /// - Parameters:
    ///   - destination: The path of the file. Its folder must exist. An existing file is replaced and keeps its
    ///     permissions; a symbolic link is followed. A write-protected file is an error. Only the owner can read the
    ///     partial file.
    ///   - resuming: Whether to continue an earlier attempt, and to keep this one if it is interrupted.
    ///   - policy: The policy for retries. With `resuming`, a retry continues where the last attempt ended.
    ///   - progress: A handler for progress reports.
    /// - Throws: ``HTTPTransportError`` if there is no complete response. ``HTTPFileError`` if the destination is not
    ///   writable. `CancellationError` if the task is cancelled.
    public func download(
        _ request: HTTPRequest, to destination: URL, resuming: Bool = true, retrying policy: HTTPRetryPolicy = .never,
        progress: HTTPProgress.Handler? = nil
    ) async throws -> HTTPDownload {
        let meter = progress.map { ProgressMeter($0) }
        defer { meter?.end() }
        let path = destination.path(percentEncoded: false)
        let target = try await FileThread.run { () throws(HTTPFileError) in try DownloadTarget(path) }
        var last: HTTPDownload?
        let response = try await policy.run(request) { _ in
            let download = try await Download(transport: self, request: request, target: target, meter: meter)
                .run(resuming: resuming && request.method == .get && request.fields["Range"] == nil)
            last = download
            return download.response
        }
        guard var download = last else { return HTTPDownload(response: response, file: nil) }
        if download.file != nil { download.file = destination }
        return download
    }
}

/// One attempt of a download.
private struct Download<Transport: HTTPTransport> {
    let transport: Transport
    let request: HTTPRequest
    let target: DownloadTarget
    let meter: ProgressMeter?

    func run(resuming: Bool) async throws -> HTTPDownload {
        guard !target.isSpecial else { return try await writeDirectly() }
        let partial = try await FileThread.run { [target, url = request.url] () throws(HTTPFileError) in
            try PartialFile(target, url: url, resuming: resuming)
        }
        do {
            var start = partial.resumption
            /// The number of bytes of earlier attempts that are still valid.
            var kept = start?.size ?? 0
            while true {
                switch try await receive(partial, from: start) {
                case .complete(var download):
                    if download.resumed > 0 { download.resumed = kept }
                    return download
                case .piece(let next): start = next
                case .otherContent:
                    // The range does not exist any more, so the content has changed.
                    try await FileThread.run { () throws(HTTPFileError) in try partial.startOver(nil) }
                    start = nil
                    kept = 0
                }
            }
        } catch {
            guard await partial.leave(), var failure = error as? HTTPTransportError else { throw error }
            failure.reason += " The received part is saved. The same download continues after it."
            throw failure
        }
    }

    private enum Outcome {
        case complete(HTTPDownload)
        /// The server sent less than requested; request the rest.
        case piece(PartialFile.Resumption)
        /// The content has changed since the last attempt.
        case otherContent
    }

    private func receive(_ partial: PartialFile, from start: PartialFile.Resumption?) async throws -> Outcome {
        let offset = Offset()
        var asking = prepared
        if let start {
            asking.fields["Range"] = "bytes=\(start.size)-"
            asking.fields["If-Range"] = start.validator
            offset.set(start.size, total: nil)
        }
        let answer = try await transport.stream(asking, progress: shifted(by: offset))
        if answer.status == 416, start != nil { return .otherContent }
        guard (200...299).contains(answer.status) else {
            let refusal = try await answer.whole(limit: max(0, request.maximumResponseSize))
            await partial.leave()
            return .complete(HTTPDownload(response: refusal, file: nil))
        }
        // If the caller set a Range, the result is only that range.
        let range = answer.status == 206 && request.fields["Range"] == nil ? ContentRange(answer.fields) : nil
        var isNew = true
        if answer.status == 206, let start {
            guard let range, range.first == start.size, !isOther(answer.fields["ETag"], start.validator) else {
                return .otherContent
            }
            offset.set(start.size, total: range.total)
            isNew = false
        }
        if isNew {
            offset.set(0, total: nil)
            let validator = answer.status == 200 ? PartialFile.validator(of: answer.fields) : nil
            try await FileThread.run { () throws(HTTPFileError) in try partial.startOver(validator) }
        }
        try await answer.body.source.write(to: partial.file)
        if let range {
            let size = try await FileThread.run { () throws(HTTPFileError) in try partial.size() }
            if let failure = range.failure(at: size) {
                if size > range.last + 1 {
                    try await FileThread.run { () throws(HTTPFileError) in try partial.startOver(nil) }
                }
                throw HTTPTransportError(.connectionLost, host: request.url.shownHost, reason: failure)
            }
            if let total = range.total, size < total {
                guard let start else {
                    throw HTTPTransportError(
                        .connectionLost, host: request.url.shownHost,
                        reason: "The server sent \(size) of \(total) bytes, although the request was for all of them.")
                }
                return .piece(PartialFile.Resumption(size: size, validator: start.validator))
            }
        }
        let size = try await FileThread.run { () throws(HTTPFileError) in try partial.finish() }
        return .complete(
            HTTPDownload(
                response: HTTPResponse(status: answer.status, fields: answer.fields, url: answer.url),
                file: URL(filePath: target.path), size: size, resumed: isNew ? 0 : start?.size ?? 0))
    }

    /// Returns whether the response names different content from the requested content.
    ///
    /// A server should not, after `If-Range`.
    private func isOther(_ tag: String?, _ validator: String) -> Bool {
        guard let tag, tag.hasPrefix("\""), validator.hasPrefix("\"") else { return false }
        return tag != validator
    }

    /// Writes to a pipe or a device in chunks, because its reader may be slow.
    private func writeDirectly() async throws -> HTTPDownload {
        let answer = try await transport.stream(prepared, progress: shifted(by: Offset()))
        guard (200...299).contains(answer.status) else {
            return HTTPDownload(
                response: try await answer.whole(limit: max(0, request.maximumResponseSize)), file: nil)
        }
        let file = try await FileThread.run { [target] () throws(HTTPFileError) in try target.openDirectly() }
        var size: Int64 = 0
        for try await chunk in answer.body {
            try await FileThread.run { () throws(HTTPFileError) in try file.write(chunk) }
            size += Int64(chunk.count)
        }
        return HTTPDownload(
            response: HTTPResponse(status: answer.status, fields: answer.fields, url: answer.url),
            file: URL(filePath: target.path), size: size)
    }

    private var prepared: HTTPRequest {
        var request = request
        // Ranges and lengths apply to the encoded content, so request it without compression.
        if request.fields["Accept-Encoding"] == nil { request.fields["Accept-Encoding"] = "identity" }
        return request
    }

    private func shifted(by offset: Offset) -> HTTPProgress.Handler? {
        guard let meter else { return nil }
        return { progress in
            var progress = progress
            progress.received += offset.value
            progress.totalToReceive = offset.total ?? progress.totalToReceive.map { $0 + offset.value }
            progress.hasEnded = false
            meter.update(progress)
        }
    }
}

/// The number of bytes before this attempt, shared with the transport's thread.
private final class Offset: Sendable {
    private let bytes = Atomic<Int64>(0)
    /// The offset; 0 if unknown.
    private let whole = Atomic<Int64>(0)
    var value: Int64 { bytes.load(ordering: .relaxed) }
    var total: Int64? {
        let total = whole.load(ordering: .relaxed)
        return total > 0 ? total : nil
    }
    func set(_ value: Int64, total: Int64?) {
        bytes.store(value, ordering: .relaxed)
        whole.store(total ?? 0, ordering: .relaxed)
    }
}
