// A web server at which several visitors sign in, each to their own account.
//
//     swift run SignInServer [SETTINGS [PORT]]

import Foundation
import OAuth2AccountStore

let arguments = CommandLine.arguments.dropFirst()
let settings = try Settings(contentsOf: URL(filePath: arguments.first ?? "Settings/settings.plist"))
let store = try await AccountStore(settings: settings, application: "com.example.server")
let server = try WebServer(port: arguments.dropFirst().first ?? "8080")

/// The accounts of the visitors' sessions, one session for each account. The key is in a cookie of the visitor.
var sessions: [String: Account.ID] = [:]

@MainActor func response(to request: Request) async throws -> Response {
    switch request.url.path() {
    case "/sign-in":
        let redirectURI = try RedirectURI("\(server.url)/callback")
        let signIn = try await store.prepareSignIn(to: settings.defaultType, redirectURI: redirectURI)
        return .redirect(to: signIn.url.absoluteString, cookie: signIn.id)
    case "/callback":
        // The cookie names the visitor's own sign-in: the store refuses the redirect of any other one.
        let account = try await store.handleRedirect(request.url, for: request.cookie)
        let session = UUID().uuidString
        sessions = sessions.filter { $0.value != account.id }
        sessions[session] = account.id
        return .redirect(to: "/", cookie: session)
    case "/sign-out":
        if let id = sessions.removeValue(forKey: request.cookie) { try await store.signOut(id) }
        return .redirect(to: "/", cookie: "")
    default:
        guard let id = sessions[request.cookie], let account = try await store.account(id) else {
            return .text("200 OK", "To sign in, open \(server.url)/sign-in")
        }
        // All requests for the visitor use this account: account.send(…, in: store).
        return .text("200 OK", "Signed in as \(account.label). To sign out, open \(server.url)/sign-out")
    }
}

print("Open \(server.url)/")
for await request in server.requests {
    Task {
        do {
            request.respond(with: try await response(to: request))
        } catch let error as AccountStoreError where error.kind == .redirectRefused {
            request.respond(with: .text("400 Bad Request", "This is not the sign-in that began here."))
        } catch {
            print(error)
            request.respond(with: .text("503 Service Unavailable", "Try again later."))
        }
    }
}
