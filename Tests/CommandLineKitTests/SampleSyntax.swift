@testable import CommandLineKit

/// A program with the structure of the real one: aliases, subcommands with a default, a command that replaces a global
/// option, repeated options, and all types of values.
let sample = CommandSyntax(
    root: CommandSpec(
        "lodge", "Keep accounts and look people up.", examples: ["lodge search ada"],
        options: [.flag("version", "show the version and stop")],
        subcommands: [
            CommandSpec(
                "sign-in", aliases: ["login"], "Sign in to an account and keep it.",
                examples: ["lodge sign-in graph"],
                arguments: [
                    ArgumentSpec("TYPE", "account type to sign in to", optional: true, completion: .names("type"))
                ],
                options: [
                    .flag("device", short: "d", "sign in with a code on another device"),
                    .flag("no-browser", "print the address and wait"),
                    .value("scope", short: "s", "SCOPE", "scope to ask for", repeated: true),
                    .value("port", "PORT", "port to listen on", is: .integer(0...65535)),
                ]),
            CommandSpec(
                "search", "Find people by the beginning of their given name.",
                discussion: "Several conditions must all hold; with --any one of them is enough.",
                examples: ["lodge search ada", "lodge search --surname O\\'Brien --output json"],
                arguments: [ArgumentSpec("TEXT", "beginning of the given name", optional: true, variadic: true)],
                options: [
                    .value("given-name", "TEXT", "given name begins with"),
                    .value("surname", "TEXT", "surname begins with"),
                    .value("name", "TEXT", "display name begins with"),
                    .value("mail", "TEXT", "mail address begins with"),
                    .value("upn", "TEXT", "user principal name begins with"),
                    .value("department", "TEXT", "department is"),
                    .value("job-title", "TEXT", "job title begins with"),
                    .value("office", "TEXT", "office is"),
                    .flag("any", "one condition is enough"),
                    .value("filter", "FILTER", "an unchanged OData filter"),
                    .value("search", "TEXT", "an unchanged Graph search", allowsEmpty: true),
                    .value("limit", "N", "stop after this many people", is: .integer(1...1_000_000)),
                    .value("page-size", "N", "users per page", is: .integer(1...999)),
                    .flag("all", "every page"),
                    .value(
                        "fields", "LIST", "properties to show: mail,manager.displayName", completion: .list("field")),
                    .flag("explain", "print the request and send nothing"),
                ]),
            CommandSpec(
                "show", "Show one user.", examples: ["lodge show ada@contoso.com"],
                arguments: [ArgumentSpec("USER", "id, UPN or mail of the user")]),
            CommandSpec("me", "Show the signed-in user.", examples: ["lodge me"]),
            CommandSpec(
                "sign-out", aliases: ["logout"], "Revoke and remove an account.",
                arguments: [
                    ArgumentSpec("ACCOUNT", "account to sign out", optional: true, completion: .names("account"))
                ],
                options: [.flag("all", "every account")]),
            CommandSpec(
                "accounts", "List and change the kept accounts.", examples: ["lodge accounts"],
                subcommands: [
                    CommandSpec("list", "List the accounts."),
                    CommandSpec(
                        "rename", "Give an account another name.",
                        arguments: [ArgumentSpec("ACCOUNT", "account"), ArgumentSpec("NAME", "its new name")],
                        options: [.flag("force", short: "f", "even if the name is taken")]),
                ], defaultSubcommand: "list"),
            CommandSpec(
                "config", "Read and change settings.",
                subcommands: [
                    CommandSpec("get", "Show a value.", arguments: [ArgumentSpec("KEY", "what to show")]),
                    CommandSpec("path", "Show where the settings are."),
                ]),
            CommandSpec(
                "exec", "Run a command with an access token.",
                arguments: [ArgumentSpec("CMD", "command to run", variadic: true)]),
            CommandSpec(
                "request", "Send a signed request.",
                arguments: [ArgumentSpec("METHOD", "method"), ArgumentSpec("URL", "address")],
                options: [
                    .value(
                        "output", "FILE", "file for the response", completion: .file),
                    .value("data", "TEXT", "body to send", allowsEmpty: true),
                ]),
        ]), globalOptions: sampleOptions,
    reference: ProgramReference(
        pages: ["options", "environment", "formats", "settings", "exit-statuses"].map { name in
            HelpPage(name: name, summary: "The \(name).") { $0.paragraph("About \(name).") }
        },
        optionsNote: "Global options (--output, --account, --type, …): lodge help options",
        helpExamples: ["lodge help search"]))

/// The options of every command of the sample.
let sampleOptions: [OptionSpec] = [
    .value("settings", "FILE", "settings to use", completion: .file),
    .value("account", "NAME", "account to act for", completion: .names("account")),
    .value("type", "TYPE", "account type to act for", completion: .names("type")),
    .value("store", "DIR", "folder that keeps the accounts", completion: .folder),
    .value(
        "output", short: "o", "FORMAT", "output format", is: .choice(OutputFormat.names), completion: .format),
    .flag("quiet", "print only results and errors"),
    .flag("verbose", "print accounts, requests, waits and refreshes"),
    .flag("debug", "say how it is done"),
    .flag("no-color", "no color, no bold"),
    .flag("no-input", "never ask"),
    .flag("csv-raw", "write CSV cells unchanged"),
    .flag("no-pager", "show long tables without a pager"),
    .value("timeout", "SECONDS", "give up after this long", is: .seconds(0.001...86_400)),
    .value("ca-file", "FILE", "certificate authorities to trust, PEM", completion: .file),
    .flag("help", short: "h", "show help and stop", environment: .none),
]

/// Parses a command line whose words are separated by spaces.
func parsed(_ line: String, _ environment: [String: String] = [:]) throws -> Invocation {
    try sample.parse(arguments: line.split(separator: " ").map(String.init), environment: environment)
}

/// Returns the error of a command line, or `nil` if it is valid.
func usageError(_ line: String, _ environment: [String: String] = [:]) -> UsageError? {
    do throws(UsageError) {
        _ = try sample.parse(arguments: line.split(separator: " ").map(String.init), environment: environment)
        return nil
    } catch {
        return error
    }
}

/// Returns values by name, with an option or argument of the matching type.
extension Invocation {
    func flag(_ name: String) -> Bool { self[.flag(name, "")] }
    func string(_ name: String) -> String? { self[.text(name, "", "")] }
    func strings(_ name: String) -> [String] { self[.texts(name, "", "")] }
    func integer(_ name: String) -> Int? { self[.integer(name, "", "", in: 0...1)] }
    func duration(_ name: String) -> Duration? { self[.seconds(name, "", "", in: 0...1)] }
    func source(of name: String) -> Source? { source(of: Option.flag(name, "")) }
    func argument(_ name: String) -> String? { self[Argument.optional(name, "")] }
    func arguments(_ name: String) -> [String] { self[Argument.words(name, "")] }
}
