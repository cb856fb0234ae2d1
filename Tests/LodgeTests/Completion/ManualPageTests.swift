import OAuth2AccountStore
import Testing

@testable import CommandLineKit
@testable import lodge

@Suite struct ManualPageTests {
    @Test func `each command has a manual page with all its options`() throws {
        let pages = ManualPage.all(commandSyntax, date: "2026-12-01")
        #expect(
            pages.map(\.name) == ["lodge.1"] + commandSyntax.root.subcommands.map { "lodge-\($0.name).1" } + [
                "lodge-settings.5", "lodge-scripts.7", "lodge-storage.7", "lodge-mail.7", "lodge-git.7",
                "lodge-credentials.7", "lodge-cloud.7",
            ])
        let settings = try #require(pages.first { $0.name == "lodge-settings.5" }).text
        #expect(settings.contains(".TH \"LODGE\\-SETTINGS\" 5"))
        for key in SettingsKey.all {
            let name = key.name.split(separator: "-").joined(separator: "\\-")
            #expect(settings.contains("\n.B \(name)\n"), "\(key.name)")
        }
        let search = try #require(pages.first { $0.name == "lodge-search.1" }).text
        let spec = try #require(commandSyntax.root.subcommand("search"))
        for option in spec.options {
            let name = option.name.split(separator: "-").joined(separator: "\\-")
            #expect(search.contains("\\-\\-\(name)"), "\(option.name)")
        }
        let accounts = try #require(pages.first { $0.name == "lodge-accounts.1" }).text
        #expect(accounts.contains(".B use ACCOUNT"))
        let program = try #require(pages.first).text
        for page in pages {
            let parts = page.text.split(separator: "\n").split { $0.hasPrefix(".SH") }.map(Array.init)
            #expect(parts.first?.first?.contains("\"2026\\-12\\-01\"") == true, "\(page.name)")
            #expect(page.text.contains("\n.SH DESCRIPTION\n"), "\(page.name)")
            // No paragraph is a wall.
            for line in page.text.split(separator: "\n") { #expect(line.count < 900, "\(page.name): \(line)") }
        }
        for status in ExitStatus.allCases { #expect(program.contains(".B \(status.rawValue)\n")) }
    }

    @Test func `the manual page of a guide has its headings and its examples unchanged`() throws {
        let guide = HelpPage(name: "x", summary: "Use it.", isGuide: true) { help in
            help.paragraph("To set it up:") + ["", "File (~/.x):", "", "  set 'a'", "", "  .b", "", "Then it works."]
        }
        let syntax = CommandSyntax(
            root: CommandSpec("lodge", "Try."), globalOptions: [], reference: ProgramReference(pages: [guide]))
        let pages = ManualPage.all(syntax, date: "2026-12-01")
        let page = try #require(pages.first { $0.name == "lodge-x.7" }).text
        #expect(
            page == #"""
                .TH "LODGE\-X" 7 "2026\-12\-01" "lodge "
                .SH NAME
                lodge\-x \- use it
                .SH DESCRIPTION
                .SS To set it up
                .PP
                .SS File (\(ti/.x)
                .PP
                .EX
                  set \(aqa\(aq
                \&
                  .b
                \&
                .EE
                Then it works.
                .SH SEE ALSO
                .BR lodge (1)

                """#)
        #expect(pages.first?.text.contains(".BR lodge\\-x (7)\n") == true)
        for guide in HelpPage.guides {
            let page = ManualPage.all(commandSyntax, date: "2026-12-01").first { $0.name == "lodge-\(guide.name).7" }
            for line in guide.body(HelpText(syntax: commandSyntax))
            where line.hasPrefix("  ") && !line.contains(/[-'~^`\\]/) {
                #expect(page?.text.contains("\n\(line)\n") == true, "\(line)")
            }
        }
    }

    @Test func `the reference has every command, every option with its variable, and every help page`() throws {
        let pages = Dictionary(uniqueKeysWithValues: ReferencePage.all(commandSyntax))
        let program = try #require(pages["lodge-commands.md"])
        for command in commandSyntax.root.subcommands {
            let page = try #require(pages["lodge-\(command.name).md"])
            #expect(program.contains("- <doc:lodge-\(command.name)>\n"))
            for option in command.allOptions {
                #expect(page.contains("--\(option.name)"))
                if let variable = commandSyntax.variable(of: option) { #expect(page.contains("`\(variable)`")) }
            }
            for example in command.examples { #expect(page.contains("\n$ \(example.line)\n")) }
        }
        for page in commandSyntax.reference.pages {
            #expect(pages[page.documentName("lodge") + ".md"]?.contains("# \(page.title)") == true)
        }
    }

    @Test func `Markdown syntax in texts is escaped`() throws {
        let command = CommandSpec(
            "x", "Do *it* <b> [a](b) `c`.", examples: ["lodge x"], options: [.flag("f", "a|b_c")])
        let syntax = CommandSyntax(root: CommandSpec("lodge", "Try.", subcommands: [command]), globalOptions: [])
        let page = ReferencePage(syntax: syntax, chain: [syntax.root, command]).text
        #expect(page.contains(#"Do \*it\* \<b\> \[a\](b) \`c\`."#) && page.contains(#"a\|b\_c"#))
    }

    @Test func `roff syntax in texts is escaped`() throws {
        let command = CommandSpec(
            "x", "Do \\n 'it'.", discussion: ".hidden `a` ~ ^ –", examples: ["'quoted' --a-b"])
        let syntax = CommandSyntax(root: CommandSpec("lodge", "Try.", subcommands: [command]), globalOptions: [])
        let page = ManualPage(syntax: syntax, date: "", chain: [syntax.root, command]).text
        #expect(page.contains("do \\en \\(aqit\\(aq"))
        #expect(page.contains("\n\\&.hidden \\(gaa\\(ga \\(ti \\(ha \\[u2013]\n"))
        #expect(page.contains("\n$ \\(aqquoted\\(aq \\-\\-a\\-b\n"))
        #expect(page.utf8.count == page.unicodeScalars.count)
    }
}
