// Observes a store with notifications and events while an account is signed in, receives data, and is removed.
//
//     swift run WatchAccounts [SETTINGS]

import Foundation
import OAuth2AccountStore

let path = CommandLine.arguments.dropFirst().first ?? "Settings/settings.plist"
let settings = try Settings(contentsOf: URL(filePath: path))
let store = try await AccountStore(settings: settings, application: "com.example.accounts")

// NotificationCenter, with the classic names. The object is the store.
let observer = NotificationCenter.default.addObserver(
    forName: .accountStoreAccountsDidChange, object: store, queue: nil
) { notification in
    print("notification:", notification.userInfo?[AccountStore.accountTypeKey] ?? "an account was removed")
}

// The stream, which contains each event.
let events = store.events()

let account = try await store.signIn(to: settings.defaultType, by: .browser)
try await store.setUserData(["favorite": "tea"], for: account.id)
try await store.signOut(account.id)

watching: for await event in events {
    switch event {
    case .added(let account): print("added", account.label)
    case .accessTokenChanged(let account): print("new token for", account.label)
    case .accessTokenLost(let account): print(account.label, "has to sign in again")
    case .userDataChanged(let account):
        print("data of", account.label, "is", try account.userData(as: [String: String].self) ?? [:])
    case .profileChanged(let account): print(account.label, "signed in again")
    case .removed(_, let type):
        print("removed an account of type", type)
        break watching
    case .signInFailed(let type, let error): print("no sign-in to", type, error)
    case .accessTokenFailed(let account, let error): print("no token for", account.label, error)
    case .manyChanges: print("look at the accounts again")
    }
}
NotificationCenter.default.removeObserver(observer)
