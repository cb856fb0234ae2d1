import LodgePlatform
import HTTPExchange
import Synchronization

/// The queue of chunks between the producing program and the sending worker.
///
/// The program waits while it contains half a megabyte.
final class UploadStream: Sendable {
    private struct State {
        var chunks: [Data] = []
        /// The number of bytes taken from the first chunk.
        var taken = 0
        var waiting = 0
        var end: Result<Void, any Error>?
        var needsWake = false
        var producer: CheckedContinuation<Void, Never>?
        var task: Task<Void, Never>?
    }

    /// The result of reading the queue.
    enum Found {
        case bytes(Int)
        /// There are no bytes yet. `wake` is called when that changes.
        case nothing
        case end
        case failure(any Error)
    }

    private static let capacity = 1 << 19
    private let state = Mutex(State())
    private let wake: @Sendable () -> Void

    /// Creates the queue and starts to produce the chunks.
    init(_ source: ChunkSource, wake: @escaping @Sendable () -> Void) {
        self.wake = wake
        let task = Task.detached { [self] in
            do {
                try await source.produce { [self] in try await put($0) }
                end(.success(()))
            } catch {
                end(.failure(error))
            }
        }
        state.withLock { $0.task = task }
    }

    /// Stops the producer.
    func close() {
        end(.failure(CancellationError()))
        state.withLock(\.task)?.cancel()
    }

    /// Copies bytes into the buffer. Called only by the worker.
    func take(into buffer: UnsafeMutableRawBufferPointer) -> Found {
        let (found, producer) = state.withLock { state -> (Found, CheckedContinuation<Void, Never>?) in
            guard let first = state.chunks.first else {
                if let end = state.end {
                    if case .failure(let failure) = end { return (.failure(failure), nil) }
                    return (.end, nil)
                }
                state.needsWake = true
                return (.nothing, nil)
            }
            let count = min(first.count - state.taken, buffer.count)
            let start = first.startIndex + state.taken
            _ = first[start..<start + count].copyBytes(to: buffer)
            state.taken += count
            state.waiting -= count
            if state.taken == first.count {
                state.chunks.removeFirst()
                state.taken = 0
            }
            guard state.waiting < Self.capacity else { return (.bytes(count), nil) }
            defer { state.producer = nil }
            return (.bytes(count), state.producer)
        }
        producer?.resume()
        return found
    }

    private func put(_ chunk: Data) async throws {
        let (isOpen, mustWait) = add(chunk)
        guard isOpen else { throw CancellationError() }
        guard mustWait else { return }
        // The worker resumes this, or `close`, which follows every cancellation of this task.
        await withCheckedContinuation { continuation in
            let isDone = state.withLock { state in
                guard state.end == nil, state.waiting >= Self.capacity else { return true }
                state.producer = continuation
                return false
            }
            if isDone { continuation.resume() }
        }
    }

    private func add(_ chunk: Data) -> (isOpen: Bool, mustWait: Bool) {
        let (isOpen, mustWait, needsWake) = state.withLock { state in
            guard state.end == nil else { return (false, false, false) }
            state.chunks.append(chunk)
            state.waiting += chunk.count
            defer { state.needsWake = false }
            return (true, state.waiting >= Self.capacity, state.needsWake)
        }
        if needsWake { wake() }
        return (isOpen, mustWait)
    }

    private func end(_ result: Result<Void, any Error>) {
        let (producer, needsWake) = state.withLock { state -> (CheckedContinuation<Void, Never>?, Bool) in
            guard state.end == nil else { return (nil, false) }
            state.end = result
            defer {
                state.producer = nil
                state.needsWake = false
            }
            return (state.producer, state.needsWake)
        }
        producer?.resume()
        if needsWake { wake() }
    }
}
