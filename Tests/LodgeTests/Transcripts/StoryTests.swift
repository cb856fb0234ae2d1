import Foundation
import LocalProvider
import StrictJSON
import TestSupport
import Testing

@testable import CommandLineKit
@testable import lodge

@MainActor @Suite struct StoryTests {
    @Test func `a user signs in, searches and signs out`() async throws {
        let terminal = try await Terminal()
        let signIn = await terminal.run("sign-in")
        #expect(signIn.status == 0, "\(signIn.errors)")
        #expect(signIn.errors.hasSuffix("Signed in to local as Ada Lovelace (ada@contoso.example).\n"))
        #expect(signIn.output.isEmpty)

        let accounts = await terminal.run("accounts")
        #expect(accounts.status == 0)
        #expect(accounts.lines.last == "*\tada@contoso.example\tAda Lovelace\tlocal\tsigned in")

        let me = await terminal.run("me")
        #expect(me.status == 0)
        #expect(me.lines.first == "Name\tAda Lovelace")

        let search = await terminal.run("search", "ada")
        #expect(search.status == 0)
        #expect(search.lines.first == "NAME\tMAIL\tTITLE\tPHONE")
        #expect(search.lines.contains { $0.hasPrefix("Ada Lovelace\tada@contoso.example\t") })

        let show = await terminal.run("show", "ada@contoso.example", "--output", "json")
        #expect(try JSONValue(parsing: show.output).object?["userPrincipalName"] == "ada@contoso.example")

        let token = await terminal.run("token")
        #expect(token.status == 0 && token.lines.count == 1)
        let expires = await terminal.run("token", "--expires")
        #expect(expires.output.hasSuffix("Z\n"))

        let out = await terminal.run("sign-out")
        #expect(out.status == 0)
        #expect(out.errors.contains("The provider has revoked the tokens."))
        let after = await terminal.run("me")
        #expect(after.status == 4)
        #expect(after.errors.contains("hint: lodge sign-in"))
    }

    @Test func `a second sign-in of the same user reuses the account, and another user gets a new one`() async throws {
        let terminal = try await Terminal()
        _ = await terminal.run("sign-in")
        _ = await terminal.run("sign-in")
        #expect(await terminal.run("accounts").lines.count == 2)
        terminal.person(.approvesAs("li.ming@contoso.example"))
        _ = await terminal.run("sign-in")
        let accounts = await terminal.run("accounts", "list", "-o", "json")
        let list = try #require(try JSONValue(parsing: accounts.output).array)
        #expect(list.map { $0.object?["userName"] } == ["ada@contoso.example", "li.ming@contoso.example"])
        #expect(list.map { $0.object?["active"] } == [false, true])
        #expect(await terminal.run("accounts", "use", "ada@contoso.example").status == 0)
        #expect(await terminal.run("me").lines.first == "Name\tAda Lovelace")
        #expect(await terminal.run("me", "--account", "li.ming@contoso.example").lines.first == "Name\t李 明")
        let unknown = await terminal.run("me", "--account", "ada@contoso.exampel")
        #expect(unknown.status == 3)
        #expect(unknown.errors.contains("did you mean ada@contoso.example?"))
    }

    @Test func `an expired token is refreshed once during a search`() async throws {
        let terminal = try await Terminal()
        _ = await terminal.run("sign-in")
        terminal.provider.expireAccessTokens()
        #expect(await terminal.run("search", "ada").status == 0)
        #expect(terminal.provider.tokenRequestCount(grantType: "refresh_token") == 1)
        let first = await terminal.run("token").output
        let second = await terminal.run("token", "--refresh").output
        #expect(first != second)
        #expect(terminal.provider.tokenRequestCount(grantType: "refresh_token") == 2)
    }

    @Test func `status prints the locations and the accounts that need a sign-in`() async throws {
        let terminal = try await Terminal()
        _ = await terminal.run("sign-in")
        let good = await terminal.run("status", "--output", "json")
        #expect(good.status == 0)
        let object = try #require(try JSONValue(parsing: good.output).object)
        #expect(object["store"]?.string == terminal.store.appending(path: "accounts.sqlite").path)
        #expect(object["deviceMode"] == "private")
        let token = await terminal.run("token").output.trimmingCharacters(in: .newlines)
        #expect(!good.output.contains(token))
        terminal.provider.revokeGrants()
        let lost = await terminal.run("search", "ada")
        #expect(lost.status == 4, "\(lost.errors)")
        #expect(lost.errors.contains("hint: lodge sign-in"))
        let bad = await terminal.run("status")
        #expect(bad.status == 4)
        #expect(bad.output.contains("sign-in needed (refresh token rejected)"), "\(bad.output)")
        #expect(await terminal.run("accounts").output.contains("sign-in needed (refresh token rejected)"))
        let json = try JSONValue(parsing: await terminal.run("accounts", "-o", "json").output).array
        #expect(json?.first?.object?["signInNeeded"] == "grant-gone")
        // The account remains, and a new sign-in restores it.
        #expect(await terminal.run("sign-in").status == 0)
        #expect(await terminal.run("accounts").lines.count == 2)
        #expect(await terminal.run("search", "ada").status == 0)
    }

    @Test func `a denied sign-in exits with 5, a sign-in without a redirect with 4`() async throws {
        let terminal = try await Terminal()
        terminal.person(.denies)
        let denied = await terminal.run("sign-in")
        #expect(denied.status == 5)
        #expect(denied.errors.contains("access_denied"))
        terminal.person(.walksAway)
        let left = await terminal.run("sign-in", "--no-browser", "--timeout", "2")
        #expect(left.status == 4)
        #expect(left.errors.contains("no redirect within"))
        #expect(await terminal.run("accounts").status == 3)
    }

