import Foundation
import LocalProvider
import TestSupport
import Testing

@testable import CommandLineKit
@testable import TerminalBrowser
@testable import lodge

/// Tests complete sessions of `browse` in a terminal in memory, with a local provider.
@MainActor @Suite(.timeLimit(.scaled(minutes: 15))) struct SessionTests {
    @Test func `typed text is searched with one request, and q ends browse`() async throws {
        let terminal = try await Terminal()
        _ = await terminal.run("sign-in")
        let (transcript, screen) = try await terminal.browse { screen in
            screen.type("ada")
            await screen.wait(for: "Ada Lovelace")
            screen.press(.tab)
            await screen.wait(for: "> Ada Lovelace")
            screen.type("q")
        }
        #expect(transcript.status == 0 && transcript.output.isEmpty && transcript.errors.isEmpty)
        #expect(terminal.searches.count == 1)
        #expect(screen.closings == 1)
    }

    @Test func `without an account browse offers a sign-in, then searches`() async throws {
        let terminal = try await Terminal()
        let (transcript, screen) = try await terminal.browse("ada") { screen in
            await screen.wait(for: "You are not signed in")
            screen.press(.enter)
            await screen.wait(for: "Ada Lovelace")
        }
        #expect(transcript.status == 0)
        #expect(screen.text.contains("ada@contoso.example"))
        #expect(await terminal.run("accounts").output.contains("ada@contoso.example"))
    }

    @Test func `a denied sign-in is shown on the screen`() async throws {
        let terminal = try await Terminal()
        terminal.person(.denies)
        _ = try await terminal.browse { screen in
            await screen.wait(for: "You are not signed in")
            screen.press(.enter)
            await screen.wait(for: "denied")
        }
    }

    @Test func `a first sign-in that fails because of the network does not mention a saved sign-in`() async throws {
        let terminal = try await Terminal()
        terminal.provider.close()
        _ = try await terminal.browse { screen in
            await screen.wait(for: "You are not signed in")
            screen.press(.enter)
            let shown = await screen.wait(for: "What helps")
            #expect(shown?.text.contains("saved sign-in") == false)
        }
    }

    @Test func `the next page is requested near the end of the list, but not earlier`() async throws {
        var configuration = LoopbackProvider.Configuration()
        configuration.userCount = 20_000
        let terminal = try await Terminal(configuration)
        _ = await terminal.run("sign-in")
        _ = try await terminal.browse { screen in
            screen.type("ma")
            await screen.wait(for: "of 100+")
            #expect(terminal.searches.count == 1)
            screen.press(.tab)
            screen.type("G")
            await screen.wait(for: "of 200+")
        }
        #expect(terminal.searches.count == 2)
    }

    @Test func `a failed page can be requested again and continues the list`() async throws {
        var configuration = LoopbackProvider.Configuration()
        configuration.userCount = 20_000
        let terminal = try await Terminal(configuration)
        _ = await terminal.run("sign-in")
        _ = try await terminal.browse { screen in
            screen.type("ma")
            await screen.wait(for: "of 100+")
            var faults = InjectedErrors()
            try faults.add(parsing: "directory-html:1")
            terminal.provider.setInjectedErrors(faults)
            screen.press(.tab)
            screen.type("G")
            await screen.wait(for: "Could not load more users")
            screen.press(.control("r"))
            await screen.wait(for: "of 200+")
        }
        #expect(terminal.searches.count == 3)
        #expect(terminal.searches[1] == terminal.searches[2] && terminal.searches[1].contains("skiptoken"))
    }

    @Test func `a throttled search is repeated after the delay`() async throws {
        var configuration = LoopbackProvider.Configuration()
        try configuration.injectedErrors.add(parsing: "directory-429=1:1")
        let terminal = try await Terminal(configuration)
        _ = await terminal.run("sign-in")
        _ = try await terminal.browse { screen in
            screen.type("ad")
            await screen.wait(for: "limits requests")
            screen.type("a")
            await screen.wait(for: "Ada Lovelace")
        }
        #expect(terminal.searches.count == 2)
        #expect(terminal.searches.last?.contains("ada") == true)
    }

    @Test func `with an offline copy browse finds users without the directory, with --offline only in the copy`()
        async throws
    {
        let terminal = try await Terminal()
        try terminal.write(settings: terminal.nested.replacing("User.ReadBasic.All", with: "User.Read.All"))
        _ = await terminal.run("sign-in")
        #expect(await terminal.run("sync").status == 0)
        let before = terminal.searches.count
        _ = try await terminal.browse("--offline", "ada", "lo") { screen in await screen.wait(for: "Ada Lovelace") }
        #expect(terminal.searches.count == before)
        terminal.provider.close()
        _ = try await terminal.browse("ada") { screen in
            await screen.wait { $0.text.contains("Ada Lovelace") && $0.text.contains("etwork") }
        }
    }

    @Test func `the selected account applies to this session, and new accounts of other processes are listed`()
        async throws
    {
        let terminal = try await Terminal()
        _ = await terminal.run("sign-in")
        _ = try await terminal.browse("ada") { screen in
            await screen.wait(for: "Ada Lovelace")
            terminal.person(.approvesAs("li.ming@contoso.example"))
            terminal.browseTerminal = nil
            _ = await terminal.run("sign-in")
            _ = await terminal.run("accounts", "use", "ada@contoso.example")
            screen.press(.tab)
            screen.type("a")
            await screen.wait(for: "li.ming@contoso.example")
            screen.type("j")
            screen.press(.enter)
            await screen.wait { $0.rows.first?.map(\.text).joined().contains("li.ming") == true }
        }
        let accounts = await terminal.run("accounts", "--output", "json").output
        #expect(accounts.contains("li.ming@contoso.example"))
        #expect(await terminal.run("me").output.contains("Ada"))
    }

    @Test func `users of another account come from its own directory`() async throws {
        var configuration = LoopbackProvider.Configuration()
        configuration.userCount = 20_000
        let other = try await LoopbackProvider(configuration: configuration)
        defer { other.close() }
        let terminal = try await Terminal()
        try terminal.write(settings: terminal.nested(beside: other))
        _ = await terminal.run("sign-in")
        terminal.person(.approvesAs("li.ming@contoso.example"))
        #expect(await terminal.run("sign-in", "--type", "other").status == 0)
        #expect(await terminal.run("accounts", "use", "ada@contoso.example").status == 0)
        _ = try await terminal.browse("ma") { screen in
            await screen.wait { $0.text.contains("1 of ") && !$0.text.contains("searching") }
            for (number, provider) in [other, terminal.provider, other].enumerated() {
                let before = provider.searches.count
                screen.press(.tab)
                if number > 0 { screen.press(.backTab) }
                screen.type(number == 1 ? "ak" : "aj")
                screen.press(.enter)
                let name = number == 1 ? "ada@contoso" : "li.ming@contoso"
                await screen.wait { $0.text.contains("Now searching as \(name)") && $0.text.contains("1 of ") }
                #expect(provider.searches.count == before + 1)
                #expect(screen.text.contains("of 100+") == (number != 1))
            }
        }
    }

    @Test func `browse uses the only account that another process signs in`() async throws {
        let other = try await LoopbackProvider()
        defer { other.close() }
        let terminal = try await Terminal()
        try terminal.write(settings: terminal.nested(beside: other))
        _ = try await terminal.browse("ada") { screen in
            await screen.wait(for: "You are not signed in")
            terminal.browseTerminal = nil
            _ = await terminal.run("sign-in", "--type", "other")
            await screen.wait { $0.text.contains("Ada Lovelace") || $0.text.contains("No account is chosen") }
            #expect(!screen.text.contains("No account is chosen"))
        }
        #expect(other.searches.count == 1 && terminal.searches.isEmpty)
        _ = try await terminal.browse("ada", "--type", "local") { screen in
            await screen.wait(for: "No account is chosen")
        }
    }

    @Test func `a signal that ends browse restores the terminal`() async throws {
        let terminal = try await Terminal()
        let (terminals, ready) = AsyncStream.makeStream(of: ValueTerminal.self)
        terminal.browseTerminal = { inbox in
            let screen = ValueTerminal(inbox)
            ready.yield(screen)
            return screen
        }
        let work = Task { await terminal.run("browse") }
        var iterator = terminals.makeAsyncIterator()
        let screen = try #require(await iterator.next())
        await screen.wait(for: "You are not signed in")
        work.cancel()
        let transcript = await work.value
        #expect(transcript.status == 130 && transcript.errors.contains("interrupted"))
        #expect(screen.closings == 1)
    }

    @Test func `browse ends when its terminal is closed`() async throws {
        let terminal = try await Terminal()
        let (transcript, _) = try await terminal.browse { screen in screen.inbox.end() }
        #expect(transcript.status == 130)
    }

    @Test func `the terminal copies, suspends and redraws`() async throws {
        let terminal = try await Terminal()
        _ = await terminal.run("sign-in")
        let (_, screen) = try await terminal.browse("ada") { screen in
            await screen.wait(for: "Ada Lovelace")
            screen.press(.tab, .character("c"))
            await screen.wait(for: "OSC 52")
            screen.press(.control("l"), .control("z"))
            screen.type("?")
            await screen.wait(for: "In the search line")
        }
        #expect(screen.copied == ["ada@contoso.example"])
        #expect(screen.suspensions == 1 && screen.redraws == 2)
    }

    @Test func `the request log has every request and no token`() async throws {
        let terminal = try await Terminal()
        _ = await terminal.run("sign-in")
        let token = await terminal.run("token").output.split(separator: "\n").first.map(String.init) ?? "none"
        let (_, screen) = try await terminal.browse("ada") { screen in
            await screen.wait(for: "Ada Lovelace")
            screen.press(.tab)
            screen.type("L")
            await screen.wait(for: "GET /v1.0/users?")
        }
        #expect(!screen.text.contains(token.prefix(12)) && !screen.text.contains("Bearer"))
    }

    @Test func `browse without a terminal is a usage error`() async throws {
        let terminal = try await Terminal()
        let transcript = await terminal.run("browse", "--offline")
        #expect(
            transcript.status == 2 && transcript.errors.contains("browse needs a terminal: the session has no terminal")
        )
        let fields = await terminal.run("browse", "--fields", "mail", "ada")
        #expect(fields.status == 2 && fields.errors.contains("needs a terminal"))
        let wrong = await terminal.run("browse", "--fields", "id,skills")
        #expect(wrong.status == 2 && !wrong.errors.contains("needs a terminal"), "\(wrong.errors)")
    }
}
