// Signs in to a provider of plain OAuth 2, which has no discovery and no ID token, and sends a request to its API.
//
//     swift run PlainOAuth2 [URL OF THE PROVIDER]

import Foundation
import OAuth2AccountStore

guard let server = URL(string: CommandLine.arguments.dropFirst().first ?? "http://127.0.0.1:8765") else {
    fatalError("the URL of the provider is not a URL")
}

// The provider's documentation has these values.
var type = AccountType(
    name: "plain",
    endpoints: .init(authorization: server.appending(path: "authorize"), token: server.appending(path: "token")),
    clientID: "lodge", redirectURI: try RedirectURI("http://127.0.0.1/callback"),
    scope: ["offline_access", "User.Read"])
type.endpoints.revocation = server.appending(path: "revoke")
// The resource that names the user, and its members: without them, the type has only one account.
type.endpoints.userinfo = server.appending(path: "v1.0/me")
type.userinfoClaims = ["sub": "id", "name": "displayName"]
// The hosts that receive the token.
type.resourceHosts = [server.host() ?? ""]

let store = try await AccountStore(settings: Settings(types: [type]), application: "com.example.plain")
let account = try await store.signIn(to: type.name)
print("Signed in as \(account.label).")

struct Me: Decodable {
    var mail: String
}
let response = try await account.send(HTTPRequest(.get, server.appending(path: "v1.0/me")), in: store)
print("The address is \(try response.decoded(as: Me.self).mail).")

try await store.signOut(account.id)
print("Signed out.")
