// Signs in with the browser and lists all users whose given name begins with "Ada".
//
//     swift run SignInAndSearch [SETTINGS]

import DirectorySearch
import Foundation
import OAuth2AccountStore

let path = CommandLine.arguments.dropFirst().first ?? "Settings/settings.plist"

let settings = try Settings(contentsOf: URL(filePath: path))
let store = try await AccountStore(settings: settings, application: "com.example.people")
let account = try await store.signIn(to: settings.defaultType, by: .browser)
for try await user in GraphDirectory(account: account, in: store).users(matching: .givenName(startsWith: "Ada")) {
    print(user.displayName ?? "", user.mail ?? "")
}
