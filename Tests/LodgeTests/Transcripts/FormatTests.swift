import Foundation
import LocalProvider
import OAuth2AccountStore
import StrictJSON
import Testing

@testable import CommandLineKit
@testable import lodge

/// Tests individual properties of the formats, and their documentation.
@MainActor @Suite struct FormatTests {
    private func signedIn() async throws -> Terminal {
        let terminal = try await Terminal()
        #expect(await terminal.run("sign-in").status == 0)
        return terminal
    }

    /// The commands with JSON. Each command line succeeds in this order.
    nonisolated private static let lines = [
        ["accounts"], ["accounts", "show", "ada@contoso.example"], ["accounts", "use", "ada@contoso.example"],
        ["accounts", "rename", "ada@contoso.example", "work"], ["status"], ["token"], ["me"],
        ["show", "work@contoso.example"], ["search", "ada"], ["lookup"], ["providers"], ["providers", "show", "local"],
        ["providers", "check", "local"],
        ["providers", "add", "x", "--issuer", "https://id.example", "--client-id", "x", "--offline"],
        ["providers", "remove", "x"],
        ["config"], ["config", "get", "store"], ["config", "path"], ["config", "set", "key-custody", "key-file"],
        ["doctor", "--offline"], ["accounts", "remove", "work"], ["sign-in"], ["sign-out"],
    ]

    @Test func `the help documents each JSON member of each command`() async throws {
        let terminal = try await signedIn()
        var tested: Set<String> = []
        for var words in Self.lines {
            if words[0] == "show" { words[1] = "ada@contoso.example" }
            let done = await terminal.run(words: words + ["-o", "json"], input: "ada@contoso.example\nnobody\n")
            #expect(done.status == 0, "\(words): \(done.errors)")
            var path = Array(words.prefix { $0.allSatisfy { $0.isLetter || $0 == "-" } && $0 != "x" && $0 != "work" })
            if ["accounts", "providers", "config"].contains(path.joined()) { path.append("list") }
            let command = try #require(
                (0...path.count).reversed().lazy.compactMap { Command.at(path.prefix($0), in: Command.all) }.first)
            tested.insert(path.prefix(2).joined(separator: " "))
            let shape = try #require(command.spec.json, "\(words)")
            let value = try JSONValue(parsing: done.output)
            #expect((value.array != nil) == shape.isArray, "\(words)")
            let objects = value.array?.compactMap(\.object) ?? [value.object].compactMap { $0 }
            #expect(!objects.isEmpty, "\(words)")
            let documented = Set(shape.members.map(\.name))
            guard !["me", "show", "search", "lookup"].contains(words[0]) else { continue }
            for object in objects {
                let unknown = Set(object.members.map(\.name)).subtracting(documented)
                #expect(unknown.isEmpty, "\(words): \(unknown)")
            }
        }
        let help = await terminal.run("help", "formats").output
        // Words of a name can be on two lines.
        let words = help.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        func check(_ command: CommandSpec, _ path: [String]) {
            for next in command.subcommands { check(next, path + [next.name]) }
            guard command.subcommands.isEmpty else { return }
            #expect(command.formats.contains(.json) == (command.json != nil), "\(path)")
            #expect(words.contains(path.joined(separator: " ")), "\(path)")
            for member in command.json?.members ?? [] { #expect(help.contains(member.name), "\(path) \(member.name)") }
        }
        for command in commandSyntax.root.subcommands where command.name != "help" { check(command, [command.name]) }
        #expect(help.split(separator: "\n").allSatisfy { $0.count <= 80 })
    }

