// An app for iOS with SwiftUI: sign in, list, detail, sign out. It is the only example that no test runs or compiles.
// Add the products DirectorySearch, AccountStoreUI and AppleSignIn to an app in Xcode, with this file and a settings.json, in which
// redirectUri is com.example.app:/callback.

import AccountStoreUI
import AppleSignIn
import DirectorySearch
import OAuth2AccountStore
import SwiftUI

@main struct PeopleApp: App { var body: some Scene { WindowGroup { Start() } } }
struct Start: View {
    @State private var list: AccountList?
    @State private var problem = "Loading"
    var body: some View {
        if let list { Accounts(list: list) } else { Text(problem).task { await open() } }
    }

    private func open() async {
        do {
            let file = Bundle.main.url(forResource: "settings", withExtension: "json") ?? URL(filePath: "/")
            let store = try await AccountStore(settings: Settings(contentsOf: file), application: "com.example.app")
            list = AccountList(store)
        } catch { problem = "\(error)" }
    }
}

struct Accounts: View {
    let list: AccountList
    var body: some View {
        NavigationStack {
            List(list.accounts) { account in
                NavigationLink(account.label) { Detail(list: list, account: account) }
            }.toolbar { Button("Sign in") { Task { await signIn() } } }
        }
    }

    private func signIn() async {
        let scenes = UIApplication.shared.connectedScenes.compactMap { $0 as? UIWindowScene }
        guard let window = scenes.first?.keyWindow else { return }
        await list.signIn(to: list.store.settings.defaultType, by: .webSession(anchor: window))
    }
}

struct Detail: View {
    let (list, account): (AccountList, Account)
    @State private var users: [User] = []
    var body: some View {
        List(users, id: \.id) { Text($0.displayName ?? "") }
            .task {
                let directory = GraphDirectory(account: account, in: list.store)
                do {
                    for try await user in directory.users(matching: .givenName(startsWith: "A")) { users.append(user) }
                } catch { users = [] }
            }
            .toolbar { Button("Sign out") { Task { await list.signOut(account.id) } } }
    }
}
