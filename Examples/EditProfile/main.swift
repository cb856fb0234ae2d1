// Signs in to Azure AD B2C, lets the user edit the profile, and sends a request to an API.
//
//     swift run EditProfile SETTINGS
//
// The authority of the settings is the policy that signs users in. The others are policies of the same type:
//
//     { "types": { "customers": {
//         "authority": "https://contoso.b2clogin.com/contoso.onmicrosoft.com/B2C_1_signin",
//         "policies": { "editProfile": "B2C_1_edit" },
//         "clientId": "00000000-0000-0000-0000-000000000000",
//         "redirectUri": "http://localhost/callback",
//         "scopes": ["openid", "offline_access", "https://contoso.onmicrosoft.com/api/read"],
//         "graphAPI": "https://api.contoso.com/" } } }

import Foundation
import OAuth2AccountStore

guard let path = CommandLine.arguments.dropFirst().first else { fatalError("the path of the settings is missing") }
let settings = try Settings(contentsOf: URL(filePath: path))
let store = try await AccountStore(settings: settings, application: "com.example.customers")
let type = settings.defaultType

let account = try await store.signIn(to: type)
print("Signed in as \(account.displayName ?? account.label).")

// The policy changes the profile of the account, which keeps its own tokens.
var options = SignInOptions()
options.policy = "editProfile"
options.loginHint = account.userName
do {
    let edited = try await store.signIn(to: type, options: options)
    print("The name is \(edited.displayName ?? edited.label) now.")
} catch let error as AccountStoreError where error.kind == .denied || error.kind == .cancelled {
    print("The profile did not change.")
}
print("Accounts:", try await store.accounts(ofType: type).count)

// A token of the first policy. For another one: store.accessToken(for: account.id, policy: "editProfile").
if let api = settings[type]?.graphAPI {
    let response = try await account.send(HTTPRequest(.get, api.appending(path: "v1.0/me")), in: store)
    print("The API responded with \(response.status).")
}
