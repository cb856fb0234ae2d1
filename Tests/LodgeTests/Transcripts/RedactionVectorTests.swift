import Foundation
import LodgePlatform
import HTTPExchange
import StrictJSON
import TestSupport
import Testing

@testable import CommandLineKit
@testable import lodge

/// The published redaction cases for the command.
@MainActor @Suite struct RedactionVectorTests {
    static let file = VectorFile("redaction")
    static let known = file.defaults["secrets"]?.object ?? [:]

    /// The forbidden texts: each secret, its prefix and its base64.
    static let forms = known.members.compactMap(\.value.string).flatMap {
        [$0, String($0.prefix(8)), Data($0.utf8).base64EncodedString()]
    }

    private func vector(_ id: String) throws -> VectorCase {
        try #require(Self.file.cases.first { $0.id == id }, "no \(id)")
    }

    private func expectNoSecret(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) {
        for form in Self.forms { #expect(!text.contains(form), "\(text)", sourceLocation: sourceLocation) }
    }

    /// Returns a terminal with an account whose tokens are the secrets of the file.
    private func signedIn() async throws -> Terminal {
        #expect(Self.forms.count == 30)
        let terminal = try await Terminal()
        let answer: JSONObject = [
            "access_token": try #require(Self.known["access_token"]),
            "refresh_token": try #require(Self.known["refresh_token"]), "token_type": "Bearer", "expires_in": 3600,
        ]
        let signIn = await terminal.run(
            "sign-in", "--with-token", input: String(decoding: JSONValue.object(answer).serialized(), as: UTF8.self))
        #expect(signIn.status == 0, "\(signIn.errors)")
        expectNoSecret(signIn.output + signIn.errors)
        return terminal
    }

    @Test func `RD-019: a crash writes no core file`() throws {
        #expect(try vector("RD-019").expect["core_disabled"]?.bool == true)
        // The program does this first. Here it applies to the test process, which needs no core file either.
        ProcessLimits.protectMemory()
        var limit = rlimit(rlim_cur: 1, rlim_max: 1)
        #if canImport(Glibc)
            getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
        #else
            getrlimit(RLIMIT_CORE, &limit)
        #endif
        #expect(limit.rlim_cur == 0)
    }

    @Test func `RD-016: no option accepts a secret on the command line`() async throws {
        let vector = try vector("RD-016")
        #expect(vector.expect.texts("not_via") == ["argument"])
        #expect(
            vector.expect.texts("secrets_accepted_via") == ["stdin", "file", "prompt without echo", "environment"])
        // The options accept a file or an environment variable.
        let words = ["secret", "token", "password", "assertion", "private", "credential"]
        let options = commandSyntax.root.allOptions.filter { option in
            option.takesValue && words.contains { option.name.contains($0) }
        }
        #expect(Set(options.map(\.name)).isSuperset(of: ["client-secret-file", "client-secret-env"]))
        for option in options where option.name != "token-lifetime" {
            #expect(option.name.hasSuffix("-file") || option.name.hasSuffix("-env"), "\(option.name)")
        }
        let terminal = try await Terminal()
        let secret = try #require(Self.known["client_secret"]?.string)
        for words in [
            ["providers", "add", "x", "--client-secret", secret], ["sign-in", "--with-token=\(secret)"],
            ["sign-in", "--token", secret], ["sign-in", "--password=\(secret)"],
        ] {
            let refused = await terminal.run(words: words)
            #expect(refused.status == 2, "\(words)")
            expectNoSecret(refused.output + refused.errors)
        }
    }

    @Test(arguments: ["table", "json"])
    func `RD-017: only the token command prints a secret`(format: String) async throws {
        #expect(try vector("RD-017").expect["contains_no_secret"] == true)
        let terminal = try await signedIn()
        for words in [
            ["status"], ["accounts"], ["accounts", "list"], ["providers"], ["token", "--expires"],
            ["me", "--debug"], ["search", "ada", "--debug"], ["sign-out", "--debug"],
        ] {
            let transcript = await terminal.run(words: words + (format == "json" ? ["--output", "json"] : []))
            #expect(!(transcript.output + transcript.errors).isEmpty, "\(words)")
            expectNoSecret(transcript.output + transcript.errors)
        }
        #expect(await terminal.run("accounts").status == 3)
    }

    @Test func `RD-018: token prints only the token and a newline`() async throws {
        let vector = try vector("RD-018")
        let terminal = try await signedIn()
        let token = await terminal.run("token")
        #expect(token.status == 0)
        #expect(token.output == vector.expect["exact"]?.string)
        #expect(token.errors.isEmpty)
    }

    /// A transport that fails or returns the request.
    private struct Echo: HTTPTransport {
        let failure: HTTPTransportError?

        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            if let failure { throw failure }
            return HTTPResponse(status: 200, fields: request.fields, body: request.body ?? Data(), url: request.url)
        }
    }

    @Test(arguments: ["RD-012", "RD-013"])
    func `--debug prints neither header fields nor content of requests`(id: String) async throws {
        let vector = try vector(id)
        let names = vector.input.texts("fields") ?? Self.known.members.map(\.name)
        let values = Self.known.members.compactMap(\.value.string)
        let form = names.enumerated().map { "\($1)=\(values[$0 % values.count])" }.joined(separator: "&")
        let address = try #require(URL(string: "https://op.example.com/token?\(form)"))
        let request = HTTPRequest(
            .post, address, fields: ["Authorization": "Bearer \(values[0])", "DPoP": values[2]], body: Data(form.utf8))
        var options = ConsoleOptions()
        options.verbosity = .debug
        let captured = CapturedConsole(options)
        let report = ActivityReport(captured.console)
        for failure in [nil, HTTPTransportError(.connectionLost, host: "op.example.com", reason: "no")] {
            _ = try? await ReportedTransport(inner: Echo(failure: failure), report: report).send(request)
        }
        let said = captured.errorOutput.text
        #expect(said.contains("> POST https://op.example.com/token\n") && said.contains("< HTTP 200"), "\(said)")
        expectNoSecret(said)
    }
}
