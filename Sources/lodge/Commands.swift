import CommandLineKit

extension Command {
    /// Every command of the program, in the order of help.
    static let all = [
        SignInCommand.command, SignOutCommand.command, AccountsCommand.group, StatusCommand.command,
        TokenCommand.command, ExecCommand.command, UserCommand.meCommand,
        SearchCommand.command, UserCommand.showCommand, LookupCommand.command, SyncCommand.command,
        BrowseCommand.command, GitCredentialCommand.group, RequestCommand.command,
        ProvidersCommand.group, ConfigCommand.group, DoctorCommand.command, ServeCommand.command,
        DemoCommand.command, CompletionCommand.command,
    ]
}

/// The syntax of the program: parsing, help, completion and manual pages read it.
let commandSyntax = CommandSyntax(
    root: CommandSpec(
        "lodge", "Sign in, keep the accounts, look people up.",
        examples: ["lodge demo", "lodge sign-in graph", "lodge search ada"],
        options: [.flag("version", "show the version and stop")],
        subcommands: Command.all.map(\.spec)), globalOptions: GlobalOptions.all.map { $0.spec }, reference: .lodge)
