import Foundation
import LocalProvider
import StrictJSON
import TestSupport
import Testing

@testable import CommandLineKit
@testable import lodge

@MainActor @Suite struct PeopleTests {
    private func signedIn() async throws -> Terminal {
        let terminal = try await Terminal()
        #expect(await terminal.run("sign-in").status == 0)
        return terminal
    }

    @Test func `search prints users in every format`() async throws {
        let terminal = try await signedIn()
        let lines = await terminal.run("search", "ada", "--output", "jsonl")
        #expect(lines.status == 0 && !lines.lines.isEmpty)
        for line in lines.lines {
            let person = try #require(try JSONValue(parsing: line).object)
            let names = ["givenName", "surname", "displayName", "mail", "userPrincipalName"]
            #expect(names.contains { person[$0]?.string?.lowercased().hasPrefix("ada") == true })
            #expect(!person.members.contains { $0.name.hasPrefix("@") })
        }
        let csv = await terminal.run("search", "ada", "--fields", "displayName,mail,businessPhones", "-o", "csv")
        #expect(csv.output.hasPrefix("displayName,mail,businessPhones\r\n"))
        #expect(csv.output.contains("Ada Lovelace,ada@contoso.example,"))
        let folded = await terminal.run("search", "ada", "--fields", "DISPLAYNAME,mAil", "-o", "csv")
        #expect(folded.output.contains("displayName,mail\r\nAda Lovelace,ada@contoso.example\r\n"), "\(folded.output)")
        let tsv = await terminal.run("search", "ada", "-o", "tsv")
        #expect(tsv.lines.first?.hasPrefix("id\tdisplayName\t") == true)
        let cards = await terminal.run("search", "ada", "-o", "vcard")
        #expect(cards.output.hasPrefix("BEGIN:VCARD\r\nVERSION:4.0\r\nFN:"))
        #expect(cards.output.contains("EMAIL;TYPE=work:ada@contoso.example\r\n"))
        #expect(await terminal.run("accounts", "-o", "vcard").status == 2)
    }

