import CommandLineKit
import OAuth2AccountStore
import LodgePlatform
import StrictJSON

/// `accounts refresh`: refreshes tokens.
@MainActor struct AccountsRefresh: CommandHandler {
    enum Input {
        static let account = Argument.optional(
            "ACCOUNT", "account to refresh (the active account)", completion: .account)
        static let all = Option.flag("all", "refresh all accounts, or with --type all of this type")
    }

    nonisolated static let command = Command(
        "refresh", "Refresh tokens now, for cron.",
        discussion: """
            In a crontab, use the full path: cron searches only /usr/bin and /bin. Without a terminal it prints only failures, one on \
            each line. The exit status is 4 if an account needs a sign-in, otherwise the status of the first failure. With --all, \
            an account with a token that never expires is left unchanged. lodge refreshes 8 accounts at a time. --timeout limits the \
            whole command: accounts refreshed until then stay refreshed.
            """,
        examples: ["lodge accounts refresh", "lodge accounts refresh --all --timeout 300"],
        arguments: [Input.account], options: [Input.all], formats: OutputFormat.ofSentences,
        json: .array(of: [
            "id": "of the account", "type": "account type", "account": "name",
            "result": "refreshed, unchanged or failed",
            "expires": "of the access token, RFC 3339 or null", "status": "exit status of this account",
            "reason": "of unchanged or failed", "hint": "next step, if there is one",
        ])
    ) { try await AccountsRefresh(context: $0).run() }

    let context: CommandContext

    /// The number of concurrent refreshes. Accounts often share a provider, which limits the request rate.
    private static let width = 8

    private enum Outcome: Sendable {
        case refreshed(expiry: Date?)
        /// The account has no tokens to refresh.
        case unchanged(reason: String)
        case failed(CommandError)
    }

    func run() async throws -> ExitStatus {
        let (store, accounts) = try await accounts()
        // A damaged record must not stop the refresh of the other accounts.
        let damage = invocation[Input.all] ? try await damage(of: store) : nil
        guard !accounts.isEmpty || damage != nil else {
            console.note(context.text("No accounts yet. To sign in: \(run: "sign-in")"))
            return .notFound
        }
        var failures: [ExitStatus] = []
        var records: [JSONValue] = []
        try await refresh(accounts, store) { account, outcome in
            if case .failed(let error) = outcome { failures.append(error.status) }
            if format == .json {
                records.append(json(account, outcome))
            } else {
                report(account, outcome, now: store.dependencies.now())
            }
        }
        if format == .json { try console.write(.array(records)) }
        if let damage {
            failures.append(damage.status)
            console.instruct("\(Program.name): \(Self.line(damage.message, damage))")
        }
        // A sign-in takes precedence: no later run can replace it.
        return failures.contains(.signInNeeded) ? .signInNeeded : failures.first ?? .done
    }

    /// Returns the accounts of the command line in the order of the store.
    private func accounts() async throws -> (AccountStore, [Account]) {
        guard invocation[Input.all] else {
            let (store, account) = try await context.storeAndAccount(named: invocation[Input.account])
            return (store, [account])
        }
        if invocation[Input.account] != nil || invocation.source(of: GlobalOptions.account) == .option {
            throw CommandError(
                .usage, "--all cannot be combined with an account", reason: "it refreshes every account",
                hint: "lodge help accounts refresh")
        }
        let store = try await context.store()
        if let type = invocation[GlobalOptions.type], store.settings[type] == nil {
            throw CommandError(unknownType: type, in: store.settings)
        }
        return (store, try await store.accounts(ofType: invocation[GlobalOptions.type]))
    }

    private func damage(of store: AccountStore) async throws -> CommandError? {
        do {
            try await context.reportDamage(store)
            return nil
        } catch let error as CommandError {
            return error
        }
    }

    /// Refreshes accounts concurrently, and passes the outcomes in order as soon as they are known.
    private func refresh(
        _ accounts: [Account], _ store: AccountStore, _ receive: (Account, Outcome) throws -> Void
    ) async throws {
        let remedyText = invocation.remedyText
        let isOnly = !invocation[Input.all]
        try await withThrowingTaskGroup(of: (Int, Outcome).self) { group in
            var started = 0
            var reported = 0
            var outcomes: [Int: Outcome] = [:]
            func start() {
                guard started < accounts.count else { return }
                let (number, account) = (started, accounts[started])
                started += 1
                group.addTask {
                    (number, try await Self.refresh(account, isOnly: isOnly, store, remedyText))
                }
            }
            for _ in 0..<Self.width { start() }
            while let (number, outcome) = try await group.next() {
                outcomes[number] = outcome
                start()
                while let next = outcomes.removeValue(forKey: reported) {
                    try receive(accounts[reported], next)
                    reported += 1
                }
            }
        }
    }

    /// Refreshes one account. An error of the account is its outcome; only cancellation ends the others.
    private nonisolated static func refresh(
        _ account: Account, isOnly: Bool, _ store: AccountStore, _ remedyText: RemedyText
    ) async throws -> Outcome {
        if !isOnly, !account.canRefresh, account.signInNeeded == nil, account.accessTokenExpiry == nil {
            return .unchanged(reason: "its token does not expire, and it has no refresh token")
        }
        do {
            let token = try await store.refreshAccessToken(for: account.id)
            return .refreshed(expiry: token.expiry)
        } catch let error where error.isCancellation {
            throw CancellationError()
        } catch {
            var error = error
            if let storeError = error as? AccountStoreError {
                error = await CommandContext.advised(storeError, store, account)
            }
            return .failed(CommandError(reporting: error, type: account.type, remedyText: remedyText))
        }
    }

    // MARK: Report

    /// Returns the reason of an error, without capital letter and full stop.
    private static func reason(of error: CommandError) -> String {
        let reason = error.reason ?? error.message
        return reason.hasSuffix(".") ? String(reason.dropLast()) : reason
    }

    /// Returns one line for an error, because cron mails the output.
    private static func line(_ what: String, _ error: CommandError) -> String {
        "\(what): \(reason(of: error))" + (error.hint.map { "; \($0)" } ?? "")
    }

    private func report(_ account: Account, _ outcome: Outcome, now: Date) {
        let name = "\(account.label) (\(account.type))"
        switch outcome {
        case .refreshed(let expiry):
            console.advise(
                "Refreshed \(name): it \(expiry.map { TimeText.expiry($0, now: now) } ?? "does not expire").")
        case .unchanged(let reason): console.advise("Unchanged: \(name): \(reason).")
        case .failed(let error):
            console.instruct("\(Program.name): \(Self.line("cannot refresh \(name)", error))")
        }
    }

    private func json(_ account: Account, _ outcome: Outcome) -> JSONValue {
        var object: JSONObject = [
            "id": .string(account.id.rawValue), "type": .string(account.type), "account": .string(account.label),
        ]
        switch outcome {
        case .refreshed(let expiry):
            object.append("result", "refreshed")
            object.append("expires", expiry.map { .string($0.rfc3339) } ?? .null)
            object.append("status", 0)
        case .unchanged(let reason):
            object.append("result", "unchanged")
            object.append("expires", .null)
            object.append("status", 0)
            object.append("reason", .string(reason))
        case .failed(let error):
            object.append("result", "failed")
            object.append("expires", account.accessTokenExpiry.map { .string($0.rfc3339) } ?? .null)
            object.append("status", .number(JSONNumber(Int64(error.status.rawValue))))
            object.append("reason", .string(Self.reason(of: error)))
            if let hint = error.hint?.description { object.append("hint", .string(hint)) }
        }
        return .object(object)
    }
}
