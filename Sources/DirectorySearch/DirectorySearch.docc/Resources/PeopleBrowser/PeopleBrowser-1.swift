import DirectorySearch
import Foundation
import OAuth2AccountStore

let path = CommandLine.arguments.dropFirst().first ?? "settings.json"
let settings = try Settings(contentsOf: URL(filePath: path))
let store = try await AccountStore(settings: settings, application: "com.example.browser")

let type = settings.defaultType
let account = try await store.signInIfNeeded(to: type)
print("Signed in as \(account.label).")
