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
        // The user has typed another line: do not show this search.
        try Task.checkCancellation()
        users = page.users
        break
    }
    for (row, user) in users.enumerated() {
        print("\(row + 1). \(user.displayName ?? user.userPrincipalName ?? "")")
    }
}

/// Shows the users whose names and addresses start with the words.
@MainActor func search(for text: String) async throws {
    let words = SearchText(text)
    let query = UserQuery(.matching(words), pageSize: 5)
    try await list(directory.pages(matching: query).ranked(by: words))
}

/// Shows one user.
@MainActor func showDetail(of id: String) async throws {
    let detail = try await directory.detail(of: id)
    try Task.checkCancellation()
    print(detail.user.displayName ?? id)
    print("  Address:", detail.user.mail ?? "none")
    print("  Manager:", detail.manager.value?.displayName ?? "none")
    switch detail.groups {
    case .value(let groups): print("  Groups:", groups.map { $0.displayName ?? "" }.joined(separator: ", "))
    case .notPermitted: print("  Groups: not permitted")
    default: print("  Groups: none")
    }
}

/// Responds to a line: the number of a user, or a search.
@MainActor func respond(to line: String) async throws {
    if let row = Int(line), users.indices.contains(row - 1), let id = users[row - 1].id {
        try await showDetail(of: id)
    } else {
        try await search(for: line)
    }
}

/// The lines that the user types. A separate thread waits for them.
let lines = AsyncStream<String> { continuation in
    Thread.detachNewThread {
        while let line = readLine() { continuation.yield(line) }
        continuation.finish()
    }
}

var running = Task { try await list(everyone) }
for await line in lines {
    // The search of the previous line is no longer of interest.
    running.cancel()
    running = Task { try await respond(to: line) }
}
try await running.value
