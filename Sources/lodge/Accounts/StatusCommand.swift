import LodgePlatform
import CommandLineKit
import OAuth2Protocol
import OAuth2AccountStore
import StrictJSON

@MainActor struct StatusCommand: CommandHandler {
    nonisolated static let command = Command(
        "status", "Show accounts, token expiry and file locations.",
        discussion: """
            status lists the user, type, state and token expiry of each account, and the paths of the accounts and of their key. The \
            exit status is 4 if an account needs a sign-in.
            """, examples: ["lodge status"],
        json: .object(
            [
                "accounts": "array as in accounts list, with state and redacted token", "store": "path",
                "key": "path or name", "keyCustody": "location of the key", "keyLeftIn": "array of earlier locations",
                "deviceMode": "private or shared", "damaged": "array of id and type",
                "unusableTypes": "array of name and error",
                "offline": "array as in sync, without its counts",
            ], note: "csv and tsv have only the accounts"),
        needsNoSettings: true
    ) { try await StatusCommand(context: $0).run() }

    let context: CommandContext

    private static let columns = [
        TableColumn("ACCOUNT", .keep), TableColumn("USER"), TableColumn("TYPE"), TableColumn("STATE", .wrap),
        TableColumn("TOKEN"), TableColumn("EXPIRY", .keep), TableColumn("REFRESHABLE"), TableColumn("SCOPE"),
    ]

    func run() async throws -> ExitStatus {
        let store = try await context.store()
        let records = try await AccountsCommand.records(store, ofType: invocation[GlobalOptions.type])
        let damaged = try await store.damagedRecords()
        let leftovers = try await store.keyLeftovers()
        switch format {
        case .json, .jsonLines:
            var output = json(store, records, damaged, leftovers).object ?? JSONObject()
            output.append("offline", try await OfflineCopies.json(context, store))
            if console.options.reportsJSON {
                try console.write(.object(output))
            } else {
                try console.writeLine(JSONValue.object(output).text())
            }
        case .table: try await write(store, records, damaged, leftovers)
        // The file locations do not fit into a table.
        default: try list(records.map(StatusRow.init), Self.columns)
        }
        try await store.checkIntegrity()
        if !damaged.isEmpty { return .store }
        if records.isEmpty { console.note(context.text("No accounts yet. To sign in: \(run: "sign-in")")) }
        return records.contains(where: \.needsSignIn) ? .signInNeeded : .done
    }

    private func write(
        _ store: AccountStore, _ records: [AccountRecord], _ damaged: [(id: Account.ID, type: String)],
        _ leftovers: [String]
    ) async throws {
        if !records.isEmpty {
            let writer = TableWriter(Self.columns, on: console)
            for record in records { try writer.write(StatusRow(record: record)) }
            try writer.finish()
            try console.writeLine()
        }
        var detail = Detail()
        detail.add("Accounts", store.storageLocation)
        detail.add("Key", store.keyLocation)
        detail.add("Key left in", leftovers)
        detail.add("Device mode", store.deviceMode.rawValue)
        detail.add(
            "Damaged",
            damaged.map { "\($0.id) of type \($0.type): unchanged; restore a copy of the file, or sign in again" })
        detail.add("Unusable types", store.settings.unusableTypes.map { "\($0.name): \($0.error)" })
        try await OfflineCopies.add(to: &detail, context, store)
        try detail.write(to: console)
    }

    private func json(
        _ store: AccountStore, _ records: [AccountRecord], _ damaged: [(id: Account.ID, type: String)],
        _ leftovers: [String]
    ) -> JSONValue {
        let accounts = records.map { record -> JSONValue in
            guard var object = record.json.object else { return record.json }
            object.append("state", .string(record.state))
            object.append("token", .string(Secret.mask))
            return .object(object)
        }
        return [
            "accounts": .array(accounts), "store": .string(store.storageLocation), "key": .string(store.keyLocation),
            "keyCustody": store.keyChoice.map { .string($0.word) } ?? .null,
            "keyLeftIn": .array(leftovers.map { .string($0) }), "deviceMode": .string(store.deviceMode.rawValue),
            "damaged": .array(damaged.map { ["id": .string($0.id.rawValue), "type": .string($0.type)] }),
            "unusableTypes": .array(
                store.settings.unusableTypes.map {
                    ["name": .string($0.name), "error": .string($0.error.description)]
                }),
        ]
    }
}

private struct StatusRow: OutputRecord {
    let record: AccountRecord

    var cells: [String] {
        let account = record.account
        let expiry = account.accessTokenExpiry.map { TimeText.expiry($0, now: record.now) } ?? "unknown"
        return [
            account.label, record.application ?? account.userName ?? "", account.type, record.state, Secret.mask,
            expiry,
            account.canRefresh ? "yes" : "no",
            account.scope.text,
        ]
    }

    var json: JSONValue { record.json }
}
