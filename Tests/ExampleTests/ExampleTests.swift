import Foundation
import CurlHTTP
import HTTPExchange
import LocalProvider
import TestSupport
import Testing

@Suite struct ExampleTests {
    @Test func `SignInAndSearch signs in and prints the matching users`() async throws {
        let provider = try await LoopbackProvider()
        defer { provider.close() }
        let output = try await ExampleProcess("SignInAndSearch", provider).signingIn()
        let expected = provider.users.filter { $0.givenName?.hasPrefix("Ada") == true && $0.givenName != nil }
        #expect(!expected.isEmpty)
        #expect(output.status == 0, "\(output.errors)")
        #expect(Set(output.lines) == Set(expected.map { "\($0.displayName ?? "") \($0.mail ?? "")" }))
    }

    @Test func `WatchAccounts prints each event from both event sources`() async throws {
        let provider = try await LoopbackProvider()
        defer { provider.close() }
        let output = try await ExampleProcess("WatchAccounts", provider).signingIn()
        #expect(output.status == 0, "\(output.errors)")
        #expect(
            output.lines == [
                "notification: local", "notification: an account was removed", "added ada@contoso.example",
                "data of ada@contoso.example is [\"favorite\": \"tea\"]", "removed an account of type local",
            ])
    }

    @Test func `SendRequest sends a request, uploads a file and saves a large response`() async throws {
        let provider = try await LoopbackProvider()
        defer { provider.close() }
        let output = try await ExampleProcess("SendRequest", provider).signingIn()
        #expect(output.status == 0, "\(output.errors)")
        #expect(
            output.lines == [
                "Ada Lovelace ada@contoso.example", "upload: 405 with an explanation", "received much",
                "people: 200 in a large file",
            ])
        #expect(provider.log().contains { $0.method == "POST" && $0.path == "/v1.0/files" })
    }

    @Test func `DeviceSignIn shows a code and waits until the user has entered it`() async throws {
        var configuration = LoopbackProvider.Configuration()
        configuration.devicePollingInterval = .seconds(1)
        let provider = try await LoopbackProvider(configuration: configuration)
        defer { provider.close() }
        let example = try ExampleProcess("DeviceSignIn", provider)
        let prompt = try await example.line(0)
        let code = try #require(prompt.wholeMatch(of: /.* enter ([A-Z]{4}-[A-Z]{4})\./)).1
        let page = try #require(URL(string: "\(provider.issuer)/device?user_code=\(code)"))
        try await Approval().approveDevice(page, transport: CurlTransport())
        let output = try await example.end()
        #expect(output.status == 0, "\(output.errors)")
        #expect(
            output.lines == [
                "Open \(provider.issuer)/device on your phone and enter \(code).", "Signed in as ada@contoso.example.",
            ])
    }

    @Test func `PlainOAuth2 signs in without discovery and without an ID token`() async throws {
        let provider = try await LoopbackProvider()
        defer { provider.close() }
        let example = try ExampleProcess("PlainOAuth2", arguments: [provider.issuer.absoluteString])
        let output = try await example.signingIn()
        #expect(output.status == 0, "\(output.errors)")
        #expect(
            output.lines == ["Signed in as Ada Lovelace.", "The address is ada@contoso.example.", "Signed out."])
        #expect(provider.requestCount("GET /.well-known/openid-configuration") == 0)
        #expect(provider.log().allSatisfy { !$0.path.contains("well-known") && $0.path != "/jwks" })
        #expect(provider.log().contains { $0.path == "/revoke" })
    }

    /// Returns settings for an Azure AD B2C tenant that the local provider imitates.
    private func policySettings(_ provider: LoopbackProvider) -> String {
        """
        {"types": {"customers": {"authority": "\(provider.tenantAuthority)/B2C_1_signin",
        "policies": {"editProfile": "B2C_1_edit"}, "clientId": "\(provider.clientID)",
        "redirectUri": "http://localhost/callback", "graphAPI": "\(provider.graphBase)",
        "scopes": ["openid", "profile", "offline_access", "User.Read"]}}}
        """
    }

    @Test func `EditProfile signs in with one policy and edits the profile with another`() async throws {
        let provider = try await LoopbackProvider()
        defer { provider.close() }
        let example = try ExampleProcess("EditProfile", settings: policySettings(provider))
        try await Approval().approve(try await example.address(0), transport: CurlTransport())
        let edit = try await example.address(1)
        #expect(edit.path().contains("/B2C_1_edit/"))
        #expect(provider.updateUser("ada@contoso.example") { $0.displayName = "Ada King" })
        try await Approval().approve(edit, transport: CurlTransport())
        let output = try await example.end()
        #expect(output.status == 0, "\(output.errors)")
        #expect(
            output.lines == [
                "Signed in as Ada Lovelace.", "The name is Ada King now.", "Accounts: 1",
                "The API responded with 200.",
            ])
    }

    @Test func `EditProfile keeps the account if the user does not edit the profile`() async throws {
        let provider = try await LoopbackProvider()
        defer { provider.close() }
        let example = try ExampleProcess("EditProfile", settings: policySettings(provider))
        try await Approval().approve(try await example.address(0), transport: CurlTransport())
        try await Approval().deny(try await example.address(1), transport: CurlTransport())
        let output = try await example.end()
        #expect(output.status == 0, "\(output.errors)")
        #expect(
            output.lines == [
                "Signed in as Ada Lovelace.", "The profile did not change.", "Accounts: 1",
                "The API responded with 200.",
            ])
    }

    /// Starts AppWindow with a redirect URI that has a private-use scheme (RFC 8252 section 7.1).
    private func startWindow() async throws -> (LoopbackProvider, ExampleProcess) {
        let redirectURI = "com.example.people:/callback"
        var configuration = LoopbackProvider.Configuration()
        configuration.clients = [LocalClient(id: "people", name: "People", redirectURIs: [redirectURI])]
        let provider = try await LoopbackProvider(configuration: configuration)
        let settings = ExampleProcess.settings(provider, redirectURI: redirectURI)
        return (provider, try ExampleProcess("AppWindow", settings: settings))
    }

    @Test func `AppWindow signs in with the redirect that its window received`() async throws {
        let (provider, example) = try await startWindow()
        defer { provider.close() }
        let url = try #require(URL(string: String(try await example.line(0).dropFirst("Open ".count))))
        try example.type("https://contoso.example/help")
        _ = try await example.line(1)
        let redirect = try await Approval().redirect(approving: url, transport: CurlTransport())
        try example.type(redirect.absoluteString)
        let output = try await example.end()
        #expect(output.status == 0, "\(output.errors)")
        #expect(
            output.lines == [
                "Open \(url)", "Not the redirect, which begins with com.example.people:/callback",
                "Signed in as ada@contoso.example.",
            ])
    }

    @Test func `AppWindow ends without an error if the user closes the window`() async throws {
        let (provider, example) = try await startWindow()
        defer { provider.close() }
        _ = try await example.line(0)
        try example.closeInput()
        let output = try await example.end()
        #expect(output.status == 0, "\(output.errors)")
        #expect(output.lines.dropFirst() == ["Not signed in."])
    }

    @Test func `SignInServer signs several visitors in, each to their own account`() async throws {
        let provider = try await LoopbackProvider()
        defer { provider.close() }
        let (example, server) = try await startServer(provider)
        var ada = Visitor(server), aoife = Visitor(server)
        #expect(try await ada.get("/").text == "To sign in, open \(server)/sign-in\n")

        let adasPage = try await ada.get("/sign-in"), aoifesPage = try await aoife.get("/sign-in")
        let adasRedirect = try await adasPage.approved(by: "ada@contoso.example")
        let aoifesRedirect = try await aoifesPage.approved(by: "aoife.o'brien@contoso.example")
        // Ada's redirect is valid only with the cookie of the visitor who started the sign-in.
        for stranger in [Visitor(server), aoife] {
            var stranger = stranger
            let refusal = try await stranger.get(adasRedirect)
            #expect(refusal.response.status == 400)
            #expect(refusal.text == "This is not the sign-in that began here.\n")
        }
        #expect(try await ada.get(adasRedirect).response.fields["Location"] == "/")
        #expect(try await aoife.get(aoifesRedirect).response.fields["Location"] == "/")
        // A redirect is valid once.
        #expect(try await ada.get(adasRedirect).response.status == 400)

        func page(_ name: String) -> String { "Signed in as \(name). To sign out, open \(server)/sign-out\n" }
        #expect(try await ada.get("/").text == page("ada@contoso.example"))
        #expect(try await aoife.get("/").text == page("aoife.o'brien@contoso.example"))
        #expect(try await ada.get("/sign-out").response.fields["Location"] == "/")
        #expect(try await ada.get("/").text == "To sign in, open \(server)/sign-in\n")
        #expect(try await aoife.get("/").text == page("aoife.o'brien@contoso.example"))
        provider.close()
        #expect(try await ada.get("/sign-in").response.status == 503)

        example.terminate()
        let output = try await example.end()
        #expect(output.errors == "")
        #expect(output.lines.first == "Open \(server)/")
    }

    /// Starts SignInServer on a free port, and returns its URL.
    private func startServer(_ provider: LoopbackProvider) async throws -> (ExampleProcess, String) {
        while true {
            let port = UInt16.random(in: 20_000..<60_000)
            let settings = ExampleProcess.settings(provider)
            let example = try ExampleProcess("SignInServer", settings: settings, arguments: ["\(port)"])
            try await until { !example.lines.isEmpty || !example.isRunning }
            if !example.lines.isEmpty { return (example, "http://127.0.0.1:\(port)") }
            // If another program uses the port, try a different one.
            let errors = try await example.end().errors
            try #require(errors.contains("EADDRINUSE") || errors.contains("Address already in use"), "\(errors)")
        }
    }

    @Test func `PeopleBrowser lists, finds and shows users, signs in again if necessary, and signs out`() async throws {
        let provider = try await LoopbackProvider()
        defer { provider.close() }
        let example = try ExampleProcess("PeopleBrowser", provider)
        try await Approval().approve(try await example.address(0), transport: CurlTransport())
        var expected = ["Signed in as ada@contoso.example."]
        let names = provider.users.map { $0.displayName ?? $0.userPrincipalName }
        func rows(_ names: some Sequence<String>, from first: Int = 1) -> [String] {
            names.enumerated().map { "\(first + $0.offset). \($0.element)" }
        }
        /// Types a line, and waits for its output.
        func type(_ line: String?, _ output: [String]) async throws {
            if let line { try example.type(line) }
            expected += output
            _ = try await example.line(expected.count - 1)
            #expect(example.lines == expected)
        }
        try await type(nil, rows(names.prefix(5)) + ["Press Return for more."])
        try await type("", rows(names[5..<10], from: 6) + ["Press Return for more."])
        let third = try #require(provider.user(at: 2))
        try await type(
            "3",
            [
                "Ayşe Ünal", "  Address: \(third.mail ?? "")", "  Manager: Ada Lovelace",
                "  Groups: All People, Facilities, São Paulo",
            ])
        try await type(
            "ada",
            [
                "1. Ada Lovelace", "2. Adam Hansen", "3. Adam López", "4. Adam 김", "5. Conf Room Adams",
                "Press Return for more.",
            ])
        try await type("o'br", ["1. Aoife O'Brien", "End of the list."])
        try await type("", ["End of the list."])
        // The list has no row 2, so the example searches for "2".
        try await type("2", ["End of the list."])

        provider.setInjectedErrors(InjectedErrors([.init(.directory403, remaining: 1)]))
        try await type(
            "ada",
            [
                "The request to the directory failed. The directory does not permit this without User.ReadBasic.All or"
                    + " User.Read.All: Insufficient privileges to complete the operation. Ask an administrator to grant"
                    + " User.ReadBasic.All or User.Read.All, then sign in with it."
            ])
        // The response to "ada" takes two seconds. The user types "o'br" before it arrives, so the example must not
        // show it.
        provider.setInjectedErrors(InjectedErrors([.init(.directorySlow, value: "2", remaining: 1)]))
        try example.type("ada")
        try await type("o'br", ["1. Aoife O'Brien", "End of the list."])
        // This response takes three seconds. The response to "ada" would arrive first, but is not in the output.
        provider.setInjectedErrors(InjectedErrors([.init(.directorySlow, value: "3", remaining: 1)]))
        try await type("aoife", ["1. Aoife O'Brien", "End of the list."])
        provider.revokeGrants()
        try example.type("ada")
        try await Approval().approve(try await example.address(1), transport: CurlTransport())
        try await type(
            nil,
            [
                "Sign-in needed. The provider no longer accepts the saved sign-in. Sign in again.",
                "Signed in as ada@contoso.example.",
            ] + rows(names.prefix(5)) + ["Press Return for more."])
        try await type("sign out", ["Signed out."])
        let output = try await example.end()
        #expect(output.status == 0, "\(output.errors)")
        #expect(output.lines == expected)
        #expect(provider.log().contains { $0.path == "/revoke" })
        // The recorded sessions in the tutorial contain only input lines and output lines of this test.
        let resources = Self.root.appending(path: "Sources/DirectorySearch/DirectorySearch.docc/Resources")
        for step in 1...6 {
            let session = try String(
                contentsOf: resources.appending(path: "PeopleBrowser-\(step).txt"), encoding: .utf8)
            let typed = ["$ swift run", "ada", "o'br", "3", "", "sign out"]
            let lines = session.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            #expect(Set(lines).subtracting(typed).isSubset(of: expected), "step \(step)")
        }
    }

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    @Test func `an example has fewer than 60 lines`() throws {
        let folder = Self.root.appending(path: "Examples")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(names.count >= 8)
        for name in names {
            for file in try FileManager.default.contentsOfDirectory(atPath: folder.appending(path: name).path) {
                let source = try String(contentsOf: folder.appending(path: "\(name)/\(file)"), encoding: .utf8)
                #expect(source.split(separator: "\n", omittingEmptySubsequences: false).count < 61, "\(name)/\(file)")
            }
        }
    }

    /// Reads only the text: `make docs` compiles the Swift code of the README and of the articles.
    @Test func `the README has at most 150 lines, and its Swift code starts with an import`() throws {
        let readme = try String(contentsOf: Self.root.appending(path: "README.md"), encoding: .utf8)
        #expect(readme.split(separator: "\n", omittingEmptySubsequences: false).count <= 151)
        let blocks = readme.components(separatedBy: "```swift\n").dropFirst()
        #expect(!blocks.isEmpty)
        for block in blocks { #expect(block.hasPrefix("import ")) }
    }
}

/// A visitor of SignInServer, with one cookie.
private struct Visitor {
    let server: String
    var cookie = ""

    init(_ server: String) { self.server = server }

    /// Requests a path of the server, or a URL.
    mutating func get(_ target: String) async throws -> Page {
        let url = try #require(URL(string: target.hasPrefix("/") ? server + target : target))
        let request = HTTPRequest(.get, url, fields: cookie.isEmpty ? [:] : ["Cookie": "visitor=\(cookie)"])
        let response = try await CurlTransport().send(request)
        if let field = response.fields["Set-Cookie"] {
            let match = try #require(field.wholeMatch(of: /visitor=([^;]*); Path=\/; HttpOnly; SameSite=Lax/))
            cookie = String(match.1)
        }
        return Page(response: response)
    }
}

private struct Page {
    let response: HTTPResponse
    var text: String { String(decoding: response.body, as: UTF8.self) }

    /// Approves the authorization request in the `Location` field, and returns the redirect URI with the code.
    func approved(by user: String) async throws -> String {
        let url = try #require(response.fields["Location"].flatMap { URL(string: $0) })
        return try await Approval(as: user).redirect(approving: url, transport: CurlTransport()).absoluteString
    }
}
