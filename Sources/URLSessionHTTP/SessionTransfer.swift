import Foundation
import HTTPExchange
import Synchronization

/// One exchange of a session: its head, and its content until the reader takes it.
final class SessionTransfer: Sendable {
    private struct State {
        var head: CheckedContinuation<HTTPResponse, any Error>?
        var earlyHead: HTTPResponse?
        var hasHead = false
        var content = Data()
        var reader: CheckedContinuation<Data?, any Error>?
        var isSuspended = false
        var end: Result<Void, any Error>?
        var progress = HTTPProgress()
        var deadline: Task<Void, any Error>?
    }

    /// The number of bytes at which the task is suspended until the reader takes them.
    static let capacity = 1 << 20

    let url: URL
    let task: URLSessionTask
    private let meter: ProgressMeter?
    private let state: Mutex<State>

    init(_ task: URLSessionTask, _ url: URL, _ meter: ProgressMeter?, totalToSend: Int64?) {
        self.task = task
        self.url = url
        self.meter = meter
        var state = State()
        state.progress.totalToSend = totalToSend
        self.state = Mutex(state)
    }

    // MARK: Reports of the session

    func begin(_ response: HTTPURLResponse) {
        let head = Self.head(response)
        let waiting = state.withLock { state -> CheckedContinuation<HTTPResponse, any Error>? in
            guard !state.hasHead, state.end == nil else { return nil }
            state.hasHead = true
            // A server that responds has the content, except for an early error.
            state.progress.sent = max(state.progress.sent, state.progress.totalToSend ?? 0)
            state.progress.totalToReceive = head.fields["Content-Length"].flatMap { Int64($0) }
            if state.head == nil { state.earlyHead = head }
            defer { state.head = nil }
            return state.head
        }
        waiting?.resume(returning: head)
        report()
    }

    func put(_ data: Data) {
        let reader = state.withLock { state -> CheckedContinuation<Data?, any Error>? in
            guard state.end == nil else { return nil }
            state.progress.received += Int64(data.count)
            if let reader = state.reader {
                state.reader = nil
                return reader
            }
            state.content.append(data)
            if state.content.count >= Self.capacity, !state.isSuspended {
                state.isSuspended = true
                task.suspend()
            }
            return nil
        }
        reader?.resume(returning: data)
        report()
    }

    func didSend(_ count: Int64) {
        state.withLock { $0.progress.sent = max($0.progress.sent, count) }
        report()
    }

    /// Ends the transfer. The first end counts.
    func end(_ result: Result<Void, any Error>) {
        let waiting = state.withLock { state -> State? in
            guard state.end == nil else { return nil }
            let before = state
            state.end = result
            state.head = nil
            state.reader = nil
            state.deadline = nil
            return before
        }
        guard let waiting else { return }
        waiting.deadline?.cancel()
        meter?.end()
        let error: any Error = if case .failure(let error) = result { error } else { Self.noResponse(url) }
        waiting.head?.resume(throwing: error)
        waiting.reader?.resume(with: result.map { nil })
    }

    /// Whether a reader waits for bytes.
    var hasReader: Bool { state.withLock { $0.reader != nil } }

    private func report() {
        guard let meter else { return }
        meter.update(state.withLock(\.progress))
    }

    // MARK: The reader

    /// Ends the transfer with an error at this time, unless it ended before.
    func expire(at deadline: ContinuousClock.Instant, _ cancel: @escaping @Sendable (URLSessionTask) -> Void) {
        let watch = Task { [weak self] in
            try await Task.sleep(until: deadline, clock: .continuous)
            guard let self else { return }
            end(
                .failure(
                    HTTPTransportError(
                        .timedOut, host: url.host() ?? "",
                        reason: "The response was not complete within the time limit of the request.")))
            cancel(task)
        }
        let isOpen = state.withLock { state in
            if state.end == nil { state.deadline = watch }
            return state.end == nil
        }
        if !isOpen { watch.cancel() }
    }

    func awaitHead(_ continuation: CheckedContinuation<HTTPResponse, any Error>) {
        let result = state.withLock { state -> Result<HTTPResponse, any Error>? in
            if let head = state.earlyHead { return .success(head) }
            switch state.end {
            case .failure(let error)?: return .failure(error)
            case .success?: return .failure(Self.noResponse(url))
            case nil:
                state.head = continuation
                return nil
            }
        }
        if let result { continuation.resume(with: result) }
    }

    /// Resumes the continuation with the next bytes, or with `nil` at the end.
    func take(_ continuation: CheckedContinuation<Data?, any Error>) {
        let result = state.withLock { state -> Result<Data?, any Error>? in
            guard state.content.isEmpty else {
                defer { state.content = Data() }
                if state.isSuspended {
                    state.isSuspended = false
                    task.resume()
                }
                return .success(state.content)
            }
            if let end = state.end { return end.map { nil } }
            state.reader = continuation
            return nil
        }
        if let result { continuation.resume(with: result) }
    }

    // MARK: Values

    static func head(_ response: HTTPURLResponse) -> HTTPResponse {
        var fields = HTTPFields()
        let all = response.allHeaderFields.compactMap { name, value in (name as? String).map { ($0, "\(value)") } }
        // URLSession decodes the content, so its encoding and encoded length do not describe the bytes that it returns.
        let isEncoded = all.contains { $0.0.lowercased() == "content-encoding" && $0.1.lowercased() != "identity" }
        for (name, value) in all.sorted(by: { $0.0 < $1.0 })
        where !isEncoded || !["content-encoding", "content-length"].contains(name.lowercased()) {
            fields.append(name: name, value: value)
        }
        return HTTPResponse(status: response.statusCode, fields: fields, url: response.url)
    }

    static func noResponse(_ url: URL) -> HTTPTransportError {
        HTTPTransportError(.other, host: url.host() ?? "", reason: "URLSession returned no response.")
    }
}

/// The content of a transfer for its reader. The transfer ends with the last reference.
final class SessionBody: ResponseBodySource {
    private let transfer: SessionTransfer
    private let exchanges: SessionExchanges
    /// The session ends with the transport.
    private let transport: URLSessionTransport

    init(_ transfer: SessionTransfer, _ exchanges: SessionExchanges, of transport: URLSessionTransport) {
        self.transfer = transfer
        self.exchanges = exchanges
        self.transport = transport
    }

    deinit { stop() }

    func stop() {
        transfer.end(.failure(CancellationError()))
        exchanges.cancel(transfer.task)
    }

    func next() async throws -> Data? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { transfer.take($0) }
        } onCancel: {
            stop()
        }
    }
}
