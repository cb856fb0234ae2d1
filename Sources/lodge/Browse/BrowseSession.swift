import CommandLineKit
import TerminalBrowser
import DirectorySearch
import OAuth2AccountStore

/// One run of the browser: tells the model what happens, does what it wants, shows what it shows.
///
/// Nothing here waits for the network or the terminal: what takes time is a task of its own that posts its answer.
@MainActor
final class BrowseSession<Behaviour: BrowseBehaviour> {
    private var behaviour: Behaviour
    private let terminal: any BrowseTerminal
    private let inbox: EventQueue
    private let accounts: BrowseAccounts
    private let people: BrowsePeople
    private let clipboard: BrowseClipboard
    private let tasks = BrowseTasks()
    private let start = ContinuousClock.now
    private var alarm: Task<Void, Never>?

    init(
        _ behaviour: Behaviour, _ terminal: any BrowseTerminal, _ inbox: EventQueue, _ context: CommandContext,
        _ accounts: BrowseAccounts
    ) {
        self.behaviour = behaviour
        self.terminal = terminal
        self.inbox = inbox
        self.accounts = accounts
        people = BrowsePeople(accounts, inbox, isOffline: context.invocation[BrowseCommand.Input.offline])
        clipboard = BrowseClipboard(environment: context.world.environment)
    }

    /// Goes on until the person has enough.
    ///
    /// - Throws: `CancellationError` when the program is told to end, or the terminal is gone.
    func run() async throws {
        defer { stop() }
        await accounts.tell()
        accounts.watch()
        while let events = await inbox.next() {
            var isWanted = true
            for event in events where isWanted {
                let now = ContinuousClock.now - start
                for effect in behaviour.handle(event, at: now) where !carryOut(effect) { isWanted = false }
            }
            guard isWanted else { return }
            // Once, however many keys came together.
            terminal.draw(behaviour.screen())
        }
        throw CancellationError()
    }

    private func stop() {
        alarm?.cancel()
        tasks.cancelAll()
        accounts.stop()
    }

    /// Does what is wanted, or begins it. False: it was the end.
    private func carryOut(_ effect: BrowseEffect) -> Bool {
        switch effect {
        case .wake(let time): wake(at: time)
        case .search(let number, let text):
            people.forgetSearch()
            begin(.search, number) { try await self.people.search(number, text) }
        case .localPreview(let number, let text):
            tasks.begin(.localPreview) { await self.people.localPreview(number, text) }
        case .cancelSearch:
            people.forgetSearch()
            tasks.cancel(.search)
        case .nextPage(let number): begin(.search, number) { try await self.people.nextPage(number) }
        case .detail(let number, let id):
            begin(.number(number), number) { try await self.people.detail(number, id, [.manager, .photo]) }
        case .reports(let number, let id):
            begin(.number(number), number) { try await self.people.detail(number, id, [.reports]) }
        case .groups(let number, let id):
            begin(.number(number), number) { try await self.people.detail(number, id, [.groups]) }
        case .photo(let number, let id):
            begin(.number(number), number) { try await self.people.photo(number, id) }
        case .cancel(let number): tasks.cancel(.number(number))
        case .use(let id):
            accounts.choose(id)
            tasks.begin(.account) { await self.accounts.tell() }
        case .signIn(let number, let whom): tasks.begin(.number(number)) { await self.accounts.signIn(number, whom) }
        case .copy(let text): copy(text)
        case .export(let users): tasks.begin(.export) { await self.export(users) }
        case .redraw: terminal.redraw()
        case .suspend: terminal.suspend()
        case .quit: return false
        }
        return true
    }

    private func wake(at time: Duration) {
        alarm?.cancel()
        let (inbox, moment) = (inbox, start + time)
        alarm = Task {
            guard (try? await Task.sleep(until: moment, clock: .continuous)) != nil else { return }
            inbox.post(.tick)
        }
    }

    /// Begins what may fail, and posts why it did.
    private func begin(
        _ location: BrowseTasks.Place, _ number: Int, _ work: @escaping @MainActor () async throws -> Void
    ) {
        tasks.begin(location) { [inbox, accounts] in
            do {
                try await work()
            } catch {
                // What nobody wants any more is no failure.
                guard !Task.isCancelled else { return }
                accounts.note(error)
                inbox.post(.failed(number, BrowseFailure(reporting: error)))
            }
        }
    }

    private func copy(_ text: String) {
        tasks.begin(.copy) { [inbox, clipboard, terminal] in
            if let program = await clipboard.copy(text) { return inbox.post(.copied(text, by: program)) }
            terminal.copy(text)
            inbox.post(.copied(text, by: "OSC 52"))
        }
    }

    private func export(_ users: [User]) async {
        do throws(CommandError) {
            let file = try BrowseExport.write(users)
            inbox.post(.exported(count: users.count, file: file))
        } catch {
            inbox.post(.exportFailed([error.message, error.reason].compactMap { $0 }.joined(separator: ": ")))
        }
    }
}

/// The tasks under way, each in a place that has one at most: a new one ends the one before.
@MainActor
final class BrowseTasks {
    enum Place: Hashable {
        case search
        /// What the model counts.
        case number(Int)
        case localPreview, account, copy, export
    }

    private var running: [Place: (turn: Int, task: Task<Void, Never>)] = [:]
    private var turn = 0

    func begin(_ location: Place, _ work: @escaping @MainActor () async -> Void) {
        cancel(location)
        turn += 1
        let mine = turn
        running[location] = (
            mine,
            Task { [weak self] in
                await work()
                if self?.running[location]?.turn == mine { self?.running[location] = nil }
            }
        )
    }

    func cancel(_ location: Place) { running.removeValue(forKey: location)?.task.cancel() }

    func cancelAll() {
        for (_, task) in running.values { task.cancel() }
        running = [:]
    }
}
