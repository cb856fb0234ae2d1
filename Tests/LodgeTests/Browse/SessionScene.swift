import LocalProvider
import Synchronization

@testable import CommandLineKit
@testable import TerminalBrowser
@testable import lodge

/// A terminal in memory. Tests wait for its screen and press keys.
final class ValueTerminal: BrowseTerminal {
    private struct State {
        var screen: Screen?
        var waiters: [Int: (condition: @Sendable (Screen) -> Bool, continuation: CheckedContinuation<Void, Never>)] =
            [:]
        var lastWaiter = 0
        var isGivenUp = false
        var copied: [String] = []
        var suspensions = 0
        var redraws = 0
        var closings = 0
    }

    private let state = Mutex(State())
    let inbox: EventQueue
    let showsPictures = false

    init(_ inbox: EventQueue, columns: Int = 100, rows: Int = 30) {
        self.inbox = inbox
        inbox.post(.resized(ScreenSize(columns: columns, rows: rows)))
    }

    var text: String { state.withLock { $0.screen?.text ?? "" } }
    var copied: [String] { state.withLock { $0.copied } }
    var suspensions: Int { state.withLock { $0.suspensions } }
    var redraws: Int { state.withLock { $0.redraws } }
    var closings: Int { state.withLock { $0.closings } }

    func draw(_ screen: Screen) {
        let reached = state.withLock { state in
            state.screen = screen
            let reached = state.waiters.filter { $0.value.condition(screen) }
            for number in reached.keys { state.waiters[number] = nil }
            return reached.values.map(\.continuation)
        }
        for waiter in reached { waiter.resume() }
    }

    func redraw() { state.withLock { $0.redraws += 1 } }
    func suspend() {
        state.withLock { $0.suspensions += 1 }
        inbox.post(.resumed)
    }
    func copy(_ text: String) { state.withLock { $0.copied.append(text) } }
    func close() async { state.withLock { $0.closings += 1 } }

    func press(_ keys: Key...) { inbox.post(keys.map { .key($0) }) }
    func type(_ text: String) { inbox.post(text.map { .key(.character($0)) }) }

    /// Waits until the screen meets the condition. If it never does, the test's time limit ends the wait.
    @discardableResult
    func wait(_ condition: @escaping @Sendable (Screen) -> Bool) async -> Screen? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReached = state.withLock { state in
                    if state.isGivenUp || state.screen.map(condition) == true { return true }
                    state.lastWaiter += 1
                    state.waiters[state.lastWaiter] = (condition, continuation)
                    return false
                }
                if isReached { continuation.resume() }
            }
        } onCancel: {
            let waiters = state.withLock { state in
                state.isGivenUp = true
                defer { state.waiters = [:] }
                return state.waiters.values.map(\.continuation)
            }
            for waiter in waiters { waiter.resume() }
        }
        return state.withLock { $0.screen }
    }

    @discardableResult
    func wait(for text: String) async -> Screen? { await wait { $0.text.contains(text) } }
}

extension Terminal {
    /// Runs `browse` with these words while a function acts for the user. At the end it presses ctrl-c.
    func browse(
        _ words: String..., person: @escaping @MainActor (ValueTerminal) async throws -> Void
    ) async throws -> (transcript: Transcript, terminal: ValueTerminal) {
        let (terminals, ready) = AsyncStream.makeStream(of: ValueTerminal.self)
        browseTerminal = { inbox in
            let terminal = ValueTerminal(inbox)
            ready.yield(terminal)
            return terminal
        }
        async let transcript = run(words: ["browse"] + words)
        var iterator = terminals.makeAsyncIterator()
        guard let terminal = await iterator.next() else { throw CancellationError() }
        do {
            try await person(terminal)
        } catch {
            terminal.press(.control("c"))
            throw error
        }
        terminal.press(.control("c"))
        return (await transcript, terminal)
    }

    /// The queries for lists of users so far.
    var searches: [String] { provider.searches }

    /// Returns settings with a second type, `other`, at another provider.
    func nested(beside other: LoopbackProvider) -> String {
        """
        {"defaultType": "local", "types": {"local": \(type(provider)), "other": \(type(other))}}
        """
    }

    private func type(_ provider: LoopbackProvider) -> String {
        """
        {"issuer": "\(provider.issuer)", "clientId": "\(provider.clientID)",
        "redirectUri": "http://127.0.0.1/callback", "graphAPI": "\(provider.graphBase)",
        "scopes": ["openid", "profile", "offline_access", "User.Read", "User.ReadBasic.All"]}
        """
    }
}

extension LoopbackProvider {
    /// The queries for lists of users so far.
    var searches: [String] { log().filter { $0.method == "GET" && $0.path.hasSuffix("/users") }.map { $0.query ?? "" } }
}
