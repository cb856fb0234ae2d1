import Foundation
import HTTPExchange
import LocalProvider
import Testing
import TestSupport

@testable import CommandLineKit
@testable import lodge

/// Tests the reports of requests, waits and refreshes on standard error.
@MainActor @Suite struct ReportTests {
    private func signedIn(_ errors: String...) async throws -> Terminal {
        var configuration = LoopbackProvider.Configuration()
        for error in errors { try configuration.injectedErrors.add(parsing: error) }
        let terminal = try await Terminal(configuration)
        #expect(await terminal.run("sign-in").status == 0)
        return terminal
    }

    @Test func `--verbose prints the account, each request and the refresh`() async throws {
        let terminal = try await signedIn()
        terminal.provider.expireAccessTokens()
        let found = await terminal.run("search", "ada", "--verbose")
        let origin = terminal.provider.issuer.absoluteString
        #expect(found.status == 0)
        let lines = found.errors.split(separator: "\n").map(String.init)
        #expect(lines.first == "Account: ada@contoso.example (local)", "\(found.errors)")
        #expect(lines.contains { $0.wholeMatch(of: /POST http:\S+\/token: 200 in \d+ ms/) != nil })
        #expect(lines.contains("Refreshed the access token."))
        let request = try #require(lines.last { $0.hasPrefix("GET ") })
        #expect(request.hasPrefix("GET \(terminal.provider.graphBase)v1.0/users: 200 in "), "\(request) \(origin)")
        // Queries contain names and can contain secrets.
        #expect(!found.errors.contains("?") && !found.errors.contains("filter"))
    }

    @Test(arguments: [
        ["me"], ["show", "ada@contoso.example"], ["lookup"], ["sync"], ["request", "GET", "/me"],
        ["token", "--refresh"],
        ["doctor"], ["providers", "check", "local"], ["accounts", "show", "ada@contoso.example"], ["sign-out"],
    ])
    func `every command prints its requests with --verbose`(words: [String]) async throws {
        let terminal = try await signedIn()
        let silent = await terminal.run(words: words, input: "ada@contoso.example\n")
        #expect(!silent.errors.contains("http:") && !silent.errors.contains("Account: "), "\(silent.errors)")
        if words == ["sign-out"] { #expect(await terminal.run("sign-in").status == 0) }
        let verbose = await terminal.run(words: words + ["--verbose"], input: "ada@contoso.example\n")
        let requests = verbose.errors.split(separator: "\n").filter {
            $0.wholeMatch(of: /[A-Z]+ http:\S+: \d+ in \d+.*s/) != nil
        }
        #expect(requests.isEmpty == (words[0] == "accounts"), "\(verbose.errors)")
        #expect(
            verbose.errors.contains("Account: ada@contoso.example (local)\n")
                == !["doctor", "providers"].contains(words[0]), "\(verbose.errors)")
    }

    @Test(arguments: [("directory-429=20:1", "20 s"), ("directory-503=24:1", "24 s")])
    func `a long wait is reported on a terminal and with --verbose`(error: String, time: String) async throws {
        let line = "Microsoft Graph asks to wait \(time) (attempt 2 of 4).\n"
        for (isTerminal, option, isReported) in [
            (true, "--no-color", true), (true, "--quiet", false), (false, "--no-color", false),
            (false, "--verbose", true),
        ] {
            let terminal = try await signedIn(error)
            terminal.isTerminal = isTerminal
            let found = await terminal.run("search", "ada", option)
            #expect(found.status == 0)
            #expect(found.errors.contains(line) == isReported, "\(isTerminal) \(option): \(found.errors)")
        }
    }

    @Test func `a wait that the service did not request names its reason`() {
        var wait = HTTPRetryWait(
            service: "id.example", delay: .seconds(3), isRequested: false, attempt: 2, maximumAttempts: 3, status: 503)
        #expect(
            ActivityReport.text(wait)
                == "id.example responded with HTTP status 503: next attempt in 3 s (attempt 2 of 3).")
        wait.status = nil
        #expect(ActivityReport.text(wait) == "No response from id.example: next attempt in 3 s (attempt 2 of 3).")
    }

    /// Responds when the test yields a response.
    private struct Slow: HTTPTransport {
        let responses = AsyncStream.makeStream(of: HTTPResponse.self)
        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            for await response in responses.stream { return response }
            throw CancellationError()
        }
    }

    @Test func `a response that takes more than a second shows a temporary progress line`() async throws {
        let captured = CapturedConsole(terminal: true)
        let slow = Slow()
        let transport = ReportedTransport(inner: slow, report: ActivityReport(captured.console))
        let url = try #require(URL(string: "https://graph.example/v1.0/users?secret"))
        async let sent = transport.send(HTTPRequest(.get, url))
        try await until { captured.errorOutput.text.contains("Waiting for graph.example, ") }
        #expect(!captured.errorOutput.text.contains("secret"))
        slow.responses.continuation.yield(HTTPResponse(status: 200))
        _ = try await sent
        try await until { captured.console.progress.isEmpty }
        #expect(captured.output.text.isEmpty)
    }

    @Test func `advice is printed on a terminal and with --verbose`() {
        for (isTerminal, verbosity, isPrinted) in [
            (true, ConsoleOptions.Verbosity.normal, true), (true, .quiet, false), (false, .normal, false),
            (false, .verbose, true),
        ] {
            var options = ConsoleOptions()
            options.verbosity = verbosity
            let captured = CapturedConsole(terminal: isTerminal, options)
            captured.console.advise("Try --all.")
            #expect(captured.errorOutput.text == (isPrinted ? "Try --all.\n" : ""), "\(isTerminal) \(verbosity)")
        }
    }

    @Test func `request durations have a short form`() {
        #expect(TimeText.seconds(.milliseconds(143)) == "143 ms")
        #expect(TimeText.seconds(.milliseconds(2128)) == "2.1 s")
        #expect(TimeText.seconds(.seconds(20)) == "20 s")
        #expect(TimeText.seconds(.seconds(-1)) == "0 ms")
    }
}