    @Test func `token prints JSON, its header field and its expiry`() async throws {
        let terminal = try await signedIn()
        let token = await terminal.run("token").lines[0]
        let object = try #require(try JSONValue(parsing: await terminal.run("token", "-o", "json").output).object)
        #expect(
            object.members.map(\.name) == ["access_token", "token_type", "expires_at", "scope", "account", "type"])
        #expect(object["access_token"]?.string == token && object["token_type"] == "Bearer")
        #expect(object["expires_at"]?.string == (await terminal.run("token", "--expires")).lines[0])
        #expect(object["scope"]?.string?.contains("User.Read") == true)
        #expect(object["account"] == "ada@contoso.example" && object["type"] == "local")
        let expiry = await terminal.run("token", "--expires", "-o", "json")
        #expect(!expiry.output.contains(token) && expiry.output.contains("expires_at"))
        #expect(await terminal.run("token", "--header").output == "Authorization: Bearer \(token)\n")
        let refused = await terminal.run("token", "--header", "-o", "json")
        #expect(refused.status == 2 && refused.errors.contains("--header cannot be combined with --output json"))
        #expect(await terminal.run("token", "--header", "--expires").status == 2)
        #expect(await terminal.run("header").status == 2)
        #expect(await terminal.run("query", "ada").status == 2)
    }

    @Test func `--explain supports JSON and rejects the formats of users`() async throws {
        let terminal = try await signedIn()
        let done = await terminal.run(
            "search", "--department", "R", "--order", "displayName", "--explain", "-o", "json")
        let object = try #require(try JSONValue(parsing: done.output).object, "\(done.errors)")
        #expect(object["method"] == "GET" && object["url"]?.string?.contains("$filter=") == true)
        #expect(object["headers"]?.object?["ConsistencyLevel"] == "eventual")
        #expect(object["headers"]?.object?["Authorization"] == "Bearer ***")
        #expect(object["notes"]?.array?.isEmpty == false && object["body"] == .null)
        for format in ["csv", "tsv", "jsonl", "vcard", "mutt", "aerc"] {
            #expect(await terminal.run("search", "ada", "--explain", "-o", format).status == 2)
        }
        let count = await terminal.run("search", "ada", "--count", "--limit", "0", "-o", "json")
        #expect(try JSONValue(parsing: count.output).number != nil)
        #expect(await terminal.run("search", "ada", "--count", "--limit", "0", "-o", "csv").status == 2)
    }

    @Test func `JSON has exactly the requested fields`() async throws {
        let terminal = try await signedIn()
        for words in [
            ["search", "ada", "--limit", "2"], ["show", "ada@contoso.example"],
            ["lookup"],
        ] {
            let done = await terminal.run(
                words: words + ["--fields", "MAIL,faxNumber,manager.displayName", "-o", "jsonl"],
                input: "ada@contoso.example\nnobody@contoso.example\n")
            #expect(done.status == 0 && !done.lines.isEmpty, "\(done.errors)")
            for line in done.lines {
                let names = try #require(try JSONValue(parsing: line).object).members.map(\.name)
                #expect(
                    names == (words[0] == "lookup" ? ["input"] : []) + ["mail", "faxNumber", "manager"], "\(line)")
            }
        }
        let nested = await terminal.run("search", "--all", "--fields", "manager.displayName", "-o", "jsonl")
        let managers = try nested.lines.compactMap { try JSONValue(parsing: $0).object?["manager"]?.object }
        #expect(!managers.isEmpty && managers.allSatisfy { $0.members.map(\.name) == ["displayName"] })
    }

    @Test(arguments: [["search", "ada"], ["show", "ada@contoso.example"], ["lookup"]])
    func `an unknown field is a usage error with the nearest name`(words: [String]) async throws {
        let terminal = try await signedIn()
        let wrong = await terminal.run(words: words + ["--fields", "mail,jobTitel"], input: "ada@contoso.example\n")
        #expect(wrong.status == 2 && wrong.output.isEmpty)
        #expect(wrong.errors.contains(#"unknown field "jobTitel""#) && wrong.errors.contains("did you mean jobTitle?"))
        let nested = await terminal.run(words: words + ["--fields", "manager.displayNam"], input: "x\n")
        #expect(nested.status == 2 && nested.errors.contains("did you mean displayName?"))
        // Extensions of a tenant have names that only the service knows.
        let extended = await terminal.run(
            words: words + ["--fields", "extension_1_badge"], input: "ada@contoso.example\n")
        #expect(!extended.errors.contains("unknown field"), "\(extended.errors)")
    }

    @Test func `rows of show have the requested parts`() async throws {
        let terminal = try await signedIn()
        let person = terminal.provider.users[70]
        for format in ["csv", "tsv"] {
            let done = await terminal.run(
                "show", person.userPrincipalName, "--manager", "--reports", "--groups", "--fields", "mail", "-o", format
            )
            let separator: Character = format == "csv" ? "," : "\t"
            #expect(done.status == 0, "\(done.errors)")
            let heading = done.output.split(whereSeparator: \.isNewline)[0].split(separator: separator).map(String.init)
            #expect(heading == ["mail", "manager", "directReports", "memberOf"])
            let cells = done.output.split(whereSeparator: \.isNewline)[1].split(
                separator: separator, omittingEmptySubsequences: false)
            #expect(cells.count == 4 && !cells[1].isEmpty, "the manager: \(done.output)")
        }
        let chain = await terminal.run("show", person.id, "--chain", "--fields", "mail", "-o", "csv")
        #expect(chain.output.hasPrefix("mail,managers\r\n") && chain.output.contains("Ada Lovelace"))
        let alone = await terminal.run("show", person.id, "-o", "vcard")
        #expect(alone.output.contains("\r\nUID:urn:uuid:\(person.id)\r\n"), "\(alone.output)")
        let card = await terminal.run("show", person.id, "--manager", "-o", "vcard")
        #expect(card.status == 2 && card.errors.contains("--manager has no format vcard"))
    }

    @Test func `a lookup without any user is status 3`() async throws {
        let terminal = try await signedIn()
        let none = await terminal.run("lookup", "-o", "json", input: "a@x.example\n# b\n\nc@x.example\n")
        #expect(none.status == 3 && none.errors.isEmpty, "\(none.errors)")
        let rows = try #require(try JSONValue(parsing: none.output).array)
        #expect(rows.compactMap { $0.object?["input"]?.string } == ["a@x.example", "c@x.example"])
        #expect(rows.allSatisfy { $0.object?["mail"] == .null })
        let cards = await terminal.run("lookup", "-o", "vcard", input: "ada@contoso.example\nc@x.example\n")
        #expect(cards.status == 0 && cards.errors == "No user c@x.example.\n")
        #expect(cards.output.components(separatedBy: "BEGIN:VCARD").count == 2)
    }

    @Test func `aerc output has at most 50 rows and rejects options of lists`() async throws {
        let terminal = try await signedIn()
        let aerc = await terminal.run("search", "a", "-o", "aerc", "--limit", "300")
        #expect(aerc.status == 0 && aerc.lines.count <= 50 && aerc.lines.count > 20)
        #expect(await terminal.run("search", "a", "-o", "mutt", "--limit", "300").lines.count > 51)
        #expect(await terminal.run("search", "a", "-o", "mutt", "--all").status == 2)
        #expect(await terminal.run("search", "a", "-o", "mutt", "--fields", "mail").status == 2)
        #expect(await terminal.run("search", "a", "--upn-as-mail").status == 2)
        #expect(await terminal.run("me", "-o", "mutt").status == 2)
        let surname = await terminal.run("search", "--surname", "Lovelace", "-o", "mutt")
        #expect(surname.output.contains("ada@contoso.example\tAda Lovelace\tEngineer · Sales\n"), "\(surname.output)")
    }

    @Test func `the help explains each key of the settings file, which the decoder knows`() async throws {
        let terminal = try await Terminal()
        let page = await terminal.run("help", "settings")
        for key in SettingsKey.all {
            #expect(page.output.contains("\n  \(key.name)"), "\(key.name)")
            let help = await terminal.run("help", "settings", key.name)
            #expect(help.status == 0 && help.output.hasPrefix("\(key.name): "), "\(help)")
            #expect(
                help.output.contains("Example:") && help.output.split(separator: "\n").allSatisfy { $0.count <= 80 })
            guard key.location == .type else { continue }
            // The decoder reports an unknown key by its name, and a wrong value by the expected one.
            try terminal.write(
                settings: #"{"types": {"x": {"clientId": "x", "issuer": "https://id.example", "redirectUri": "#
                    + #""http://127.0.0.1/", "\#(key.name)": 1}}}"#)
            let wrong = await terminal.run("providers", "list")
            #expect(!wrong.errors.contains("an unknown key"), "\(key.name): \(wrong.errors)")
        }
        let near = await terminal.run("help", "settings", "clientIdd")
        #expect(near.status == 2 && near.errors.contains("did you mean lodge help settings clientId?"))
        let spelling = await terminal.run("help", "settings", "redirectURI")
        #expect(spelling.status == 0 && spelling.output.hasPrefix("redirectUri: "), "\(spelling)")
        #expect(spelling.output.contains("Also:") && spelling.output.contains("redirectURI, redirectURL"))
        #expect(await terminal.run("help", "settings", "clientId", "x").status == 2)
    }
}
