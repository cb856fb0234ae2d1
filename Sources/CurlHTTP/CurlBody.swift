import LodgePlatform
import HTTPExchange

/// The reader's end of a streamed response. Its release ends the transfer.
final class CurlBody: ResponseBodySource {
    private let channel: BodyChannel
    private let mark: CancellationFlag
    /// Retained, because the thread ends with the transport.
    private let transport: CurlTransport

    init(_ channel: BodyChannel, _ mark: CancellationFlag, of transport: CurlTransport) {
        self.channel = channel
        self.mark = mark
        self.transport = transport
    }

    deinit { stop() }

    /// Ends the transfer if it is still running.
    private func stop() { transport.streams.cancel(mark) }

    func next() async throws -> Data? {
        try checkCancellation()
        switch channel.take() {
        case .chunk(let chunk, let wasFull):
            if wasFull { transport.streams.resume(mark) }
            return chunk
        case .end(let result):
            try result.get()
            return nil
        case .nothing:
            return try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { if channel.wait($0) { transport.streams.resume(mark) } }
            } onCancel: {
                stop()
            }
        }
    }

    /// Writes the content to a file. The worker writes directly, without this task.
    func write(to file: OpenFile) async throws {
        try checkCancellation()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                channel.divert(to: file, continuation)
                transport.streams.resume(mark)
            }
        } onCancel: {
            stop()
        }
        // Chunks that arrived before the worker took the file.
        while case .chunk(let chunk, _) = channel.take() {
            try await FileThread.run { () throws(HTTPFileError) in try file.write(chunk) }
        }
        if case .end(let result) = channel.take() { try result.get() }
    }

    /// Reads a small remainder, so that the connection can be reused. Otherwise ends the transfer.
    func drain() async {
        var left = 65_536
        while left > 0, let chunk = try? await next() { left -= chunk.count }
        if left <= 0 { stop() }
    }

    /// Throws if the task is cancelled, after stopping the transfer. Needed between chunks too.
    private func checkCancellation() throws {
        guard Task.isCancelled else { return }
        stop()
        throw CancellationError()
    }
}
