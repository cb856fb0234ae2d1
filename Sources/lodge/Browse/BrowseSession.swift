import CommandLineKit
import TerminalBrowser
import DirectorySearch
import OAuth2AccountStore

/// One run of the browser: passes events to the model, runs its effects and draws its screens.
///
/// Each slow effect is a separate task that posts its result.
@MainActor final class BrowseSession<Behavior: BrowseBehavior> {
    private var behavior: Behavior
    private let terminal: any BrowseTerminal
    private let inbox: EventQueue
    private let accounts: BrowseAccounts
    private let users: BrowseUsers
    private let clipboard: BrowseClipboard
    private let context: CommandContext
    /// The users chosen in the picker.
    private(set) var chosen: [User] = []
    private let tasks = BrowseTasks()
    private let start = ContinuousClock.now
    private var alarm: Task<Void, Never>?

    init(
        _ behavior: Behavior, _ terminal: any BrowseTerminal, _ inbox: EventQueue, _ context: CommandContext,
        _ accounts: BrowseAccounts
    ) {
        self.behavior = behavior
        self.terminal = terminal
        self.inbox = inbox
        self.accounts = accounts
        self.context = context
        users = BrowseUsers(accounts, inbox, isOffline: context.invocation[BrowseCommand.Input.offline])
        clipboard = BrowseClipboard(environment: context.world.environment)
    }

    /// Runs until the user quits.
    ///
    /// - Throws: `CancellationError` if the program must end or the terminal is closed.
    func run() async throws {
        defer { stop() }
        await accounts.publish()
        accounts.watch()
        while let events = await inbox.next() {
            var isRunning = true
            for event in events where isRunning {
                let now = ContinuousClock.now - start
                for effect in behavior.handle(event, at: now) where !carryOut(effect) { isRunning = false }
            }
            guard isRunning else { return }
            // Draw once for all pending events.
            terminal.draw(behavior.screen())
        }
        throw CancellationError()
    }

    private func stop() {
        alarm?.cancel()
        tasks.cancelAll()
        accounts.stop()
    }

    /// Runs or starts an effect. Returns `false` at the end.
    private func carryOut(_ effect: BrowseEffect) -> Bool {
        switch effect {
        case .wake(let time): wake(at: time)
        case .search(let number, let text):
            users.forgetSearch()
            begin(.search, number) { try await self.users.search(number, text) }
        case .localPreview(let number, let text):
            tasks.begin(.localPreview) { await self.users.localPreview(number, text) }
        case .cancelSearch:
            users.forgetSearch()
            tasks.cancel(.search)
        case .nextPage(let number): begin(.search, number) { try await self.users.nextPage(number) }
        case .detail(let number, let id):
            begin(.number(number), number) { try await self.users.detail(number, id, [.manager, .photo]) }
        case .reports(let number, let id):
            begin(.number(number), number) { try await self.users.detail(number, id, [.reports]) }
        case .groups(let number, let id):
            begin(.number(number), number) { try await self.users.detail(number, id, [.groups]) }
        case .photo(let number, let id): begin(.number(number), number) { try await self.users.photo(number, id) }
        case .cancel(let number): tasks.cancel(.number(number))
        case .use(let id):
            accounts.choose(id)
            tasks.begin(.account) { await self.accounts.publish() }
        case .signIn(let number, let whom): tasks.begin(.number(number)) { await self.accounts.signIn(number, whom) }
        case .copy(let text): copy(text)
        case .export(let users, let file, let format):
            tasks.begin(.export) { self.export(users, to: file, format) }
        case .choose(let users):
            chosen = users
            return false
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

    /// Starts a task and posts its error.
    private func begin(_ slot: BrowseTasks.Slot, _ number: Int, _ work: @escaping @MainActor () async throws -> Void) {
        tasks.begin(slot) { [inbox, accounts] in
            do {
                try await work()
            } catch {
                // A cancelled request is not an error.
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

    private func export(_ users: [User], to file: String, _ format: BrowseExportFormat) {
        do {
            let suffix = try context.dependencies().randomLetters()
            try BrowseExport(environment: context.world.environment, suffix: suffix).write(users, to: file, format)
            inbox.post(.exported(count: users.count, file: file))
        } catch {
            let error = CommandError(reporting: error)
            inbox.post(.exportFailed([error.message, error.reason].compactMap { $0 }.joined(separator: ": ")))
        }
    }

    /// Returns the chosen users with these fields, and loads fields that the list does not have.
    func chosen(with fields: [String]) async throws -> [User] {
        guard !Set(fields).isSubset(of: UserQuery.defaultProperties) else { return chosen }
        var users: [User] = []
        for user in chosen { users.append(try await self.users.user(user, select: fields)) }
        return users
    }
}

/// The running tasks. Each slot has at most one: a new task cancels the previous one.
@MainActor final class BrowseTasks {
    enum Slot: Hashable {
        case search
        /// A request number of the model.
        case number(Int)
        case localPreview, account, copy, export
    }

    private var running: [Slot: (turn: Int, task: Task<Void, Never>)] = [:]
    private var turn = 0

    func begin(_ slot: Slot, _ work: @escaping @MainActor () async -> Void) {
        cancel(slot)
        turn += 1
        let mine = turn
        running[slot] = (
            mine,
            Task { [weak self] in
                await work()
                if self?.running[slot]?.turn == mine { self?.running[slot] = nil }
            }
        )
    }

    func cancel(_ slot: Slot) { running.removeValue(forKey: slot)?.task.cancel() }

    func cancelAll() {
        for (_, task) in running.values { task.cancel() }
        running = [:]
    }
}
