import Platform
import Synchronization

/// What came of a download.
public struct HTTPDownload: Sendable, Equatable {
    /// The answer. Its body is empty where the content went to the file; the content of an answer that says no is in it.
    public var response: HTTPResponse
    /// Where the content is; nil when the status is not 2xx, and then the place is as it was.
    public var file: URL?
    /// The number of bytes of the file.
    public var size: Int64
    /// How many of them an earlier attempt had brought.
    public var resumed: Int64

    /// A download with this result.
    public init(response: HTTPResponse, file: URL?, size: Int64 = 0, resumed: Int64 = 0) {
        self.response = response
        self.file = file
        self.size = size
        self.resumed = resumed
    }
}

extension HTTPTransport {
    /// Sends the request and saves the content of a 2xx answer as a file.
    ///
    /// The content grows in a file `.NAME.part` in the same folder, which takes the place of `destination` when it is complete: nobody sees
    /// half of it there. A GET that breaks off leaves that file where the server gave it a strong name (`ETag`, `Last-Modified`); the next
    /// download of the same address to the same place asks for the rest only, and starts anew if the content changed meanwhile
    /// ([RFC 9110 section 13.1.5](https://www.rfc-editor.org/rfc/rfc9110#section-13.1.5)). The content is asked for as it is, not compressed.
    ///
    /// A place that is no file, such as a pipe or a device, is written to directly.
    ///
    /// - Parameters:
    ///   - destination: The file's place. Its folder must be there; a file that is there is replaced and keeps its permissions, and a
    ///     symbolic link is followed. A write-protected file is refused. The unfinished file can be read by its owner alone.
    ///   - resuming: Whether an earlier attempt is continued and this one kept if it breaks off.
    ///   - policy: When a request that failed is sent again; with `resuming` it goes on where it broke off.
    ///   - progress: Told how far it is.
    /// - Throws: ``HTTPTransportError`` when no answer came or it broke off; ``HTTPFileError`` for a place that cannot be written;
    ///   `CancellationError`.
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

/// One attempt.
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
            /// What earlier attempts brought, as far as it is still good.
            var kept = start?.size ?? 0
            while true {
                switch try await receive(partial, from: start) {
                case .complete(var download):
                    if download.resumed > 0 { download.resumed = kept }
                    return download
                case .piece(let next): start = next
                case .otherContent:
                    // The server has nothing that begins where the part ends: it is not what it was.
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
        /// The server sent less than it was asked for, and the rest is to be asked for.
        case piece(PartialFile.Resumption)
        /// The server does not have what was asked for: its content is another one now.
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
        // A part that the caller asked for with a Range of its own is what is to be saved.
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

    /// Whether the answer names other content than the one that was asked for. A server should not, after `If-Range`.
    private func isOther(_ tag: String?, _ validator: String) -> Bool {
        guard let tag, tag.hasPrefix("\""), validator.hasPrefix("\"") else { return false }
        return tag != validator
    }

    /// Into a pipe or a device: chunk by chunk, because its reader may take its time.
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
        // Ranges and the length are those of what is sent, so that is to be what is saved.
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

/// How much was there before this attempt, as the transport's thread sees it.
private final class Offset: Sendable {
    private let bytes = Atomic<Int64>(0)
    /// 0 where it is not known.
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