    @Test func `sign-in --with-token reads a token response from standard input`() async throws {
        let terminal = try await Terminal()
        _ = await terminal.run("sign-in")
        let token = await terminal.run("token").output.trimmingCharacters(in: .newlines)
        _ = await terminal.run("accounts", "remove", "ada@contoso.example")
        let answer = #"{"access_token": "\#(token)", "token_type": "Bearer", "expires_in": 600}"#
        let taken = await terminal.run("sign-in", "--with-token", input: answer)
        #expect(taken.status == 0, "\(taken.errors)")
        #expect(taken.errors == "Signed in to local as Ada Lovelace (ada@contoso.example).\n")
        #expect(await terminal.run("search", "ada").status == 0)
        for bad in ["", "{", "[]", "{}", #"{"access_token": 1}"#, "<html>"] {
            let refused = await terminal.run("sign-in", "--with-token", input: bad)
            #expect(refused.status == 2, "\(bad)")
            #expect(refused.errors.hasPrefix("lodge: standard input has no token: "), "\(refused.errors)")
        }
    }

    @Test func `without a settings file accounts are listed and can be signed out`() async throws {
        let terminal = try await Terminal()
        #expect(await terminal.run("sign-in").status == 0)
        terminal.set("LODGE_SETTINGS", nil)
        let accounts = await terminal.run("accounts")
        #expect(accounts.status == 0 && accounts.output.contains("ada@contoso.example"), "\(accounts.errors)")
        #expect(await terminal.run("status").output.contains("ada@contoso.example"))
        // Commands that need a provider say how to add one.
        let search = await terminal.run("search", "ada")
        #expect(search.status == 8 && search.errors.contains("lodge providers add"))
        #expect(await terminal.run("sign-out", "ada@contoso.example", "--local").status == 0)
        #expect(await terminal.run("accounts").status == 3)
    }

    @Test func `the demo runs all its steps`() async throws {
        let terminal = try await Terminal()
        let demo = await terminal.run("demo")
        #expect(demo.status == 0, "\(demo.errors)")
        let steps = demo.lines.filter { $0.hasPrefix("* ") }
        try #require(steps.count == 12, "\(steps)")
        #expect(steps[1].contains("PKCE S256, state, nonce"))
        #expect(
            steps.contains {
                $0.contains("1 refresh. The new refresh token is different from the previous one")
            })
        let events = demo.lines.filter { $0.contains("event: ") }.map { $0.split(separator: " ")[1] }
        #expect(
            events == [
                "OAuth2AccountStoreAccountsDidChangeNotification", "OAuth2AccountDidChangeAccessTokenNotification",
                "OAuth2AccountStoreAccountsDidChangeNotification",
            ])
    }
}

@MainActor @Suite struct InterruptionTests {
    @Test func `an interrupted command completes and saves its refresh`() async throws {
        let terminal = try await Terminal()
        _ = await terminal.run("sign-in")
        terminal.provider.expireAccessTokens()
        let command = Task { await terminal.run("token", "--refresh") }
        // The provider has the request, so its response must not be lost.
        try await until { terminal.provider.tokenRequestCount(grantType: "refresh_token") > 0 }
        command.cancel()
        #expect([0, 130].contains(await command.value.status))
        #expect(await terminal.run("token").status == 0)
        // The saved refresh token is the newest. The provider revokes all tokens if an older one is used again.
        #expect(await terminal.run("token", "--refresh").status == 0)
    }

    /// Returns a terminal with an account. The provider's response to the next refresh takes this many seconds.
    private func signedIn(responseTime: String) async throws -> Terminal {
        let terminal = try await Terminal()
        _ = await terminal.run("sign-in")
        terminal.provider.expireAccessTokens()
        var errors = InjectedErrors()
        errors.add(.tokenSlow, value: responseTime, count: 1)
        terminal.provider.setInjectedErrors(errors)
        return terminal
    }

    @Test func `--timeout ends the wait for a token request, and the response is saved`() async throws {
        let terminal = try await signedIn(responseTime: "8")
        let late = await terminal.run("token", "--refresh", "--timeout", "5")
        #expect(late.status == 7 && late.output.isEmpty, "\(late)")
        #expect(late.errors.contains("the time of --timeout is over"), "\(late.errors)")
        #expect(late.errors.contains("the new tokens are saved"), "\(late.errors)")
        // The provider revokes all tokens if a refresh token is used twice.
        #expect(await terminal.run("token", "--refresh").status == 0)
        #expect(await terminal.run("search", "ada").status == 0)
    }

    @Test func `--timeout ends the wait for a lock of another process`() async throws {
        let terminal = try await signedIn(responseTime: "3")
        let holder = Task { await terminal.run("token", "--refresh") }
        try await until { terminal.provider.tokenRequestCount(grantType: "refresh_token") > 0 }
        let late = await terminal.run("token", "--refresh", "--timeout", "0.2")
        #expect(late.status == 7 && !late.errors.contains("saved"), "\(late)")
        #expect(terminal.provider.tokenRequestCount(grantType: "refresh_token") == 1)
        #expect(await holder.value.status == 0)
        #expect(await terminal.run("token", "--refresh").status == 0)
    }
}
