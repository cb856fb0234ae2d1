import CommandLineKit
import OAuth2AccountStore
import StrictJSON

@MainActor
struct AccountsCommand {
    enum Input {
        static let account = Argument.required("ACCOUNT", "name or identifier", completion: .account)
    }

    nonisolated static let listCommand = Command(
        "list", "List the accounts; the one in use is marked.", examples: ["lodge accounts"]
    ) { try await AccountsCommand(context: $0).list() }

    nonisolated static let showCommand = Command(
        "show", "Show one account.", examples: ["lodge accounts show ada@contoso.com"], arguments: [Input.account]
    ) { try await AccountsCommand(context: $0).show() }

    nonisolated static let useCommand = Command(
        "use", "Choose the account that is used where none is named.", examples: ["lodge accounts use ada@contoso.com"],
        arguments: [Input.account], formats: OutputFormat.ofSentences
    ) { try await AccountsCommand(context: $0).use() }

    nonisolated static let removeCommand = Command(
        "remove", "Remove an account here, without telling the provider.",
        examples: ["lodge accounts remove ada@contoso.com"], arguments: [Input.account],
        formats: OutputFormat.ofSentences
    ) { try await AccountsCommand(context: $0).remove() }

    nonisolated static let group = Command(
        "accounts", "List and change the kept accounts.",
        examples: ["lodge accounts", "lodge accounts use ada@contoso.com"],
        subcommands: [
            listCommand, showCommand, useCommand, AccountsTransfer.renameCommand, AccountsTransfer.importCommand,
            AccountsTransfer.exportCommand, removeCommand, SalvageCommand.command,
        ], defaultSubcommand: "list")

    let context: CommandContext

    func list() async throws -> ExitStatus {
        let store = try await context.store(try context.settings())
        let records = try await Self.records(store, ofType: context.invocation[GlobalOptions.type])
        let writer = OutputFormat(context.invocation).list(AccountRecord.listColumns, context.console)
        for record in records { try writer.write(record) }
        try writer.finish()
        try await context.reportDamage(store)
        guard records.isEmpty else { return .done }
        context.console.note(context.text("No accounts yet. To sign in: \(run: "sign-in")"))
        return .notFound
    }

    func show() async throws -> ExitStatus {
        let store = try await context.store(try context.settings())
        let account = try await context.account(store, named: context.invocation[Input.account])
        let record = AccountRecord(
            account: account, isCurrent: try await store.isCurrent(account), now: store.dependencies.now())
        try OutputFormat(context.invocation).show(record, context.console)
        return .done
    }

    func use() async throws -> ExitStatus {
        let store = try await context.store(try context.settings())
        let account = try await context.account(store, named: context.invocation[Input.account])
        try await store.makeCurrent(account)
        context.console.note("\(account.label) is now used for \(account.type).")
        return .done
    }

    func remove() async throws -> ExitStatus {
        let store = try await context.store(try context.settings())
        // A record that cannot be read has no name: its identifier, word for word, is what it can be removed by.
        let damaged = try await store.damagedRecords().first {
            $0.id.rawValue == context.invocation[Input.account]
        }
        if let damaged {
            try await store.remove(damaged.id)
            context.console.note("Removed the record \(damaged.id) (\(damaged.type)), which could not be read.")
            return .done
        }
        let account = try await context.account(store, named: context.invocation[Input.account])
        try await OfflineCopies.forget(account, context)
        try await store.remove(account.id)
        context.console.note(
            "Removed \(account.label) (\(account.type)) here. The provider was not told: its tokens live on.")
        return .done
    }

    /// The accounts with the mark of the current one of each type.
    static func records(_ store: AccountStore, ofType type: String?) async throws -> [AccountRecord] {
        var current: [String: Account.ID?] = [:]
        var records: [AccountRecord] = []
        for account in try await store.accounts(ofType: type) {
            if current[account.type] == nil {
                do {
                    current[account.type] = .some(try await store.currentAccount(ofType: account.type)?.id)
                } catch let error as AccountStoreError where error.kind == .damagedRecord {
                    // The others are listed all the same, none of them as the current one.
                    current[account.type] = .some(nil)
                }
            }
            records.append(
                AccountRecord(
                    account: account, isCurrent: current[account.type] == .some(account.id),
                    now: store.dependencies.now()))
        }
        return records
    }
}
