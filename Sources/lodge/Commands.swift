import CommandLineKit

extension Command {
    /// All commands by group, in the order of help.
    private static let groups: [(title: String, commands: [Command])] = [
        ("Sign in", [SignInCommand.command, SignOutCommand.command, AccountsCommand.group, StatusCommand.command]),
        (
            "Tokens",
            [
                TokenCommand.command, ExecCommand.command, RequestCommand.command, CredentialCommand.group,
                AgentCommand.group,
            ]
        ),
        (
            "People",
            [
                UserCommand.meCommand, SearchCommand.command, UserCommand.showCommand, LookupCommand.command,
                BrowseCommand.command, SyncCommand.command,
            ]
        ),
        (setUp, [ProvidersCommand.group, ConfigCommand.group, DoctorCommand.command, CompletionCommand.command]),
        ("Try out", [DemoCommand.command, ServeCommand.command]),
    ]

    /// The title of the group that also contains `help`.
    static let setUp = "Set up"

    /// All commands, in the order of help.
    static let all = groups.flatMap(\.commands)

    /// The declarations of all commands with their groups.
    static let specs = groups.flatMap { group in
        group.commands.map { command in
            var spec = command.spec
            spec.group = group.title
            return spec
        }
    }
}

/// The syntax of the program, used by parsing, help, completion and the manual.
let commandSyntax = CommandSyntax(
    root: CommandSpec(
        "lodge", "Sign in to OAuth accounts, get access tokens, and search a people directory.",
        discussion: """
            lodge signs in to OAuth 2 and OpenID Connect providers and refreshes their tokens, for the terminal, for scripts and for other \
            programs. It searches the users of Microsoft Graph, SCIM 2.0 and Google Workspace. To try it without an account, run \
            lodge demo. To set it up, add an account type with lodge providers add, and run lodge sign-in.
            """,
        examples: [
            CommandExample("lodge demo", "try it with a local test provider"),
            CommandExample("lodge providers add entra --client-id ID", "set up Microsoft Entra"),
            CommandExample("lodge sign-in", "sign in with the browser"),
            CommandExample("lodge search ada", "find users by name or address"),
        ], options: [.flag("version", "print the version")], subcommands: Command.specs),
    globalOptions: GlobalOptions.all.map { $0.spec }, reference: .lodge)
