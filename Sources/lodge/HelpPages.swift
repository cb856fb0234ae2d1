import CommandLineKit
import LocalProvider
import OAuth2AccountStore

extension ProgramReference {
    /// The version, the pages of help, the variables and the files of lodge.
    static let lodge = ProgramReference(
        version: Program.version,
        pages: [
            HelpPage(name: "options", summary: "The options of all commands.") { $0.options },
            HelpPage(name: "environment", summary: "The environment variables.") { $0.environment },
            HelpPage(name: "formats", summary: "The output formats.") { $0.formats },
            HelpPage(
                name: "settings", summary: "The settings file and its keys.", entries: settingsEntries
            ) { $0.settings },
            HelpPage(name: "exit-statuses", summary: "The exit statuses of lodge.") { $0.exitStatuses },
            HelpPage(name: "faults", summary: "The errors that lodge serve can inject.") { $0.faults },
        ] + HelpPage.guides, optionsNote: "Global options (--output, --account, --type, …): lodge help options",
        helpExamples: ["lodge help search", "lodge help environment"], helpGroup: Command.setUp, variables: variables,
        files: files)

    private static let settingsEntries = SettingsKey.all.map { key in
        HelpPage.Entry(
            key.name, aliases: key.aliases, key.meaning,
            [("Type", key.type)] + (key.defaultValue.map { [("Default", $0)] } ?? [])
                + [("Example", "\"\(key.name)\": \(key.example)"), ("In", key.location.rawValue)]
                + (key.aliases.isEmpty ? [] : [("Also", key.aliases.joined(separator: ", "))]))
    }

    /// The environment variables of lodge and its libraries, without the variables of the global options.
    ///
    /// A test compares them with the sources.
    private static let variables = [
        ("LODGE_KEY_CUSTODY", "location of the key: lodge help storage"),
        ("LODGE_PASSPHRASE_FILE", "file with the passphrase of the key"),
        ("LODGE_AGENT", "off: do not use the agent"),
        ("LODGE_ASKPASS", "program that asks you for agentConfirm (SSH_ASKPASS)"),
        ("LODGE_AGENT_SOCK", "socket of the agent ($XDG_RUNTIME_DIR/lodge/agent.sock)"),
        ("LODGE_PAGER, PAGER", "program that shows long tables"),
        ("NO_COLOR, CLICOLOR", "no color if NO_COLOR is not empty or CLICOLOR is 0"),
        ("CLICOLOR_FORCE", "color in a pipe, too, unless empty or 0"),
        ("TERM, COLORTERM, TMUX", "type of the terminal; dumb: no color, no browse"),
        ("COLUMNS, LINES", "size of the terminal, instead of the real size"),
        ("LC_ALL, LC_CTYPE, LANG", "character set of browse: UTF-8 or ASCII"),
        ("BROWSER", "program that opens URLs"),
        ("DISPLAY, WAYLAND_DISPLAY", "desktop of the browser, clipboard and keyring"),
        ("DBUS_SESSION_BUS_ADDRESS, XDG_RUNTIME_DIR", "keyring of the desktop, socket of the agent"),
        ("SSH_CONNECTION", "not empty: sign-in shows a code for another device"),
        ("HOME, PATH", "home folder, and folders of programs"),
        ("XDG_CONFIG_HOME", "folder of lodge/settings.json (~/.config)"),
        ("XDG_DATA_HOME", "folder of lodge/, the accounts (~/.local/share)"),
        ("HTTPS_PROXY, ALL_PROXY, NO_PROXY", "proxy, and hosts without it; or in lower case"),
    ]

    private static let files = [
        ("$XDG_CONFIG_HOME/lodge/settings.json", "the account types, unless --settings is given"),
        ("$XDG_DATA_HOME/lodge/", "the encrypted accounts and their key, unless --store is given"),
        (
            "$XDG_DATA_HOME/lodge/postgresql/HOST/DATABASE/",
            "the key of accounts in PostgreSQL, if --store is postgresql://HOST/DATABASE"
        ),
    ]
}

extension HelpText {
    /// The meaning of each format, in the order of ``OutputFormat``.
    private static let formatMeanings = [
        (OutputFormat.table, "aligned columns on a terminal; in a pipe separated by tabs, never cut, without color"),
        (.json, "one array, or one object for a single record. Errors are objects on standard error"),
        (.jsonLines, "one JSON value per line, immediately"),
        (
            .csv,
            "RFC 4180, headings first. A ' precedes a cell that looks like a formula, except with --csv-raw"
        ),
        (.tsv, "separated by tabs; tab, line break and backslash are written \\t, \\n and \\\\"),
        (.vCard, "vCard 4.0; for me, search, show and lookup"),
        (.mutt, "search: a message, then mail, name and title · department, separated by tabs; query_command of mutt"),
        (.aerc, "search: mail and name, separated by a tab, at most 50 rows; address-book-cmd of aerc"),
    ]

