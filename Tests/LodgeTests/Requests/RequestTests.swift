import Foundation
import HTTPExchange
import OAuth2AccountStore
import Testing

@testable import CommandLineKit
@testable import TerminalBrowser
@testable import lodge

@Suite @MainActor struct RequestTests {
    @Test func `a path is relative to the type's API, and its version is added once`() throws {
        var type = AccountType(
            name: "t", provider: .endpoints, clientID: "c", redirectURI: try .init("http://127.0.0.1/callback"),
            scope: [])
        func location(_ text: String) throws -> String { try RequestURL(type: type).url(text).absoluteString }
        #expect(throws: CommandError.self) { try location("/me") }
        type.resourceHosts = ["api.example", "other.example"]
        #expect(try location("/user?a=b c") == "https://api.example/user?a=b%20c")
        type.graphAPI = URL(string: "https://graph.example/")
        #expect(try location("/me") == "https://graph.example/v1.0/me")
        #expect(try location("/v1.0/me") == "https://graph.example/v1.0/me")
        #expect(try location("/beta/me?x") == "https://graph.example/beta/me?x")
        #expect(
            try location("/users/a_b.example#EXT#@c.example?x=#1")
                == "https://graph.example/v1.0/users/a_b.example%23EXT%23@c.example?x=%231")
        #expect(try location("//evil.example/me") == "https://graph.example/v1.0//evil.example/me")
        #expect(try location("https://any.example/ä") == "https://any.example/%C3%A4")
        #expect(try location("http://127.0.0.1:1/") == "http://127.0.0.1:1/")
        for (typed, sent) in [
            ("/x?a[b]=x%20y", "/x?a%5Bb%5D=x%20y"), ("/x?q=50%&y=%20", "/x?q=50%25&y=%20"),
            ("/x[1]/y%20z", "/x%5B1%5D/y%20z"), ("/x?y=%2f%2B+%", "/x?y=%2f%2B+%25"),
            ("/users?$filter=displayName eq '50% x'", "/users?$filter=displayName%20eq%20'50%25%20x'"),
        ] {
            #expect(try location("https://any.example" + typed) == "https://any.example" + sent)
            #expect(try location("/v1.0" + typed) == "https://graph.example/v1.0" + sent)
        }
        let letters = #expect(throws: CommandError.self) { try location("https://b\u{FC}cher.example/") }
        #expect(
            letters?.status == .usage && letters?.hint?.description.contains("resourceHosts") == true,
            "\(letters as Any)")
        for text in ["me", "", "ftp://a.example", "http://a.example/", "https://", "https://u:p@a.example/"] {
            let error = #expect(throws: CommandError.self) { try location(text) }
            #expect(error?.status == .usage && error?.hint != nil, "\(text)")
        }
        let fragment = #expect(throws: CommandError.self) { try location("https://any.example/users/a#EXT#@c") }
        #expect(fragment?.status == .usage && fragment?.hint?.description.contains("%23") == true)
        type.directory = .scim
        type.graphAPI = URL(string: "https://id.example/scim/v2/")
        #expect(try location("/Users") == "https://id.example/scim/v2/Users")
    }

    @Test func `progress shows the amount, the rate and the total`() {
        let second = Duration.seconds(1)
        let sending = HTTPProgress(sent: 5_000_000, totalToSend: 20_000_000)
        #expect(TransferProgress.text(sending, after: .milliseconds(200)) == nil)
        #expect(
            TransferProgress.text(sending, after: second) == "[#####---------------] 25 % of 20.0 MB sent, 5.0 MB/s")
        #expect(
            TransferProgress.text(HTTPProgress(sent: 9, received: 1_500, totalToReceive: 1_500), after: second * 3)
                == "[####################] 100 % of 1.5 kB received, 500 B/s")
        #expect(TransferProgress.text(HTTPProgress(received: 999), after: second) == "999 B received, 999 B/s")
        #expect(TransferProgress.text(HTTPProgress(received: 1, hasEnded: true), after: second) == nil)
        #expect(TransferProgress.size(1_234_567_890) == "1.2 GB" && TransferProgress.size(-1) == "0 B")
    }

    @Test func `terminal output escapes control characters and rejects binary data`() {
        var text = TerminalText.Lines()
        #expect(text.take(Data("a\u{1B}[31m\tb\r\nc".utf8)) == ["a\\u{1B}[31m\tb"])
        #expect(text.take(Data("d\n\n".utf8)) == ["cd", ""])
        #expect(text.take(Data([0xC3])) == [] && text.take(Data([0xA4, 0x0A])) == ["ä"])
        #expect(text.rest() == nil)
        #expect(text.take(Data("end".utf8)) == [] && text.rest() == "end")
        var long = TerminalText.Lines()
        let pieces = long.take(Data(String(repeating: "ä", count: 50_000).utf8)) ?? []
        #expect(pieces.joined() + (long.rest() ?? "") == String(repeating: "ä", count: 50_000))
        var binary = TerminalText.Lines()
        #expect(binary.take(Data([0x89, 0x50, 0, 0x0A])) == nil)
    }

    @Test(arguments: [false, true])
    func `binary data is reported on a terminal, even with --quiet`(isQuiet: Bool) async throws {
        var options = ConsoleOptions()
        if isQuiet { options.verbosity = .quiet }
        let captured = CapturedConsole(terminal: true, options)
        let answer = ResponseOutput(
            console: captured.console, line: TransferProgress(captured.console, isForFile: false), includesHead: false)
        try await answer.write(HTTPStreamedResponse(status: 200, body: HTTPResponseBody(Data([0x89, 0, 1]))))
        #expect(captured.errorOutput.text.contains("is not text") && captured.output.text.isEmpty)
    }

    @Test func `request sends the token and prints the response unchanged`() async throws {
        let terminal = try await Terminal()
        #expect(await terminal.run("request", "GET", "/me").status == 4)
        #expect(await terminal.run("sign-in").status == 0)
        let me = await terminal.run("request", "get", "/me", "--include")
        #expect(me.status == 0 && me.output.hasPrefix("HTTP 200\n") && me.output.contains("ada@contoso.example"))
        #expect(me.errors.isEmpty)
        let missing = await terminal.run("request", "GET", "/users/nobody@contoso.example")
        #expect(missing.status == 3 && missing.output.contains("Request_ResourceNotFound"))
        #expect(missing.errors.contains("the response is HTTP 404") && missing.errors.contains("request id: "))
        terminal.provider.expireAccessTokens()
        #expect(await terminal.run("request", "GET", "/me", "--quiet").status == 0)
        let token = await terminal.run("token").output.dropLast()
        let debug = await terminal.run("request", "GET", "/me", "--debug", "--header", "X-Key: hidden")
        #expect(debug.status == 0 && debug.errors.contains("GET http://") && !debug.errors.contains(token))
        #expect(!debug.errors.contains("hidden"))
        let own = await terminal.run("request", "GET", "/me", "--header", "Authorization: Mine")
        #expect(own.status == 0 && own.errors.contains("use --no-account"))
        let host = await terminal.run("request", "GET", "/me", "--header", "Host: evil.example")
        #expect(host.status == 2 && host.errors.contains("Host is set by the transport"))
        let foreign = await terminal.run("request", "GET", "https://evil.example/")
        #expect(foreign.status == 8 && foreign.errors.contains("resourceHosts"))
    }

    @Test func `--output saves the response, and LODGE_OUTPUT=json prints errors as objects`() async throws {
        let terminal = try await Terminal()
        #expect(await terminal.run("sign-in").status == 0)
        let file = terminal.folder.appending(path: "me.json")
        let saved = await terminal.run("request", "GET", "/me", "--output", file.path)
        #expect(saved.status == 0 && saved.output.isEmpty && saved.errors.contains("Wrote "))
        let text = try String(contentsOf: file, encoding: .utf8)
        #expect(text.contains("ada@contoso.example"))
        terminal.set("LODGE_OUTPUT", "json")
        let missing = await terminal.run("request", "GET", "/nothing", "-o", file.path)
        #expect(missing.status != 0 && missing.errors.hasPrefix("{\"error\":") && !missing.output.isEmpty)
        #expect(try String(contentsOf: file, encoding: .utf8) == text)
        terminal.set("LODGE_OUTPUT", nil)
        #expect(await terminal.run("request", "GET", "/me", "--output", "csv").status == 2)
    }
}
