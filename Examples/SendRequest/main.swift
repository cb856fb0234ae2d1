// Signs in, requests the user from the service, uploads a form with a file, and saves a long response to a file.
//
//     swift run SendRequest [SETTINGS]

import Foundation
import HTTPExchange
import OAuth2AccountStore

struct Person: Decodable {
    var displayName: String
    var mail: String?
}

let path = CommandLine.arguments.dropFirst().first ?? "Settings/settings.plist"
let settings = try Settings(contentsOf: URL(filePath: path))
let store = try await AccountStore(settings: settings, application: "com.example.request")
let account = try await store.signIn(to: settings.defaultType, by: .browser)
let api = (settings[settings.defaultType]?.graphAPI ?? URL(filePath: "/")).appending(path: "v1.0")

// The store adds the token, refreshes it if necessary, and sends it to no other host.
let answer = try await account.send(
    HTTPRequest(.get, api.appending(path: "me"), query: [("$select", "displayName,mail")]), in: store)
let me = try answer.decoded(as: Person.self)
print(me.displayName, me.mail ?? "")

// A form with a file, which is read during the upload. Each response has its content, regardless of its status.
var form = MultipartForm()
form.append("a \"quoted\" name", named: "title")
form.append(file: URL(filePath: path), named: "file", contentType: "application/json")
let upload = try await account.send(try HTTPRequest(.post, api.appending(path: "files"), multipart: form), in: store)
print("upload:", upload.status, upload.body.isEmpty ? "empty" : "with an explanation")

// Saves a response of any size directly to a file, which appears under its name when it is complete.
let file = FileManager.default.temporaryDirectory.appending(path: "people-\(UUID().uuidString).json")
let people = HTTPRequest(.get, api.appending(path: "users"), query: [("$top", "999")])
let saved = try await account.transport(in: store).download(people, to: file) { progress in
    if progress.hasEnded { print("received", progress.received > 10_000 ? "much" : "little") }
}
print("people:", saved.response.status, saved.size > 10_000 ? "in a large file" : "in a small file")
try FileManager.default.removeItem(at: file)
