// Signs in on another device, such as a phone: for a program without a browser.
//
//     swift run DeviceSignIn [SETTINGS]

import Foundation
import OAuth2AccountStore

let path = CommandLine.arguments.dropFirst().first ?? "Settings/settings.plist"
let settings = try Settings(contentsOf: URL(filePath: path))
let store = try await AccountStore(settings: settings, application: "com.example.device")

// The function shows the code and returns. Then the store waits until the user has entered the code, or the code expires.
let account = try await store.signIn(
    to: settings.defaultType,
    by: .device { prompt in
        print("Open \(prompt.verificationURI) on your phone and enter \(prompt.userCode).")
    })
print("Signed in as \(account.label).")
