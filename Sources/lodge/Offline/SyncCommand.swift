import CommandLineKit
import LodgePlatform
import DirectorySearch
import OAuth2AccountStore
import StrictJSON

@MainActor struct SyncCommand: CommandHandler {
    enum Input {
        static let properties = Option.text(
            "properties", "A,B,C", "save these properties of each user; a change downloads all users again")
        static let limit = Option.integer(
            "limit", "N", "copy at most this number of users (5000000)",
            in: 1...DirectorySync.largestMaximumUsers)
        static let forget = Option.flag("forget", "overwrite and remove the copy")
        static let all = Option.flag(
            "all", "with --forget: the copies of all accounts, including removed accounts")
    }

    nonisolated static let command = Command(
        "sync", "Download the directory for offline search.",
        discussion: """
            The first run downloads all users, later runs only the changes. A stopped run continues where it stopped. Microsoft Graph requires \
            the permission User.Read.All: lodge sign-in --add-scope User.Read.All. The copy is an unencrypted file, in the folder of the \
            store, that only you can read; sign-out and --forget overwrite and remove it. A directory that returns more than --limit users, or \
            users of more than 4 KB each, ends it with an error.
            """, examples: ["lodge sync", "lodge sync --properties displayName,givenName,surname,mail"],
        options: [Input.properties, Input.limit, Input.forget, Input.all], formats: OutputFormat.ofSentences,
        json: .object(
            [
                "account": "name, or null", "id": "of the account", "people": "number of users in the copy",
                "properties": "array", "completed": "RFC 3339, or null", "isListing": "Boolean", "bytes": "size",
                "location": "path", "changed": "number", "removed": "number", "pages": "number", "restarts": "number",
            ], note: "With --forget, only forgotten: the number of removed copies")
    ) { try await SyncCommand(context: $0).run() }

    let context: CommandContext

    func run() async throws -> ExitStatus {
        if invocation[Input.all], !invocation[Input.forget] {
            throw CommandError(.usage, "--all requires --forget", hint: "lodge help sync")
        }
        if invocation[Input.forget] { return try await forget() }
        let properties = try properties()
        let (store, account) = try await context.storeAndAccount()
        let kind = store.settings[account.type]?.directory ?? .graph
        guard kind == .graph else {
            throw Self.unsupported(
                account, .usage, "\(kind == .scim ? "SCIM" : "Google's directory") has no list of changes")
        }
        var retry = HTTPRetryPolicy.directory
        if let timeout = invocation[GlobalOptions.timeout] { retry.totalDelay = min(timeout, retry.totalDelay) }
        let sync = DirectorySync(
            of: GraphDirectory(account: account, in: store, retry: retry), account: account.id,
            in: try context.storeDirectory, properties: properties,
            maximumUsers: invocation[Input.limit] ?? DirectorySync.defaultMaximumUsers)
        let line = ProgressLine(console)
        let done: DirectorySync.Progress
        do {
            done = try await sync.run { await Self.show($0, line) }
        } catch let error as DirectoryError where error.kind == .notSupported {
            line.clear()
            throw Self.unsupported(
                account, .failed,
                "the directory has no list of changes (/users/delta): HTTP status \(error.status ?? 501)")
        } catch {
            line.clear()
            throw error
        }
        line.clear()
        try await report(done, sync.index, account)
        return .done
    }

    private static func unsupported(_ account: Account, _ status: ExitStatus, _ reason: String) -> CommandError {
        CommandError(
            status, "cannot create an offline copy for \(account.label)", reason: reason,
            hint: "to save all users once, run: \(run: "search") --all --output jsonl > users.jsonl")
    }

    private static func show(_ progress: DirectorySync.Progress, _ line: ProgressLine) {
        switch progress.phase {
        case .listing:
            line.show { seconds in
                "\(OfflineCopies.count(progress.users)), \(Int(Double(progress.changed) / seconds)) a second"
            }
        case .finishing: line.show { _ in "\(OfflineCopies.count(progress.users)), optimizing the index" }
        case .changes, .current: line.show { _ in "\(progress.changed) changed, \(progress.removed) removed" }
        }
    }

    private func properties() throws -> [String]? {
        guard let text = invocation[Input.properties] else { return nil }
        let names = text.split(separator: ",").map { $0.filter { $0 != " " } }.filter { !$0.isEmpty }
        guard !names.isEmpty else {
            throw CommandError(
                .usage, "no property is given", reason: "expected a list such as displayName,mail",
                hint: "lodge help sync")
        }
        return names
    }

    private func report(_ done: DirectorySync.Progress, _ index: OfflineIndex, _ account: Account) async throws {
        guard let summary = try await index.summary() else { return }
        if console.options.reportsJSON {
            var object = OfflineCopies.json(index, summary, account)
            let counts = [
                ("changed", done.changed), ("removed", done.removed), ("pages", done.pages),
                ("restarts", done.restarts),
            ]
            for (name, count) in counts { object.append(name, .number(JSONNumber(Int64(count)))) }
            return try console.write(.object(object))
        }
        console.note(
            "The offline copy of \(account.label) has \(OfflineCopies.count(summary.users)): \(done.changed) new or changed, "
                + "\(done.removed) removed.")
        console.verbose("They are not encrypted; only you can read \(index.path).")
    }

    private func forget() async throws -> ExitStatus {
        _ = try invocation.prefers(Input.forget, over: Input.properties)
        let directory = try context.storeDirectory
        var accounts = await OfflineIndex.all(in: directory).map(\.account)
        if !invocation[Input.all] { accounts = [try await context.storeAndAccount().account.id] }
        var count = 0
        for account in accounts where try await OfflineIndex.forget(account: account, in: directory) { count += 1 }
        if console.options.reportsJSON {
            try console.write(["forgotten": .number(JSONNumber(Int64(count)))])
        }
        console.note(
            count == 0 ? "There was no offline copy." : "The offline copy was overwritten and removed.")
        return .done
    }
}

extension CommandError {
    init(storage error: StorageError) {
        self.init(.store, "cannot use the offline copy", reason: error.description, hint: error.hint)
    }
}
