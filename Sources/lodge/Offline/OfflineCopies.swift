import CommandLineKit
import DirectorySearch
import OAuth2AccountStore
import StrictJSON

/// The offline copies, for `sync` and `status`.
@MainActor enum OfflineCopies {
    private struct Copy {
        var index: OfflineIndex
        /// The account, or `nil` if it does not exist.
        var account: Account?
        var summary: Result<OfflineIndex.Summary, any Error>
    }

    static func count(_ users: Int) -> String { users == 1 ? "1 user" : "\(users) users" }

    static func json(_ index: OfflineIndex, _ summary: OfflineIndex.Summary, _ account: Account?) -> JSONObject {
        [
            "account": (account?.label).map { .string($0) } ?? .null, "id": .string(index.account.rawValue),
            "people": .number(JSONNumber(Int64(summary.users))),
            "properties": .array(summary.properties.map { .string($0) }),
            "completed": summary.completed.map { .string($0.rfc3339) } ?? .null,
            "isListing": .bool(summary.isListing), "bytes": .number(JSONNumber(summary.size)),
            "location": .string(index.path),
        ]
    }

    private static func copies(_ context: CommandContext, _ store: AccountStore) async throws -> [Copy] {
        var copies: [Copy] = []
        for index in await OfflineIndex.all(in: try context.storeDirectory) {
            // A damaged account record is reported with the accounts.
            let account = try? await store.account(index.account)
            do {
                guard let summary = try await index.summary() else { continue }
                copies.append(Copy(index: index, account: account, summary: .success(summary)))
            } catch {
                copies.append(Copy(index: index, account: account, summary: .failure(error)))
            }
        }
        return copies
    }

    static func add(to detail: inout Detail, _ context: CommandContext, _ store: AccountStore) async throws {
        for copy in try await copies(context, store) {
            let who =
                copy.account?.label ?? context.text("\(copy.index.account) (no account; \(run: "sync") --forget --all)")
            switch copy.summary {
            case .success(let summary):
                let time = summary.completed.map { "as of \($0.rfc3339)" } ?? "not complete"
                detail.add(
                    "Offline",
                    "\(who): \(count(summary.users)) in clear text in \(copy.index.path), \(time), with "
                        + summary.properties.joined(separator: ", "))
            case .failure(let error): detail.add("Offline", "\(who): \(error)")
            }
        }
    }

    static func json(_ context: CommandContext, _ store: AccountStore) async throws -> JSONValue {
        .array(
            try await copies(context, store).map { copy in
                switch copy.summary {
                case .success(let summary): .object(json(copy.index, summary, copy.account))
                case .failure(let error):
                    [
                        "id": .string(copy.index.account.rawValue), "location": .string(copy.index.path),
                        "error": .string("\(error)"),
                    ]
                }
            })
    }

    static func forget(_ account: Account, _ context: CommandContext) async throws {
        if try await OfflineIndex.forget(account: account.id, in: context.storeDirectory) {
            context.console.note("The offline copy of \(account.label) was overwritten and removed.")
        }
    }
}