    @Test func `show finds a user by a name that only one user has`() async throws {
        let terminal = try await signedIn()
        for name in ["Ada Lovelace", "ada lovelace", "lovelace", "ADA@contoso.example"] {
            let found = await terminal.run("show", name, "--fields", "mail", "-o", "json")
            #expect(try JSONValue(parsing: found.output).object?["mail"] == "ada@contoso.example", "\(found.errors)")
        }
        let manager = await terminal.run("show", "ada lovelace", "--manager", "-o", "json")
        #expect(manager.status == 0 && manager.output.contains("\"manager\""), "\(manager.errors)")
        let several = await terminal.run("show", "ada")
        #expect(
            several.status == 2 && several.errors.hasPrefix("lodge: several users match ada: "), "\(several.errors)")
        #expect(several.errors.hasSuffix("hint: to list them, run: lodge search ada\n") && several.output.isEmpty)
        // A part of an address is not another user's address.
        let part = await terminal.run("show", "ada@contoso")
        #expect(part.status == 3 && part.output.isEmpty, "\(part.errors)")
    }

    @Test func `TEXT finds given names, surnames, addresses and several words`() async throws {
        let terminal = try await signedIn()
        let given = await terminal.run("search", "--given-name", "ada", "--explain")
        #expect(given.lines[0].contains("?$filter=startswith%28givenName%2C%27ada%27%29&"))
        for words in [["lovelace"], ["ada lovelace"], ["lovelace", "ada"], ["ada@contoso.example"], ["ada", "lo"]] {
            let found = await terminal.run(words: ["search"] + words + ["--fields", "mail", "-o", "csv"])
            #expect(found.output == "mail\r\nada@contoso.example\r\n", "\(words) \(found.errors)")
        }
        let best = await terminal.run("search", "ada", "--limit", "1", "-o", "json")
        #expect(try JSONValue(parsing: best.output).array?.first?.object?["mail"] == "ada@contoso.example")
        let sorted = await terminal.run(
            "search", "ad", "--order", "displayName", "--fields", "displayName", "-o", "jsonl")
        #expect(sorted.lines == sorted.lines.sorted { $0.lowercased() < $1.lowercased() } && sorted.lines.count > 10)
    }

    @Test(arguments: [
        (["zzz"], "No user has a name or address that starts with \"zzz\".", "search --search zzz"),
        (
            ["zz", "yy"],
            "No user has a name or address that starts with \"zz yy\" or names and addresses that start with each of its words.",
            "search --search 'zz yy'"
        ),
        (["--surname", "zzz"], "No user has a surname that starts with \"zzz\".", "search zzz"),
        (
            ["--surname", "zzz", "--department", "Sales"],
            "No user has a surname that starts with \"zzz\" and a department that starts with \"Sales\".",
            "search --surname=zzz --department=Sales --any"
        ),
        (["--search", "zzz"], "No user has a display name with words that start with \"zzz\".", "search zzz"),
        (
            ["--given-name", "zzz", "--mail", "zzz", "--any"],
            "No user has a given name that starts with \"zzz\" or a mail address that starts with \"zzz\".", nil
        ),
        (["--filter", "startswith(mail,'zzz')"], "No user matches the filter startswith(mail,'zzz').", nil),
    ])
    func `an empty result states the search and suggests another one`(
        _ words: [String], _ sentence: String, _ command: String?
    ) async throws {
        let found = await (try signedIn()).run(words: ["search"] + words)
        #expect(found.status == 3)
        let lines = found.errors.split(separator: "\n").map(String.init)
        #expect(lines.first == sentence)
        #expect(
            lines.dropFirst().first?.hasSuffix("run: lodge \(command ?? "")") ?? (command == nil), "\(found.errors)")
    }

    @Test func `--fields selects columns, including properties of the manager`() async throws {
        let terminal = try await signedIn()
        let table = await terminal.run("search", "ada", "--fields", "displayName,manager.displayName")
        #expect(table.status == 0, "\(table.errors)")
        #expect(table.lines.first == "DISPLAYNAME\tMANAGER.DISPLAYNAME")
    }

    @Test func `--explain prints the query without an account`() async throws {
        let terminal = try await Terminal()
        let explained = await terminal.run("search", "--office", "18", "--order", "displayName:desc", "--explain")
        #expect(explained.status == 0)
        #expect(explained.lines[0].hasPrefix("GET http"))
        #expect(explained.lines[0].contains("$orderby=displayName%20desc"))
        #expect(explained.output.contains("ConsistencyLevel: eventual\n"))
        #expect(explained.output.contains("Advanced query: officeLocation takes startsWith only so; sorting"))
        let words = await terminal.run("search", "--search", "ada love", "--count", "--explain")
        #expect(words.lines[0].contains("$search=%22displayName%3Aada%20love%22"))
        #expect(words.lines[0].contains("$count=true"))
        let refused = await terminal.run("search", "ada", "--order", "mail", "--explain")
        #expect(refused.status == 2)
        #expect(refused.errors.contains("the service does not sort by"))
        #expect(await terminal.run("search", "ada", "--fields", "id,skills").status == 2)
        #expect(await terminal.run("search").status == 2)
    }

    @Test func `show prints a user with the manager, direct reports and groups`() async throws {
        let terminal = try await signedIn()
        let show = await terminal.run("show", "ada@contoso.example", "--manager", "--reports", "--groups")
        #expect(show.status == 0, "\(show.errors)")
        #expect(show.lines.contains { $0.hasPrefix("Manager\t") })
        #expect(show.lines.contains { $0.hasPrefix("Reports\t") })
        let json = await terminal.run("show", "ada@contoso.example", "--manager", "-o", "json")
        #expect(try JSONValue(parsing: json.output).object?["manager"] != nil)
        let csv = await terminal.run("show", "ada@contoso.example", "--fields", "displayName,mail", "-o", "csv")
        #expect(csv.output == "displayName,mail\r\nAda Lovelace,ada@contoso.example\r\n")
        #expect(await terminal.run("show", "nobody@contoso.example", "--manager").status == 3)
    }

    @Test func `lookup prints one row for each line, in the order of the input`() async throws {
        let terminal = try await signedIn()
        let file = terminal.folder.appending(path: "names.txt")
        try "li.ming@contoso.example\r\n\n# a comment\n  nobody@contoso.example \nada@contoso.example".write(
            to: file, atomically: true, encoding: .utf8)
        let found = await terminal.run("lookup", file.path, "--fields", "mail", "-o", "csv")
        #expect(found.status == 0)
        #expect(
            found.output == "input,mail\r\nli.ming@contoso.example,li.ming@contoso.example\r\n"
                + "nobody@contoso.example,\r\nada@contoso.example,ada@contoso.example\r\n")
        #expect(found.errors.isEmpty)
        let missing = await terminal.run("lookup", file.path + ".none")
        #expect(missing.status == 2 && missing.errors.contains("hint:"))
    }

    @Test func `lookup reports each failed name and prints all other users`() async throws {
        let terminal = try await signedIn()
        var faults = InjectedErrors()
        try faults.add(parsing: "directory-batch-429")
        terminal.provider.setInjectedErrors(faults)
        // The first item of each batch is rejected, both for the names and for the mail addresses of names without a
        // match.
        var names = terminal.provider.users.prefix(22).map(\.id)
        names[1] = "nobody@contoso.example"
        names[2] = "noone@contoso.example"
        let refused = [0, 1, 20]
        let input = names.dropLast().joined(separator: "\n")
        let found = await terminal.run("lookup", "-o", "csv", "--fields", "id", input: input)
        #expect(found.status == 6, "\(found)")
        let rows = names.dropLast().enumerated().map { index, name in
            refused.contains(index) || index == 2 ? "\(name)," : "\(name),\(name)"
        }
        #expect(found.output == (["input,id"] + rows).map { $0 + "\r\n" }.joined())
        let told = found.errors.split(separator: "\n").filter { !$0.hasPrefix("hint: ") }
        for index in refused { #expect(told.contains { $0.hasPrefix("lodge: \(names[index]): ") }, "\(told)") }
        let quiet = await terminal.run("lookup", "--quiet", input: input)
        #expect(quiet.status == 6 && !quiet.errors.contains("noone"))
        for index in refused { #expect(quiet.errors.contains("lodge: \(names[index]): "), "\(quiet.errors)") }
        let json = await terminal.run("lookup", "-o", "json", input: input)
        let statuses = try json.errors.split(separator: "\n").map {
            try JSONValue(parsing: String($0)).object?["error"]?.object?["status"]?.number?.int64
        }
        #expect(json.status == 6 && statuses == [6, 6, 6], "\(json.errors)")
    }

    @Test func `search --all lists all users`() async throws {
        let terminal = try await signedIn()
        let all = await terminal.run("search", "--all", "--fields", "id", "-o", "jsonl")
        #expect(all.status == 0 && Set(all.lines).count == terminal.provider.userCount, "\(all.errors)")
    }

    @Test func `--count --limit 0 prints the number without reading users`() async throws {
        let terminal = try await signedIn()
        let people = terminal.provider.users.filter { $0.surname?.lowercased().hasPrefix("o'") ?? false }
        let number = await terminal.run("search", "--surname", "O'", "--count", "--limit", "0")
        #expect(number.status == 0 && number.output == "\(people.count)\n", "\(number.errors)")
        let log = try #require(terminal.provider.log().last)
        #expect(log.path.hasSuffix("/users/$count"))
        let everybody = await terminal.run("search", "--count", "--limit", "0", "-o", "json")
        #expect(everybody.output == "\(terminal.provider.userCount)\n")
        let nobody = await terminal.run("search", "Zebulon", "--count", "--limit", "0")
        #expect(nobody.status == 3 && nobody.output == "0\n")
        let explained = await terminal.run("search", "--surname", "O'", "--count", "--limit", "0", "--explain")
        #expect(explained.lines[0].hasSuffix("/users/$count?$filter=startswith%28surname%2C%27O%27%27%27%29"))
        #expect(
            explained.lines.contains("Accept: text/plain") && explained.lines.contains("ConsistencyLevel: eventual"))
    }

    @Test func `show --chain prints the management chain`() async throws {
        let terminal = try await signedIn()
        let person = terminal.provider.users[70]
        let shown = await terminal.run("show", person.userPrincipalName, "--chain")
        #expect(shown.status == 0, "\(shown.errors)")
        let managers = try #require(shown.lines.first { $0.hasPrefix("Managers\t") })
        #expect(managers.hasSuffix("Ada Lovelace") || shown.output.contains("Ada Lovelace"))
        let json = try JSONValue(parsing: await terminal.run("show", person.id, "--chain", "-o", "json").output)
        #expect(json.object?["manager"]?.object?["manager"]?.object?["displayName"]?.string != nil)
        let top = await terminal.run("show", "ada@contoso.example", "--chain")
        #expect(top.status == 0 && top.errors == "There is no manager.\n")
        #expect(await terminal.run("show", "ada@contoso.example", "--chain", "--offline").status == 2)
    }

    @Test func `lookup prints a user before it reads the next name`() async throws {
        let terminal = try await signedIn()
        let path = terminal.folder.appending(path: "names").path
        try #require(mkfifo(path, 0o600) == 0)
        // Open the pipe for reading too, so that open does not block.
        let file = open(path, O_RDWR | O_CLOEXEC)
        try #require(file >= 0)
        let before = terminal.provider.log().count
        _ = write(file, "ada@contoso.example\n\n", 21)
        let lookup = Task { await terminal.run("lookup", path, "-o", "csv", "--fields", "mail") }
        try await until { terminal.provider.log().count > before }
        #expect(terminal.provider.log().count > before, "lookup must not wait for the second name")
        _ = write(file, "nobody@contoso.example\nada@contoso.example\n", 43)
        close(file)
        let found = await lookup.value
        #expect(
            found.status == 0
                && found.output == "input,mail\r\nada@contoso.example,ada@contoso.example\r\n"
                    + "nobody@contoso.example,\r\nada@contoso.example,ada@contoso.example\r\n"
        )
    }

    @Test func `lookup reads names in batches and rejects an endless line`() async throws {
        let terminal = try await signedIn()
        let names = (0..<300).map { terminal.provider.users[$0 % 50].id }
        let found = await terminal.run(
            "lookup", "-o", "csv", "--fields", "id", input: "\u{FEFF}" + names.joined(separator: " \r\n") + "\n\n")
        #expect(
            found.status == 0
                && found.output == (["input,id"] + names.map { "\($0),\($0)" }).map { $0 + "\r\n" }.joined())
        #expect(await terminal.run("lookup", input: " \n\r\n").status == 2)
        let file = terminal.folder.appending(path: "long.txt")
        try ("ada@contoso.example\n" + String(repeating: "a", count: 200_000)).write(
            to: file, atomically: true, encoding: .utf8)
        let long = await terminal.run("lookup", file.path, "--fields", "mail", "-o", "csv")
        #expect(long.status == 2 && long.errors.contains("is too long"), "\(long.errors)")
        #expect(await terminal.run("lookup", terminal.folder.path).status == 2)
    }
}
