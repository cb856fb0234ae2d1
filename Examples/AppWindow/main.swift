// Signs in with a window of the app, which receives the redirect itself: no port on this machine, no other browser.
//
//     swift run AppWindow [SETTINGS]
//
// The redirect URI of the settings has a scheme of the app, such as com.example.people:/callback.

import Foundation
import OAuth2AccountStore

/// The window of this example is the terminal: the user opens the URL, and types the URL of each page that follows.
@MainActor final class Window {
    /// Returns the first URL that belongs to the app.
    func present(_ signIn: PreparedSignIn) throws -> URL {
        print("Open \(signIn.url)")
        while let line = readLine() {
            if let url = URL(string: line), signIn.isRedirect(url) { return url }
            print("Not the redirect, which begins with \(signIn.redirectURI.text)")
        }
        // The user closed the window.
        throw CancellationError()
    }
}

let path = CommandLine.arguments.dropFirst().first ?? "Settings/settings.plist"
let settings = try Settings(contentsOf: URL(filePath: path))
let store = try await AccountStore(settings: settings, application: "com.example.window")
let window = Window()

do {
    // On Apple platforms: .webAuthenticationSession { signIn in
    //     try await webAuthenticationSession.authenticate(
    //         using: signIn.url, callbackURLScheme: signIn.redirectURI.scheme) }
    let account = try await store.signIn(
        to: settings.defaultType, by: .webAuthenticationSession { try await window.present($0) })
    print("Signed in as \(account.label).")
} catch let error as AccountStoreError where error.kind == .cancelled {
    print("Not signed in.")
}
