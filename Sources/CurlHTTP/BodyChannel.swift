import LodgePlatform
import HTTPExchange
import Synchronization

/// The content queue between the worker, which receives a streamed response, and its reader.
///
/// It holds about half a megabyte. When it is full, the worker pauses the connection, and the reader calls `resume`
/// when there is space.
final class BodyChannel: Sendable {
    private struct State {
        var head: CheckedContinuation<HTTPResponse, any Error>?
        var content = Data()
        var isFull = false
        var end: Result<Void, any Error>?
        var readers: [CheckedContinuation<Data?, any Error>] = []
        var file: OpenFile?
        var fileWriter: CheckedContinuation<Void, any Error>?
        var meter: ProgressMeter?
    }

    /// The number of queued bytes after which the connection pauses.
    static let capacity = 1 << 19
    private let state = Mutex(State())

    // MARK: - Worker

    /// Delivers the head. Later calls have no effect.
    func begin(_ head: HTTPResponse) {
        state.withLock { state in
            defer { state.head = nil }
            return state.head
        }?.resume(returning: head)
    }

    /// Appends bytes; returns `false` and appends none if the channel is full.
    func put(_ bytes: UnsafeRawBufferPointer) -> Bool {
        state.withLock { state in
            guard state.content.count < Self.capacity else {
                state.isFull = true
                return false
            }
            if state.content.isEmpty { state.content.reserveCapacity(Self.capacity) }
            state.content.append(contentsOf: bytes)
            return true
        }
    }

    /// Delivers received content to a waiting reader.
    func flush() {
        let (reader, chunk) = state.withLock { state -> (CheckedContinuation<Data?, any Error>?, Data) in
            guard !state.readers.isEmpty, !state.content.isEmpty else { return (nil, Data()) }
            return (state.readers.removeFirst(), Self.takeContent(&state))
        }
        reader?.resume(returning: chunk)
    }

    /// Whether a paused connection can be read again.
    var hasRoom: Bool { state.withLock { !$0.isFull } }

    /// Returns the file for the content from now on, with the queued bytes to write to it. Returns it only once.
    func takeFile() -> (file: OpenFile, waiting: Data)? {
        state.withLock { state in
            guard let file = state.file else { return nil }
            state.file = nil
            return (file, Self.takeContent(&state))
        }
    }

    /// Ends the content with success or an error. Only the first call has an effect.
    func end(_ result: Result<HTTPResponse, any Error>) {
        let outcome = result.map { _ in }
        // A waiting reader gets the last bytes first; only a reader without bytes gets the end.
        flush()
        let waiting: State? = state.withLock { state in
            guard state.end == nil else { return nil }
            let before = state
            state.end = outcome
            state.head = nil
            state.readers = []
            state.file = nil
            state.fileWriter = nil
            state.meter = nil
            return before
        }
        guard let waiting else { return }
        // Report the progress before the end.
        waiting.meter?.end()
        waiting.head?.resume(with: result)
        for reader in waiting.readers { reader.resume(with: outcome.map { nil }) }
        // If the worker did not yet take the file, its writer finds the remaining bytes and the outcome here.
        waiting.fileWriter?.resume(with: waiting.file == nil ? outcome : .success(()))
    }

    // MARK: - Reader

    func awaitHead(_ continuation: CheckedContinuation<HTTPResponse, any Error>) {
        state.withLock { $0.head = continuation }
    }

    /// Ends the meter together with the content.
    func end(_ meter: ProgressMeter) {
        let hasEnded = state.withLock { state in
            if state.end == nil { state.meter = meter }
            return state.end != nil
        }
        if hasEnded { meter.end() }
    }

    enum Found {
        /// Bytes, and whether the queue was full and the worker must be resumed.
        case chunk(Data, wasFull: Bool)
        case end(Result<Void, any Error>)
        case nothing
    }

    func take() -> Found {
        state.withLock { Self.take(&$0) }
    }

    private static func take(_ state: inout State) -> Found {
        guard state.content.isEmpty else {
            let wasFull = state.isFull
            return .chunk(takeContent(&state), wasFull: wasFull)
        }
        return state.end.map { .end($0) } ?? .nothing
    }

    /// Waits for the next chunk or the end.
    ///
    /// If a chunk has already arrived, resumes immediately and returns whether the queue was full.
    func wait(_ reader: CheckedContinuation<Data?, any Error>) -> Bool {
        let found = state.withLock { state in
            let found = Self.take(&state)
            if case .nothing = found { state.readers.append(reader) }
            return found
        }
        switch found {
        case .chunk(let chunk, let wasFull):
            reader.resume(returning: chunk)
            return wasFull
        case .end(let result): reader.resume(with: result.map { nil })
        case .nothing: break
        }
        return false
    }

    /// Writes all remaining content to a file on the worker's thread. The continuation resumes at the end.
    func divert(to file: OpenFile, _ continuation: CheckedContinuation<Void, any Error>) {
        let hasEnded = state.withLock { state in
            guard state.end == nil else { return true }
            state.file = file
            state.fileWriter = continuation
            return false
        }
        if hasEnded { continuation.resume() }
    }

    private static func takeContent(_ state: inout State) -> Data {
        state.isFull = false
        defer { state.content = Data() }
        return state.content
    }
}
