import CommandLineKit
import Platform
import DirectorySearch
import OAuth2AccountStore
import StrictJSON

/// `sync`
@MainActor
struct SyncCommand {
    private let context: CommandContext
    private let invocation: Invocation

    init(_ context: CommandContext) {
        self.context = context
        invocation = context.invocation
    }

    func run() async throws -> ExitStatus {
        if invocation.flag("all"), !invocation.flag("forget") {
            throw CommandError(.usage, "--all goes with --forget", hint: "lodge help sync")
        }
        if invocation.flag("forget") { return try await forget() }
        let properties = try properties()
        let store = try await context.store(try context.settings())
        let account = try await context.account(store)
        var retry = RetryPolicy()
        if let timeout = invocation.duration("timeout") { retry.totalDelay = min(timeout, retry.totalDelay) }
        let sync = DirectorySync(
            of: GraphDirectory(account: account, in: store, retry: retry), account: account.id,
            in: context.storeDirectory, properties: properties)
        let line = ProgressLine(context.console)
        let done: DirectorySync.Progress
        do {
            done = try await sync.run { await Self.show($0, line) }
        } catch {
            line.clear()
            throw error
        }
        line.clear()
        try await report(done, sync.index, account)
        return .done
    }

    private static func show(_ progress: DirectorySync.Progress, _ line: ProgressLine) {
        switch progress.phase {
        case .listing:
            line.show { seconds in
                "\(OfflineCopies.count(progress.people)), \(Int(Double(progress.changed) / seconds)) a second"
            }
        case .settling: line.show { _ in "\(OfflineCopies.count(progress.people)), putting the index in order" }
        case .changes, .current: line.show { _ in "\(progress.changed) changed, \(progress.removed) removed" }
        }
    }

    /// The names of `--properties`; nil without it.
    private func properties() throws -> [String]? {
        guard let text = invocation.string("properties") else { return nil }
        let names = text.split(separator: ",").map { $0.filter { $0 != " " } }.filter { !$0.isEmpty }
        guard !names.isEmpty else {
            throw CommandError(
                .usage, "no property is named", reason: "--properties has a list such as displayName,mail",
                hint: "lodge help sync")
        }
        return names
    }

    private func report(_ done: DirectorySync.Progress, _ index: OfflineIndex, _ account: Account) async throws {
        guard let summary = try await index.summary() else { return }
        if context.console.options.reportsJSON {
            var object = OfflineCopies.json(index, summary, account)
            object.append("changed", .number(JSONNumber(Int64(done.changed))))
            object.append("removed", .number(JSONNumber(Int64(done.removed))))
            object.append("pages", .number(JSONNumber(Int64(done.pages))))
            object.append("restarts", .number(JSONNumber(Int64(done.restarts))))
            try context.console.write(.object(object))
            return
        }
        context.console.note(
            "\(OfflineCopies.count(summary.people)) kept for \(account.label): \(done.changed) new or changed, "
                + "\(done.removed) removed.")
        context.console.verbose("They are in clear text in \(index.path), which only you can read.")
    }

    private func forget() async throws -> ExitStatus {
        _ = try invocation.chosen("forget", or: "properties")
        let directory = context.storeDirectory
        var accounts = await OfflineIndex.all(in: directory).map(\.account)
        if !invocation.flag("all") {
            let store = try await context.store(try context.settings())
            accounts = [try await context.account(store).id]
        }
        var count = 0
        for account in accounts where try await OfflineIndex.forget(account: account, in: directory) { count += 1 }
        if context.console.options.reportsJSON {
            try context.console.write(["forgotten": .number(JSONNumber(Int64(count)))])
        }
        context.console.note(
            count == 0 ? "There was no offline copy." : "The offline copy was overwritten and removed.")
        return .done
    }
}

extension CommandError {
    /// What a failure of the offline copy means to the person at the command line.
    init(offline error: OfflineIndexError) {
        let (status, hint): (ExitStatus, Hint) =
            switch error.kind {
            case .missing, .forgotten: (.failed, "\(run: "sync")")
            case .damaged, .laterVersion, .anotherAccount: (.store, "\(run: "sync") --forget, then \(run: "sync")")
            }
        self.init(status, error.summary, reason: error.place, hint: hint)
    }

    /// What a failure of a file means.
    init(storage error: StorageError) {
        self.init(.store, "the offline copy cannot be used", reason: error.description, hint: error.hint)
    }
}