    fileprivate var options: [String] {
        section("Options", syntax.globalOptions.map { (name(of: $0), help(of: $0)) })
            + paragraph(
                "Options may appear anywhere on the line; -- ends them. Each of these options, except --help, has an environment variable: "
                    + "LODGE_CA_FILE is --ca-file. See lodge help environment.")
    }

    fileprivate var environment: [String] {
        section("Variables of the global options", syntax.variables.map { ($0.name, "same as --\($0.option.name)") })
            + section("Other variables", syntax.reference.variables.map { ($0.name, $0.meaning) })
            + paragraph(
                "An option overrides its variable, and a variable the settings file. A variable of an option without a value is 1 or 0. "
                    + "An empty variable is ignored. Options of single commands have no variables.")
    }

    fileprivate var formats: [String] {
        let commands = leaves([syntax.root]).map { ($0.map(\.name).dropFirst().joined(separator: " "), $0.last) }
        // Describe equal objects only once.
        var described: [JSONShape: String] = [:]
        let shapes = commands.compactMap { name, command -> (String, String)? in
            guard let json = command?.json else { return nil }
            if let first = described[json.object], !json.members.isEmpty {
                return (name, (json.isArray ? "array of objects" : "object") + ": as in \(first)")
            }
            described[json.object] = name
            return (name, json.text)
        }
        let others = commands.filter { $0.1?.json == nil && $0.0 != "help" }.map(\.0)
        return section("Formats", Self.formatMeanings.map { ($0.0.rawValue, $0.1) })
            + paragraph(
                "A format never changes automatically: it is the table, in a pipe too, unless --output (-o) or LODGE_OUTPUT "
                    + "says otherwise. A command rejects a format that it does not support. Names in JSON, CSV and TSV are from "
                    + "the directory; --fields selects exactly the fields. Messages are written to standard error; --quiet "
                    + "omits them.")
            + section("JSON of each command", shapes)
            + section(
                "JSON of an error, on standard error",
                [
                    (
                        "error",
                        "object: status (exit status), message, reason, hint, code (of the provider), requestId; members without "
                            + "a value are omitted"
                    )
                ])
            + paragraph("Without JSON: \(others.joined(separator: ", ")).")
    }

    /// Returns the paths to all commands without subcommands.
    private func leaves(_ path: [CommandSpec]) -> [[CommandSpec]] {
        guard let command = path.last, !command.subcommands.isEmpty else { return [path] }
        return command.subcommands.flatMap { leaves(path + [$0]) }
    }

    fileprivate var settings: [String] {
        paragraph(
            "lodge reads --settings FILE, otherwise LODGE_SETTINGS, otherwise settings.json or settings.plist in "
                + "$XDG_CONFIG_HOME/lodge (~/.config/lodge). Without a file, lodge sign-in TYPE "
                + "works only for a preset that requires no key. JSON can have comments. An unknown key is an error. An error in one "
                + "type does not disable the others: lodge providers shows it. "
                + "lodge help settings KEY explains a key.")
            + [
                "", "  {", #"    "defaultType": "work","#, #"    "types": {"#, #"      "work": {"#,
                #"        "authority": "https://login.microsoftonline.com/common","#,
                #"        "clientId": "00000000-0000-0000-0000-000000000000","#,
                #"        "redirectUri": "http://127.0.0.1/callback","#,
                #"        "scopes": ["openid", "profile", "offline_access", "User.ReadBasic.All"],"#,
                #"        "graphAPI": "https://graph.microsoft.com/""#, "      }", "    }", "  }",
            ]
            + paragraph(
                "A service with a token that you supply needs only its URL: directoryBase with directory (scim), graphAPI, or "
                    + "resourceHosts, the hosts of an API. To sign in to such a type: lodge sign-in TYPE --with-token."
            )
            + section(
                "Commands",
                [
                    ("lodge providers add NAME", "add an account type to the file"),
                    ("lodge providers show NAME", "show an account type, or the required keys of a preset"),
                    ("lodge config", "show the values in use and their sources"),
                    ("lodge doctor", "diagnose problems"),
                ])
            + SettingsKey.Location.allCases.flatMap { location in
                section(
                    "Keys of \(location.rawValue)",
                    SettingsKey.all.filter { $0.location == location }.map { ($0.name, $0.meaning) })
            }
    }

    fileprivate var faults: [String] {
        paragraph(
            "With --fault NAME, lodge serve responds to each request with this error, with NAME:COUNT only to the first requests. "
                + "Some errors have a value: NAME=VALUE.")
            + section("Errors", InjectedErrors.Name.all.map { ($0.rawValue, $0.summary ?? "") })
    }

    fileprivate var exitStatuses: [String] {
        section("Statuses", ExitStatus.allCases.map { ("\($0.rawValue)", $0.meaning) })
    }
}
