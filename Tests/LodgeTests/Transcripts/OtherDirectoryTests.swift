import Foundation
import LocalProvider
import StrictJSON
import Testing

@testable import CommandLineKit
@testable import lodge

/// Tests `search`, `show`, `lookup` and `me` with a directory other than Microsoft Graph.
@MainActor @Suite struct OtherDirectoryTests {
    private func signedIn(_ directory: String, _ path: String) async throws -> Terminal {
        let terminal = try await Terminal()
        try terminal.write(
            settings: """
                {"types": {"local": {"issuer": "\(terminal.provider.issuer)", "clientId": "lodge",
                "redirectUri": "http://127.0.0.1/callback", "directory": "\(directory)",
                "directoryBase": "\(terminal.provider.issuer)\(path)",
                "scopes": ["openid", "profile", "offline_access", "User.Read", "User.ReadBasic.All"]}}}
                """)
        let answer = await terminal.run("sign-in")
        #expect(answer.status == 0, "\(answer.errors)")
        return terminal
    }

    @Test func `search, show and lookup use a SCIM directory`() async throws {
        let terminal = try await signedIn("scim", "/scim/v2")
        let found = await terminal.run("search", "ada")
        #expect(found.status == 0, "\(found.errors)")
        #expect(found.output.contains("Ada Lovelace\tada@contoso.example\t"))
        let several = await terminal.run(
            "search", "--surname", "O'Brien", "--any", "--given-name", "ada", "-o", "jsonl")
        #expect(several.status == 0 && several.lines.count >= 2, "\(several.errors)")
        let first = try #require(try JSONValue(parsing: several.lines.first ?? "").object)
        #expect(first["userPrincipalName"] != nil && first["userName"] == nil)

        let explained = await terminal.run("search", "ada", "--order", "surname:desc", "--explain")
        #expect(explained.status == 0, "\(explained.errors)")
        #expect(
            explained.lines[0].hasPrefix("GET \(terminal.provider.issuer)/scim/v2/Users?filter=name.givenName%20sw"))
        #expect(explained.lines[0].contains("&sortBy=name.familyName&sortOrder=descending"))
        #expect(explained.lines[1] == "Accept: application/scim+json")
        #expect(explained.output.contains("Bearer ***"))

        let counted = await terminal.run("search", "ada", "--count")
        #expect(counted.errors.contains(" in all."))
        let shown = await terminal.run("show", "ada@contoso.example", "--manager", "--groups")
        #expect(shown.status == 0 && shown.output.contains("Ada Lovelace"), "\(shown.errors)")
        let looked = await terminal.run("lookup", input: "ada@contoso.example\nnobody@contoso.example\n")
        #expect(looked.status == 0 && looked.output.contains("Ada Lovelace"))
        #expect(looked.lines.last?.hasPrefix("nobody@contoso.example\t") == true && looked.errors.isEmpty)
        let nobody = await terminal.run("search", "zzzz")
        #expect(nobody.status == 3)
        #expect(nobody.errors.hasPrefix("No user has a name or address that starts with \"zzzz\".\n"))
        #expect(await terminal.run("me").errors.contains("the directory does not return the signed-in user"))
        let refused = await terminal.run("search", "--office", "18")
        #expect(refused.status == 2 && refused.errors.contains("SCIM has no attribute for \"officeLocation\""))
    }

    @Test func `search, show and lookup use a Google directory`() async throws {
        let terminal = try await signedIn("google", "/admin/directory/v1")
        let found = await terminal.run("search", "ada")
        #expect(found.status == 0, "\(found.errors)")
        #expect(found.output.contains("Ada Lovelace\tada@contoso.example\t"))
        let quoted = await terminal.run("search", "--surname", "O'Brien", "-o", "json")
        #expect(quoted.status == 0 && quoted.output.contains("O'Brien"), "\(quoted.errors)")
        let explained = await terminal.run("search", "ada", "--explain")
        #expect(
            explained.lines[0] == "GET \(terminal.provider.issuer)/admin/directory/v1/users?customer=my_customer"
                + "&query=%27ada%27&maxResults=100")
        #expect(explained.lines.last == "Permission: https://www.googleapis.com/auth/admin.directory.user.readonly")
        #expect(await terminal.run("show", "ada@contoso.example").output.contains("Ada Lovelace"))
        let looked = await terminal.run("lookup", input: "ada@contoso.example\nnobody@contoso.example\n")
        #expect(looked.status == 0 && looked.output.contains("Ada Lovelace"))
        let photo = await terminal.run("show", "ada@contoso.example", "--photo", "none.jpg")
        #expect(photo.status == 0 && photo.errors.contains("This directory has no photos."))
        let me = await terminal.run("me")
        #expect(me.status == 1 && me.errors.contains("by the mail address"))
        let refused = await terminal.run("search", "ada", "--surname", "love", "--any")
        #expect(refused.status == 2 && refused.errors.contains("does not support \"or\""))
        #expect(await terminal.run("search", "ada", "--count").status == 2)
    }

    private func once(_ name: InjectedErrors.Name) -> InjectedErrors {
        var faults = InjectedErrors()
        faults.add(name, count: 1)
        return faults
    }

    @Test func `errors of SCIM and Google directories have the same statuses as errors of Graph`() async throws {
        for (directory, path) in [("scim", "/scim/v2"), ("google", "/admin/directory/v1")] {
            let terminal = try await signedIn(directory, path)
            terminal.provider.setInjectedErrors(InjectedErrors(.directory403))
            let denied = await terminal.run("search", "ada")
            #expect(denied.status == 5, "\(denied.errors)")
            terminal.provider.setInjectedErrors(once(.directory429))
            #expect(await terminal.run("search", "ada").status == 0)
            terminal.provider.setInjectedErrors(once(.directory401))
            #expect(await terminal.run("search", "ada").status == 0)
        }
    }

    @Test(arguments: [
        ("scim", "/scim/v2", "the scope User.Read.All"),
        (
            "google", "/admin/directory/v1",
            "the scope https://www.googleapis.com/auth/admin.directory.user.readonly in the domain-wide delegation"
        ),
    ])
    func `a 403 of an application names the scope, and never suggests a sign-in`(
        directory: String, path: String, scope: String
    ) async throws {
        let terminal = try await Terminal()
        try terminal.write(
            settings: """
                {"types": {"app": {"issuer": "\(terminal.provider.issuer)", "clientId": "lodge-confidential",
                "clientSecret": {"environment": "APP_SECRET"}, "grant": "clientCredentials", "directory": "\(directory)",
                "directoryBase": "\(terminal.provider.issuer)\(path)", "scopes": ["User.Read.All"]}}}
                """)
        terminal.set("APP_SECRET", "not-a-secret")
        #expect(await terminal.run("sign-in", "app").status == 0)
        terminal.provider.setInjectedErrors(InjectedErrors(.directory403))
        for words in [["search", "ada"], ["show", "ada@contoso.example"]] {
            let denied = await terminal.run(words: words)
            #expect(denied.status == 5 && denied.errors.contains("without \(scope)"), "\(denied.errors)")
            #expect(denied.errors.contains("hint: ask an administrator to a"), "\(denied.errors)")
            #expect(denied.errors.contains(", then run: lodge accounts refresh"), "\(denied.errors)")
            #expect(!denied.errors.contains("sign-in"), "\(denied.errors)")
        }
        let me = await terminal.run("me")
        #expect(me.status == 2 && me.errors.contains("app is an application"), "\(me.errors)")
    }
}
