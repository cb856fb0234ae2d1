import LodgePlatform
import CommandLineKit
import HTTPExchange
import OAuth2Protocol
import OAuth2AccountStore
import StrictJSON

@MainActor struct AccountsTransfer: CommandHandler {
    enum Input {
        static let account = Argument.required("ACCOUNT", "name or identifier", completion: .account)
        static let name = Argument.required("NAME", "new name, which --account accepts; \"\" restores the original")
        static let file = Argument.optional("FILE", "file to read", completion: .file)
        static let exportedAccount = Argument.optional(
            "ACCOUNT", "account to export (default: all)", completion: .account)
        static let revealSecrets = Option.flag("reveal-secrets", "write the tokens in clear text")
        static let outputFile = Option.text("output-file", "FILE", "file to create", completion: .file)
    }

    nonisolated static let renameCommand = Command(
        "rename", "Rename an account.",
        examples: ["lodge accounts rename ada@contoso.com work"], arguments: [Input.account, Input.name],
        formats: OutputFormat.ofSentences, json: AccountRecord.shape
    ) { try await AccountsTransfer(context: $0).rename() }

    nonisolated static let importCommand = Command(
        "import", "Import accounts from a file.",
        discussion: """
            The file is a token response, a token cache of MSAL, an archive of NXOAuth2 accounts, an export, the token file of \
            mutt_oauth2.py or the credentials of oama, all JSON; without FILE, lodge reads standard input. Decrypt the last two \
            first. The configurations of oama and pizauth have no tokens: lodge prints the account type to add. A second import of \
            the same file changes no account, and an import never replaces newer tokens. lodge does not verify who owns the imported \
            accounts. If the file has only a user name, the next sign-in of this user at the same issuer updates the account.
            """,
        examples: [
            "lodge accounts import msal_cache.json", "lodge accounts import --type work < tokens.json",
            "gpg --decrypt ada.tokens | lodge accounts import --type work",
        ],
        arguments: [Input.file],
        json: .array(of: [
            "result": "added, updated, unchanged or left", "location": "position in the file", "id": "of the account",
            "type": "account type", "account": "name", "reason": "of unchanged or left",
        ])
    ) { try await AccountsTransfer(context: $0).importFile() }

    nonisolated static let exportCommand = Command(
        "export", "Export accounts with their tokens to another machine.",
        discussion:
            "Anyone with the file can use these accounts. lodge creates it with mode 0600 and never overwrites a file.",
        examples: ["lodge accounts export --reveal-secrets --output-file accounts.json"],
        arguments: [Input.exportedAccount],
        options: [Input.revealSecrets, Input.outputFile], formats: OutputFormat.ofText
    ) { try await AccountsTransfer(context: $0).export() }

    let context: CommandContext

    func rename() async throws -> ExitStatus {
        let (store, account) = try await context.storeAndAccount(named: invocation[Input.account])
        let name = invocation[Input.name]
        let renamed = try await Self.withUsageErrors { try await store.rename(account.id, to: name) }
        console.note(
            name.isEmpty ? "The account is \(renamed.label) again." : "\(account.label) is now called \(renamed.label)."
        )
        if format == .json {
            let isActive = try await store.activeAccount()?.id == renamed.id
            try show(AccountRecord(renamed, isActive: isActive, in: store))
        }
        return .done
    }

