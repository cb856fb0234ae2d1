import CommandLineKit
import OAuth2AccountStore
import StrictJSON

@MainActor
struct AccountsCommand: CommandHandler {
    enum Input {
        static let account = Argument.required("ACCOUNT", "name or identifier", completion: .account)
    }

    nonisolated static let listCommand = Command(
        "list", "List the accounts and mark the active account.", examples: ["lodge accounts"],
        json: AccountRecord.shape.list
    ) { try await AccountsCommand(context: $0).list() }

    nonisolated static let showCommand = Command(
        "show", "Show one account.", examples: ["lodge accounts show ada@contoso.com"], arguments: [Input.account],
        json: AccountRecord.shape
    ) { try await AccountsCommand(context: $0).show() }

    nonisolated static let useCommand = Command(
        "use", "Select the active account.", examples: ["lodge accounts use ada@contoso.com"],
        arguments: [Input.account], formats: OutputFormat.ofSentences, json: AccountRecord.shape
    ) { try await AccountsCommand(context: $0).use() }

    nonisolated static let removeCommand = Command(
        "remove", "Remove an account from this machine without revoking its tokens.",
        examples: ["lodge accounts remove ada@contoso.com"], arguments: [Input.account],
        formats: OutputFormat.ofSentences,
        json: .object(["removed": "true", "id": "", "type": "account type", "label": "null for a damaged record"])
    ) { try await AccountsCommand(context: $0).remove() }

    nonisolated static let group = Command(
        "accounts", "List, select, rename, refresh, import and export accounts.",
        discussion: """
            An account is a user, or a client, that signed in to an account type. One account is active: commands use it unless \
            --account or --type selects another. Without a command, accounts lists all accounts.
            """,
        examples: ["lodge accounts", "lodge accounts use ada@contoso.com"],
        subcommands: [
            listCommand, showCommand, useCommand, AccountsTransfer.renameCommand, AccountsTransfer.importCommand,
            AccountsTransfer.exportCommand, AccountsRefresh.command, removeCommand, SalvageCommand.command,
        ], defaultSubcommand: "list", needsNoSettings: true)

    let context: CommandContext

    func list() async throws -> ExitStatus {
        let store = try await context.store()
        let records = try await Self.records(store, ofType: invocation[GlobalOptions.type])
        try list(records, AccountRecord.listColumns)
        try await context.reportDamage(store)
        guard records.isEmpty else { return .done }
        console.note(context.text("No accounts yet. To sign in: \(run: "sign-in")"))
        return .notFound
    }

    func show() async throws -> ExitStatus {
        let (store, account) = try await context.storeAndAccount(named: invocation[Input.account])
        try show(AccountRecord(account, isActive: try await Self.activeID(store) == account.id, in: store))
        return .done
    }

    func use() async throws -> ExitStatus {
        let (store, account) = try await context.storeAndAccount(named: invocation[Input.account])
        try await store.makeCurrent(account)
        console.note("\(account.label) of type \(account.type) is now the active account.")
        if format == .json {
            try show(AccountRecord(account, isActive: true, in: store))
        }
        return .done
    }

    func remove() async throws -> ExitStatus {
        let store = try await context.store()
        // A damaged record has no name, so its identifier selects it.
        let damaged = try await store.damagedRecords().first { $0.id.rawValue == invocation[Input.account] }
        if let damaged {
            try await store.remove(damaged.id)
            console.note("Removed the record \(damaged.id) (\(damaged.type)), which could not be read.")
            try writeRemoval(damaged.id, damaged.type, label: nil)
            return .done
        }
        let account = try await context.account(store, named: invocation[Input.account])
        try await OfflineCopies.forget(account, context)
        try await store.remove(account.id)
        console.note("Removed \(account.label) (\(account.type)) from this machine. Its tokens are not revoked.")
        try writeRemoval(account.id, account.type, label: account.label)
        return .done
    }

    private func writeRemoval(_ id: Account.ID, _ type: String, label: String?) throws {
        guard format == .json else { return }
        try console.write([
            "removed": true, "id": .string(id.rawValue), "type": .string(type),
            "label": label.map { .string($0) } ?? .null,
        ])
    }

    /// Returns the identifier of the active account, or `nil` if its record is damaged.
    ///
    /// In that case, the list has no mark.
    private static func activeID(_ store: AccountStore) async throws -> Account.ID? {
        do {
            return try await store.activeAccount()?.id
        } catch let error as AccountStoreError where error.kind == .damagedRecord {
            return nil
        }
    }

    /// Returns the accounts and marks the active one.
    static func records(_ store: AccountStore, ofType type: String?) async throws -> [AccountRecord] {
        let accounts = try await store.accounts(ofType: type)
        let active = try await activeID(store)
        return accounts.map { AccountRecord($0, isActive: $0.id == active, in: store) }
    }
}
