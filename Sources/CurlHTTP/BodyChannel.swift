import Platform
import HTTPExchange
import Synchronization

/// The queue of content between the worker, which receives a streamed response, and its reader.
///
/// It holds about half a megabyte. When it is full the worker lets the connection rest and the reader reports, through `resume`, when there
/// is room again.
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

    // MARK: - The worker's side

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

    /// The file that the content goes to from now on, with what waits to be written to it. Given once.
    func takeFile() -> (file: OpenFile, waiting: Data)? {
        state.withLock { state in
            guard let file = state.file else { return nil }
            state.file = nil
            return (file, Self.takeContent(&state))
        }
    }

    /// Ends the content, well or not. Only the first call counts.
    func end(_ result: Result<HTTPResponse, any Error>) {
        let outcome = result.map { _ in }
        // A reader that waits gets the last bytes; only one that finds none is told of the end.
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
        // The order in which people see it: how far it came, then that it is over.
        waiting.meter?.end()
        waiting.head?.resume(with: result)
        for reader in waiting.readers { reader.resume(with: outcome.map { nil }) }
        // Where the worker did not hear of the file, its writer finds here what is left for it, and how it ended.
        waiting.fileWriter?.resume(with: waiting.file == nil ? outcome : .success(()))
    }

    // MARK: - The reader's side

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
        /// Bytes, and whether the worker must be resumed.
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

    /// Waits for the next chunk, or for the end. Gives it at once where it is there meanwhile, and then says whether it was full.
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

    /// Lets the worker write everything that is still to come to a file. The continuation is resumed at the end; at once when that was.
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
