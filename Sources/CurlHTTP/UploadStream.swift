import Platform
import HTTPExchange
import Synchronization

/// Chunks on their way from the program that makes them to the worker that sends them.
///
/// Half a megabyte waits at most, beyond the last chunk: then the program waits.
final class UploadStream: Sendable {
    private struct State {
        var chunks: [Data] = []
        /// How much of the first chunk was taken.
        var taken = 0
        var waiting = 0
        var end: Result<Void, any Error>?
        var isWanted = false
        var maker: CheckedContinuation<Void, Never>?
        var task: Task<Void, Never>?
    }

    /// What the worker finds.
    enum Found {
        case bytes(Int)
        /// Nothing yet: `wake` is called when that changes.
        case nothing
        case end
        case failure(any Error)
    }

    private static let capacity = 1 << 19
    private let state = Mutex(State())
    private let wake: @Sendable () -> Void

    /// Begins to make the chunks.
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

    /// Ends the making of chunks.
    func close() {
        end(.failure(CancellationError()))
        state.withLock(\.task)?.cancel()
    }

    /// Copies bytes into the buffer. Called by the worker only.
    func take(into buffer: UnsafeMutableRawBufferPointer) -> Found {
        let (found, maker) = state.withLock { state -> (Found, CheckedContinuation<Void, Never>?) in
            guard let first = state.chunks.first else {
                if let end = state.end {
                    if case .failure(let failure) = end { return (.failure(failure), nil) }
                    return (.end, nil)
                }
                state.isWanted = true
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
            defer { state.maker = nil }
            return (.bytes(count), state.maker)
        }
        maker?.resume()
        return found
    }

    private func put(_ chunk: Data) async throws {
        let (isOpen, mustWait) = add(chunk)
        guard isOpen else { throw CancellationError() }
        guard mustWait else { return }
        // Ended by the worker's taking or by `close`, which comes with every cancellation of this task.
        await withCheckedContinuation { continuation in
            let isDone = state.withLock { state in
                guard state.end == nil, state.waiting >= Self.capacity else { return true }
                state.maker = continuation
                return false
            }
            if isDone { continuation.resume() }
        }
    }

    private func add(_ chunk: Data) -> (isOpen: Bool, mustWait: Bool) {
        let (isOpen, mustWait, isWanted) = state.withLock { state in
            guard state.end == nil else { return (false, false, false) }
            state.chunks.append(chunk)
            state.waiting += chunk.count
            defer { state.isWanted = false }
            return (true, state.waiting >= Self.capacity, state.isWanted)
        }
        if isWanted { wake() }
        return (isOpen, mustWait)
    }

    private func end(_ result: Result<Void, any Error>) {
        let (maker, isWanted) = state.withLock { state -> (CheckedContinuation<Void, Never>?, Bool) in
            guard state.end == nil else { return (nil, false) }
            state.end = result
            defer {
                state.maker = nil
                state.isWanted = false
            }
            return (state.maker, state.isWanted)
        }
        maker?.resume()
        if isWanted { wake() }
    }
}
