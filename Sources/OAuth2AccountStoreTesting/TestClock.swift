import LodgePlatform
import HTTPExchange
import OAuth2AccountStore
import Synchronization

/// A clock that a test sets.
public final class TestClock: Sendable {
    /// The behavior of a wait.
    public enum Waiting: Sendable {
        /// A wait advances the clock and ends immediately.
        case movesTheClock
        /// A wait ends when the test has advanced the clock far enough.
        case waitsForTheTest
    }

    private struct Sleeper {
        let until: Double
        let continuation: CheckedContinuation<Void, any Error>
    }
    private struct State {
        var passed = 0.0
        var tickets = 0
        var sleepers: [Int: Sleeper] = [:]
        var waits: [Duration] = []
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let start: Date
    private let waiting: Waiting
    private let state = Mutex(State())

    /// Creates a clock that shows this time; without arguments the morning of 15 January 2026.
    public init(_ start: Date = Date(timeIntervalSince1970: 1_768_469_400), waiting: Waiting = .movesTheClock) {
        self.start = start
        self.waiting = waiting
    }

    /// The time of day.
    public var now: Date { start.addingTimeInterval(state.withLock { $0.passed }) }
    /// The time since the start.
    public var uptime: Duration { .seconds(state.withLock { $0.passed }) }
    /// The durations of all waits, finished or not.
    public var waits: [Duration] { state.withLock { $0.waits } }
    /// The number of current waits.
    public var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    /// Waits until the number of current waits is reached, so that a test does not advance the clock too early.
    public func waitForSleepers(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                guard state.sleepers.count < count else { return true }
                state.watchers.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// Advances the clock and ends the waits that are due. A negative duration sets it back.
    public func advance(by time: Duration) {
        let due = state.withLock { state in
            state.passed += time / .seconds(1)
            let due = state.sleepers.filter { $0.value.until <= state.passed }
            for number in due.keys { state.sleepers[number] = nil }
            return due.values.sorted { $0.until < $1.until }
        }
        for sleeper in due { sleeper.continuation.resume() }
    }

    /// Waits for a duration.
    ///
    /// - Throws: `CancellationError` if the task is cancelled.
    public func sleep(for time: Duration) async throws {
        try Task.checkCancellation()
        guard waiting == .waitsForTheTest else {
            state.withLock { $0.waits.append(time) }
            return advance(by: time)
        }
        let number = state.withLock { state in
            state.tickets += 1
            state.waits.append(time)
            return state.tickets
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (result, watchers) = state.withLock { state in
                    enqueue(number, time, continuation, &state)
                }
                if let result { continuation.resume(with: result) }
                for watcher in watchers { watcher.resume() }
            }
        } onCancel: {
            state.withLock { $0.sleepers.removeValue(forKey: number) }?.continuation.resume(
                throwing: CancellationError())
        }
    }
}

extension TestClock {
    /// Adds a wait; returns its result if it ends immediately, and the watchers to resume.
    private func enqueue(
        _ number: Int, _ time: Duration, _ continuation: CheckedContinuation<Void, any Error>, _ state: inout State
    ) -> (Result<Void, any Error>?, [CheckedContinuation<Void, Never>]) {
        if Task.isCancelled { return (.failure(CancellationError()), []) }
        guard time > .zero else { return (.success(()), []) }
        state.sleepers[number] = Sleeper(until: state.passed + time / .seconds(1), continuation: continuation)
        let count = state.sleepers.count
        let satisfied = state.watchers.filter { $0.count <= count }.map(\.continuation)
        state.watchers.removeAll { $0.count <= count }
        return (nil, satisfied)
    }
}

extension Dependencies {
    /// Returns dependencies for tests: this transport, this clock, no environment, and a browser that does not open.
    public static func testing(transport: any HTTPTransport, clock: TestClock = TestClock()) -> Dependencies {
        var dependencies = Dependencies(transport: transport, environment: [:])
        dependencies.now = { clock.now }
        dependencies.uptime = { clock.uptime }
        dependencies.sleep = { try await clock.sleep(for: $0) }
        dependencies.openBrowser = { _ in throw UnavailableBrowser() }
        return dependencies
    }
}

/// A browser that does not open, for tests.
private struct UnavailableBrowser: Error, CustomStringConvertible {
    var description: String {
        "a test has no browser: use prepareSignIn(to:) and handleRedirect(_:), or SignedInFixture"
    }
}

/// Stores without a file.
public enum InMemoryStore {
    /// Returns a store that keeps its accounts in memory, with its own key.
    ///
    /// - Throws: `AccountStoreError`
    public static func open(settings: Settings, dependencies: Dependencies) async throws -> AccountStore {
        try await AccountStore(
            settings: settings, storage: MemoryStorage(), custody: try MemoryKey(), dependencies: dependencies,
            watchesOtherProcesses: false)
    }
}
