import Platform
import HTTPExchange
import OAuth2AccountStore
import Synchronization

/// A clock that a test sets.
public final class TestClock: Sendable {
    /// What it means to wait.
    public enum Waiting: Sendable {
        /// Whoever waits moves the clock by that much and goes on at once.
        case movesTheClock
        /// Whoever waits goes on when the test has moved the clock far enough.
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

    /// A clock that shows this time; without arguments the morning of 15 January 2026.
    public init(_ start: Date = Date(timeIntervalSince1970: 1_768_469_400), waiting: Waiting = .movesTheClock) {
        self.start = start
        self.waiting = waiting
    }

    /// The time of day.
    public var now: Date { start.addingTimeInterval(state.withLock { $0.passed }) }
    /// The seconds since the start.
    public var uptime: Double { state.withLock { $0.passed } }
    /// How long was waited, each time, whether it is over or not.
    public var waits: [Duration] { state.withLock { $0.waits } }
    /// How many are waiting now.
    public var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    /// Waits until so many are waiting, so that a test moves the clock neither too early nor by chance.
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

    /// Moves the clock, and lets those go on whose time has come. A negative time sets it back.
    public func advance(by time: Duration) {
        let due = state.withLock { state in
            state.passed += time / .seconds(1)
            let due = state.sleepers.filter { $0.value.until <= state.passed }
            for number in due.keys { state.sleepers[number] = nil }
            return due.values.sorted { $0.until < $1.until }
        }
        for sleeper in due { sleeper.continuation.resume() }
    }

    /// Waits.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
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
                    begin(number, time, continuation, &state)
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
    /// Enters somebody who waits: what they get at once, if anything, and who watched for their coming.
    private func begin(
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
    /// A world for tests: this network, this clock, no environment, and a browser that cannot be opened.
    public static func testing(transport: any HTTPTransport, clock: TestClock = TestClock()) -> Dependencies {
        var dependencies = Dependencies(transport: transport, environment: [:])
        dependencies.now = { clock.now }
        dependencies.uptime = { clock.uptime }
        dependencies.sleep = { try await clock.sleep(for: $0) }
        dependencies.openBrowser = { _ in throw UnavailableBrowser() }
        return dependencies
    }
}

/// There is no browser in a test.
private struct UnavailableBrowser: Error, CustomStringConvertible {
    var description: String {
        "a test has no browser: use prepareSignIn(to:) and handleRedirect(_:), or SignedInFixture"
    }
}

/// Opens stores without a file.
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
