import DirectorySearch
import Foundation
import OAuth2AccountStore

let path = CommandLine.arguments.dropFirst().first ?? "settings.json"
let settings = try Settings(contentsOf: URL(filePath: path))
let store = try await AccountStore(settings: settings, application: "com.example.browser")

let type = settings.defaultType
let account = try await store.signInIfNeeded(to: type)
print("Signed in as \(account.label).")

let directory = GraphDirectory(account: account, in: store)
let everyone = directory.pages(matching: .everyone(pageSize: 5))

/// The users of the list.
var users: [User] = []

/// Shows the first page of a search.
@MainActor func list(_ found: UserPages) async throws {
    for try await page in found {
        users = page.users
        break
    }
    for (row, user) in users.enumerated() {
        print("\(row + 1). \(user.displayName ?? user.userPrincipalName ?? "")")
    }
}

try await list(everyone)