    /// Runs a body and reports errors of the settings as usage errors.
    ///
    /// The account name is from the command line.
    static func withUsageErrors<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as AccountStoreError where error.kind == .settings {
            throw CommandError(.usage, error.what, reason: error.reason, hint: error.hint)
        }
    }

    func importFile() async throws -> ExitStatus {
        let path = invocation[Input.file].flatMap { $0 == "-" ? nil : $0 }
        let bytes = try path.map(Self.read) ?? context.world.readInput(AccountFile.maximumSize)
        let file: AccountFile
        do throws(AccountFileError) {
            file = try AccountFile(parsing: bytes, source: path ?? "standard input")
        } catch {
            let decryption: Hint = "gpg --decrypt \(path?.shellWord ?? "FILE") | \(run: "accounts import")"
            throw CommandError(
                .usage, "cannot import accounts", reason: error.description,
                hint: error.isEncrypted ? decryption : "lodge help accounts import")
        }
        let store = try await context.store(makesStore: true)
        if let type = invocation[GlobalOptions.type] { _ = try store.settings.type(named: type) }
        let report = try await store.importAccounts(file, toType: invocation[GlobalOptions.type])
        try list(report.items.map(ImportRecord.init), ImportRecord.columns)
        guard report.count > 0 else {
            if !file.format.hasTokens {
                throw CommandError(
                    .notFound, "cannot import accounts", reason: "a \(file.format.rawValue) has no tokens",
                    hint: "for each account, follow the list, then run: \(run: "sign-in") TYPE")
            }
            throw CommandError(
                .notFound, "cannot import accounts",
                reason: "no account of the \(file.format.rawValue) matches the settings",
                hint: "\(run: "providers"), then select the account type with --type")
        }
        console.note(
            "lodge does not verify who owns the imported accounts. A new sign-in verifies the owner.")
        return .done
    }

    private static func read(_ path: String) throws -> [UInt8] {
        if let bytes = try StandardInput.readPipe(path, limit: AccountFile.maximumSize) { return bytes }
        switch OwnerOnlyFile.read(path, maximumSize: AccountFile.maximumSize) {
        case .success(let bytes): return bytes
        case .failure(let failure):
            throw CommandError(
                .failed, "cannot import accounts", reason: "\(path): \(failure.explanation)",
                hint: "use a readable file of at most \(AccountFile.maximumSize) bytes")
        }
    }

    func export() async throws -> ExitStatus {
        let path = invocation[Input.outputFile]
        guard invocation[Input.revealSecrets] else {
            throw CommandError(
                .usage, "cannot export accounts", reason: "anyone with the file can use its tokens",
                hint: "\(run: "accounts export") --reveal-secrets --output-file FILE")
        }
        guard path != nil || !console.terminal.outputIsTerminal else {
            throw CommandError(
                .usage, "cannot export accounts", reason: "lodge does not print tokens to a terminal",
                hint: "\(run: "accounts export") --reveal-secrets --output-file FILE, or to a pipe")
        }
        let store = try await context.store()
        var ids: [Account.ID]?
        if let name = invocation[Input.exportedAccount] ?? invocation[GlobalOptions.account] {
            ids = [try await context.account(store, named: name).id]
        } else {
            // A copy without all accounts must not look complete.
            try await context.reportDamage(store)
        }
        if ids == nil, let type = invocation[GlobalOptions.type] {
            ids = try await store.accounts(ofType: type).map(\.id)
        }
        let text = try await store.export(ids)
        guard let path else {
            try console.write(text.value)
            return .done
        }
        let suffix = try store.dependencies.randomLetters()
        if case .failure(let failure) = OwnerOnlyFile.create(path, Array(text.value.utf8), suffix: suffix) {
            throw CommandError(
                .failed, "cannot export accounts", reason: "\(path): \(failure.explanation)",
                hint: "use a file that does not exist yet")
        }
        console.note("Exported to \(path), which only you can read. Delete it after the import.")
        return .done
    }
}

struct ImportRecord: OutputRecord {
    let item: ImportReport.Item

    static let columns = [
        TableColumn("RESULT"), TableColumn("ACCOUNT", .keep), TableColumn("TYPE"), TableColumn("REASON", .wrap),
        TableColumn("LOCATION"),
    ]

    private var parts: (result: String, account: Account?, reason: String) {
        switch item.outcome {
        case .added(let account): ("added", account, "")
        case .updated(let account): ("updated", account, "")
        case .unchanged(let account): ("unchanged", account, "the store has these tokens, or newer ones")
        case .left(let reason): ("left", nil, reason)
        }
    }

    var cells: [String] {
        let (result, account, reason) = parts
        return [result, account?.label ?? item.name ?? "", account?.type ?? "", reason, item.location]
    }

    var json: JSONValue {
        let (result, account, reason) = parts
        var object: JSONObject = ["result": .string(result), "location": .string(item.location)]
        if let account {
            object.append("id", .string(account.id.rawValue))
            object.append("type", .string(account.type))
        }
        if let name = account?.label ?? item.name { object.append("account", .string(name)) }
        if !reason.isEmpty { object.append("reason", .string(reason)) }
        return .object(object)
    }
}
